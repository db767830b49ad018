//! What people get wrong, and places that give nothing back: every command says what is wrong, and none panics.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{at, dlock, expect, start};
use libdlock_testkit::temp::TempDir;
use libdlock_testkit::{Scripted, Server};
use serde_json::Value;

/// Every command, with arguments that are right.
const ALL: [&[&str]; 14] = [
    &["run", "a", "--", "true"],
    &["ls"],
    &["inspect", "a"],
    &["release", "a", "--force"],
    &["limit", "a", "-r", "1/s"],
    &["id"],
    &["queue", "put", "a", "x"],
    &["queue", "take", "a"],
    &["queue", "ls", "a"],
    &["queue", "dead", "a"],
    &["acl"],
    &["doctor"],
    &["top", "--once"],
    &["serve", "--listen", "127.0.0.1:0"],
];

/// Those that ask a server.
fn with_server() -> impl Iterator<Item = &'static [&'static str]> {
    ALL.into_iter().filter(|args| args[0] != "acl")
}

#[test]
fn every_command_says_that_the_server_is_not_there() {
    // `serve` waits for it, and has tests of that.
    for args in with_server().filter(|args| args[0] != "serve") {
        let mut command = dlock(args);
        command.env("DLOCK_URL", "redis://127.0.0.1:1");
        let ended = start(command).ended();
        let (code, told) = if args[0] == "doctor" { (1, &ended.stdout) } else { (125, &ended.stderr) };
        assert_eq!(ended.code, code, "{args:?}: {ended:?}");
        assert!(told.contains("127.0.0.1:1") && told.contains("refused"), "{args:?}: {ended:?}");
    }
    let mut json = dlock(&["--json", "ls"]);
    json.env("DLOCK_URL", "redis://127.0.0.1:1");
    let told: Value = serde_json::from_str(&start(json).ended().stderr).unwrap();
    assert_eq!((&told["error"]["kind"], &told["error"]["retryable"]), (&"CONNECTION".into(), &true.into()));
}

#[test]
fn every_command_refuses_a_password_among_its_arguments() {
    // Those that need no server, too.
    let apart: [&[&str]; 3] = [&["id", "--worker", "1"], &["id", "--decode", "1"], &["completion", "bash"]];
    for args in ALL.into_iter().chain(apart) {
        for wrong in [["--url", "redis://:SECRET@h"], ["--url", "redis://h?password=SECRET"], ["-o", "password=SECRET"]]
        {
            let ended = start(dlock(&[&wrong, args].concat())).ended();
            assert_eq!(ended.code, 125, "{args:?}: {ended:?}");
            assert!(ended.stderr.contains("DLOCK_PASSWORD"), "it says how: {ended:?}");
            assert!(!format!("{ended:?}").contains("SECRET"), "{args:?}: {ended:?}");
        }
    }
}

#[test]
fn a_password_comes_from_the_environment_or_a_file() {
    let (server, folder) = (Server::options().password("right").start(), TempDir::new());
    let file = folder.path().join("password");
    fs::write(&file, "right\n").unwrap();
    expect(&server, &["--password-file", file.to_str().unwrap(), "run", "a", "--", "true"], 0);
    let mut variable = at(&server, &["run", "a", "--", "true"]);
    variable.env("DLOCK_PASSWORD", "right");
    assert_eq!(start(variable).ended().code, 0);
    let mut url = dlock(&["run", "a", "--", "true"]);
    url.env("DLOCK_URL", format!("redis://:right@{}", server.address()));
    assert_eq!(start(url).ended().code, 0);
    expect(&server, &["run", "a", "--", "true"], 125);
    let missing = expect(&server, &["--password-file", "/no/such", "run", "a", "--", "true"], 125);
    assert!(missing.stderr.starts_with("dlock: --password-file: cannot read \"/no/such\": "), "{missing:?}");
    assert!(missing.stderr.contains("DLOCK_PASSWORD") && !missing.stderr.contains("option"), "{missing:?}");
}

#[test]
fn every_command_names_a_flag_that_it_does_not_know() {
    let completion: &[&str] = &["completion", "bash"];
    for args in ALL.into_iter().chain([completion]) {
        let verb = if args[0] == "queue" { 2 } else { 1 };
        for json in [&[][..], &["--json"]] {
            let ended = start(dlock(&[json, &args[..verb], &["--no-such"], &args[verb..]].concat())).ended();
            assert_eq!((ended.code, ended.stdout.as_str()), (125, ""), "{args:?}: {ended:?}");
            assert!(ended.stderr.contains("'--no-such'") && ended.stderr.contains("--help"), "{args:?}: {ended:?}");
        }
    }
}

#[test]
fn jobs_that_do_not_exist_are_a_no() {
    let server = Server::start();
    expect(&server, &["queue", "take", "nothing"], 1);
    expect(&server, &["queue", "dead", "nothing"], 0);
    for what in ["--requeue", "--remove"] {
        expect(&server, &["queue", "dead", "nothing", what, "no-such"], 1);
    }
    assert_eq!(server.keys(), [""; 0], "and nothing is left of the question");
}

#[test]
fn arguments_that_are_wrong_are_named() {
    let server = Server::start();
    for (args, says) in [
        (&[][..], "Usage"),
        (&["lock"], "lock"),
        (&["run"], "<NAME>"),
        (&["ls", "--kind", "mutex"], "rw-lock"),
        (&["ls", "--most", "-1"], "-1"),
        (&["inspect"], "<NAME>"),
        (&["inspect", "a{"], "hash tag"),
        (&["limit", "a"], "--rate"),
        (&["limit", "a", "-r", "0/0s"], "period"),
        (&["limit", "a", "-r", "1/s", "--algorithm", "magic"], "sliding_log"),
        (&["queue"], "Usage"),
        (&["queue", "put", "a", "x", "--delay", "-1s"], "-1"),
        (&["queue", "put", "a", "x", "--max-attempts", "0"], "1 to"),
        (&["queue", "take", "a", "--lease", "1ms"], "100 ms"),
        (&["queue", "dead", "a", "--requeue", "x", "--remove", "x"], "--remove"),
        (&["queue", "ls", "a", "--most", "0"], "1 to 1000"),
        (&["limit", "a", "-r", "1/s", "--burst", "0"], "1 to"),
        (&["release", "a"], "--force"),
        (&["id", "--worker", "99999"], "0 to 31"),
        (&["id", "--worker", "1", "--pool", "a"], "--pool"),
        (&["id", "--decode", "x"], "digits"),
        (&["id", "--base", "7"], "10, 32, 36"),
        (&["id", "-n", "0"], "1 to"),
        (&["acl", "--kind", "mutex"], "rw-lock"),
        (&["acl", "--user", "a b"], "--user"),
        (&["doctor", "--kind", "mutex"], "rw-lock"),
        (&["completion", "tcsh"], "tcsh"),
        (&["-o", "leese=1s", "ls"], "lease"),
        (&["-o", "lease", "ls"], "lease"),
        (&["--url", "http://h", "ls"], "redis://"),
        (&["--url", "", "ls"], "URL"),
    ] {
        let ended = expect(&server, args, 125);
        assert!(ended.stderr.contains(says) && ended.stdout.is_empty(), "{args:?}: {ended:?}");
        assert!(!ended.stderr.contains("panicked"), "{ended:?}");
    }
}

#[test]
fn a_negative_value_is_refused_with_what_is_allowed() {
    let server = Server::start();
    for (args, option, value, allowed) in [
        (&["limit", "x", "-r", "5/s", "--cost", "-1"][..], "--cost", "-1", "0 or more"),
        (&["limit", "x", "-r", "5/s", "--burst", "-1", "--", "true"], "--burst", "-1", "0 or more"),
        (&["limit", "x", "-r", "-5/s"], "--rate", "-5/s", "10/s"),
        (&["run", "x", "-w", "-1s", "--", "true"], "--wait", "-1s", "500ms"),
        (&["run", "x", "-E", "-1", "--", "true"], "--conflict-exit-code", "-1", "0..=255"),
        (&["ls", "--most", "-1"], "--most", "-1", "0 or more"),
        (&["ls", "--visit", "-1"], "--visit", "-1", "0 or more"),
        (&["id", "-n", "-1"], "--count", "-1", "0 or more"),
        (&["id", "--worker", "-1"], "--worker", "-1", "0 or more"),
        (&["queue", "ls", "a", "--most", "-1"], "--most", "-1", "0 or more"),
        (&["queue", "put", "a", "x", "--max-attempts", "-1"], "--max-attempts", "-1", "0..="),
        (&["queue", "take", "a", "--retry-after", "-1", "--", "true"], "--retry-after", "-1", "500ms"),
        (&["top", "--every", "-1"], "--every", "-1", "500ms"),
    ] {
        let ended = expect(&server, args, 125);
        let says = format!("invalid value '{value}' for '{option} ");
        assert!(ended.stderr.contains(&says) && ended.stderr.contains(allowed), "{args:?}: {ended:?}");
        assert!(!ended.stderr.contains("tip:"), "{args:?}: {ended:?}");
    }
    let large = expect(&server, &["limit", "x", "-r", "5/s", "--cost", "99999999999999999999"], 125);
    assert!(large.stderr.contains("too large"), "{large:?}");
    // A negative number is a text as any other.
    assert_eq!(expect(&server, &["queue", "put", "a", "x", "--id", "-5", "--priority", "-5"], 0).stdout, "-5\n");
    for (args, option) in [
        (&["queue", "put", "a", "x", "--id", "--json"][..], "--id <ID>"),
        (&["limit", "x", "-r", "5/s", "--cost", "--json"], "--cost <N>"),
        (&["run", "x", "--wait", "--", "kill", "-9", "1"], "--wait <TIME>"),
    ] {
        let forgotten = expect(&server, args, 125);
        let says = format!("a value is required for '{option}'");
        assert!(forgotten.stderr.contains(&says), "{args:?}: {forgotten:?}");
    }
}

#[test]
fn a_reader_that_has_gone_ends_every_command_quietly() {
    let server = Server::options().rights(vec!["+scan".to_owned()]).start();
    expect(&server, &["run", "a", "--", "true"], 0);
    for args in [
        &["ls", "-a"][..],
        &["ls", "-a", "--json"],
        &["inspect", "a", "--kind", "lock"],
        &["limit", "b", "-r", "5/s"],
        &["id", "-n", "100000"],
        &["queue", "put", "q", "x"],
        &["queue", "ls", "q"],
        &["queue", "dead", "q", "--json"],
        &["release", "b", "--force", "--json"],
        &["acl"],
        &["doctor"],
        &["completion", "zsh"],
        &["top", "--once"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = at(&server, args);
        command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(141), "{args:?}: {stderr}");
        assert!(!stderr.contains("panicked") && !stderr.contains("roken pipe"), "{args:?}: {stderr}");
    }
    // A job that nobody has read is not lost.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut take = at(&server, &["queue", "take", "q"]);
    take.stdin(Stdio::null()).stdout(writer);
    assert_eq!(take.status().unwrap().code(), Some(141));
    assert_eq!(expect(&server, &["queue", "take", "q", "--wait", "5s"], 0).stdout, "x");
}

#[test]
fn a_disk_that_is_full_is_told() {
    let server = Server::start();
    for word in ["id", "--help"] {
        let mut command = at(&server, &[word]);
        command.stdout(File::options().write(true).open("/dev/full").unwrap()).stderr(Stdio::piped());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(125), "{word}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("standard output"), "{word}");
    }
}

#[test]
fn streams_that_are_closed_are_no_reason_to_panic() {
    let server = Server::start();
    for closed in ["<&- >&- 2>&-", "<&-", "2>&-"] {
        let script = format!("\"$DLOCK\" run a -- sh -c 'exit 6' {closed}; echo $?");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).env("DLOCK", env!("CARGO_BIN_EXE_dlock")).env("DLOCK_URL", server.url());
        assert_eq!(start(command).ended().stdout, "6\n", "{closed}");
    }
}

#[test]
fn a_server_that_hangs_or_talks_nonsense_is_given_up() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let began = Instant::now();
    let mut command = dlock(&["-o", "connect_timeout=300ms", "ls"]);
    command.env("DLOCK_URL", format!("redis://{}", silent.local_addr().unwrap()));
    let ended = start(command).ended();
    assert!(ended.code == 125 && began.elapsed() < Duration::from_secs(5), "{ended:?}");
    let nonsense = Scripted::start(|_| Some("<html>\r\n".to_owned()));
    let mut command = dlock(&["ls"]);
    command.env("DLOCK_URL", nonsense.url());
    let ended = start(command).ended();
    assert!(ended.code == 125 && !ended.stderr.contains("panicked"), "{ended:?}");
}

#[test]
fn help_fits_a_screen_and_completion_knows_every_command() {
    let subcommands = [
        &[][..],
        &["run"],
        &["ls"],
        &["inspect"],
        &["release"],
        &["limit"],
        &["id"],
        &["queue"],
        &["queue", "put"],
        &["queue", "take"],
        &["queue", "ls"],
        &["queue", "dead"],
        &["acl"],
        &["doctor"],
        &["top"],
        &["serve"],
        &["completion"],
    ];
    for words in subcommands {
        let mut command = dlock(&[words, &["-h"]].concat());
        command.env("COLUMNS", "80");
        let help = start(command).ended();
        assert_eq!(help.code, 0);
        assert!(help.stdout.lines().count() <= 24, "{words:?}\n{}", help.stdout);
        assert!(help.stdout.lines().all(|line| line.chars().count() <= 100), "{}", help.stdout);
    }
    for shell in ["bash", "zsh", "fish"] {
        let script = start(dlock(&["completion", shell])).ended().stdout;
        for word in ["inspect", "doctor", "conflict-exit-code", "top", "allow-force"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
    let bash = start(dlock(&["completion", "bash"])).ended().stdout;
    let mut check = Command::new("bash");
    check.args(["-n"]);
    let mut checked = start(check);
    checked.write(bash.as_bytes());
    assert_eq!(checked.ended().code, 0);
    let version = start(dlock(&["--version"])).ended();
    assert!(version.code == 0 && version.stdout.starts_with("dlock 0."), "{version:?}");
}
