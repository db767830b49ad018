//! docs/cli.md says what the commands do: every option, and every field of the JSON that they print.

use std::collections::BTreeSet;

use crate::common::served::Served;
use crate::common::{Ended, at, dlock, expect, patient, start};
use libdlock_testkit::Server;
use libdlock_testkit::temp::TempDir;
use serde_json::Value;

const PAGE: &str = include_str!("../../docs/cli.md");

/// The words in backquotes of the second cell, in the row of the table of JSON that begins so.
fn documented(row: &str) -> BTreeSet<String> {
    let section = PAGE.split_once("## JSON").expect("a section").1;
    let line = section.lines().find(|line| line.starts_with(&format!("| {row} |")));
    let line = line.unwrap_or_else(|| panic!("no row {row}"));
    let cell = line.split('|').nth(2).expect("two cells");
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn fields(document: &Value) -> BTreeSet<String> {
    document.as_object().unwrap_or_else(|| panic!("no object: {document}")).keys().cloned().collect()
}

#[track_caller]
fn check(document: &Value, rows: &[&str]) {
    let known: BTreeSet<String> = rows.iter().flat_map(|row| documented(row)).collect();
    let extra: Vec<String> = fields(document).difference(&known).cloned().collect();
    assert_eq!(extra, [""; 0], "not documented in {rows:?}: {document}");
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn every_field_of_json_is_documented() {
    let server = Server::options().rights(vec!["+scan".to_owned()]).start();
    let printed = |args: &[&str], code: i32| json(&expect(&server, &[args, &["--json"]].concat(), code).stdout);
    let holder = start(at(&server, &["run", "a", "--", "sh", "-c", "echo in; cat"]));
    holder.said("in");
    expect(&server, &["queue", "put", "q", "x", "--max-attempts", "1"], 0);
    server.cmd(&["SET", "gate", "3"]);
    server.cmd(&["SET", "slots", "3"]);

    let listed = printed(&["ls"], 0);
    check(&listed, &["`ls`"]);
    let of_all = ["`ls`", "`inspect`"];
    for (name, kind, row) in [
        ("a", "lock", "... a `lock`"),
        ("b", "rw-lock", "... an `rw-lock`"),
        ("slots", "counting-semaphore", "... a `semaphore`, `counting-semaphore`"),
        ("c", "semaphore", "... a `semaphore`, `counting-semaphore`"),
        ("gate", "latch", "... a `latch`"),
        ("q", "queue", "... a `queue`"),
    ] {
        let mut command = at(&server, &["inspect", name, "--kind", kind, "--json"]);
        command.stdin(std::process::Stdio::null());
        let document = json(&start(command).ended().stdout);
        check(&document, &["`inspect`"]);
        check(&document["objects"][0], &[&of_all[..], &[row]].concat());
        let all = documented(row);
        assert!(all.is_subset(&fields(&document["objects"][0])), "{row}: {document}");
    }
    check(&printed(&["queue", "ls", "q"], 0), &["`queue ls`", "... a `queue`", "`ls`"]);
    check(&printed(&["queue", "put", "q", "y", "--id", "i"], 0), &["`queue put`"]);
    let taken = start(at(&server, &["queue", "take", "q", "--json", "--", "false"])).ended();
    check(&json(&taken.stderr), &["`queue take`"]);
    check(&printed(&["queue", "take", "q"], 0), &["`queue take`"]);
    let dead = printed(&["queue", "dead", "q"], 0);
    check(&dead, &["`queue dead`"]);
    check(&dead["dead"][0], &["`queue dead`", "`queue ls`"]);
    check(&printed(&["queue", "dead", "q", "--requeue-all"], 0), &["`queue dead`"]);
    check(&printed(&["limit", "l", "-r", "1/h"], 0), &["`limit`"]);
    check(&printed(&["id"], 0), &["`id`"]);
    check(&printed(&["id", "--decode", "1"], 0), &["`id`"]);
    check(&printed(&["release", "nobody", "--force"], 1), &["`release`"]);
    check(&printed(&["acl"], 0), &["`acl`"]);
    let seen = printed(&["doctor"], 1);
    check(&seen, &["`doctor`"]);
    check(&seen["checks"][0], &["`doctor`"]);
    let error = json(&expect(&server, &["inspect", "a{", "--json"], 125).stderr);
    check(&error, &["an error, on standard error"]);
    check(&error["error"], &["an error, on standard error"]);
    let ran = expect(&server, &["run", "other", "--json", "--", "true"], 0);
    assert_eq!(fields(&json(&ran.stderr)), documented("`run`"));

    let once = printed(&["top", "--once"], 0);
    let served = Served::start(at(&server, &["serve", "--allow-force"]));
    libdlock_testkit::eventually(crate::common::PATIENCE, "it has read all", || {
        served.json("/api/state")["complete"] == true
    });
    let state = served.json("/api/state?filter=a&kind=lock");
    assert_eq!(fields(&state), documented("`/api/state`"));
    assert_eq!(fields(&once), fields(&state));
    let of_live = ["`/api/object`", "`ls`", "... a `lock`"];
    check(&state["objects"][0], &of_live);
    check(&served.json("/api/object?kind=lock&name=a"), &of_live);
    check(
        &served.json("/api/state?kind=rate-limiter")["objects"][0],
        &[&of_live[..], &["... a `rate-limiter`"]].concat(),
    );
    assert_eq!(fields(&state["clients"][0]), documented("... of `clients`"));
    let client = state["clients"][0]["client"].as_str().unwrap();
    assert_eq!(fields(&served.json(&format!("/api/client?id={client}"))), documented("`/api/client`"));
    for line in served.get("/metrics").body.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let name = line.split(' ').next().unwrap();
        assert!(PAGE.contains(&format!("`{name}`")), "{name}");
    }
    drop(holder);
}

#[test]
fn every_command_and_option_is_documented() {
    let help = |words: &[&str]| {
        let Ended { code, stdout, .. } = start(dlock(&[words, &["--help"]].concat())).ended();
        assert_eq!(code, 0);
        stdout
    };
    let commands = [
        "run",
        "ls",
        "inspect",
        "release",
        "limit",
        "id",
        "queue put",
        "queue take",
        "queue ls",
        "queue dead",
        "acl",
        "doctor",
        "top",
        "serve",
        "completion",
    ];
    for command in commands {
        let (group, verb) = command.split_once(' ').unwrap_or(("", command));
        assert!(PAGE.contains(&format!("dlock {command}")) || PAGE.contains(&format!("`{verb}`")), "{group} {verb}");
        let words: Vec<&str> = command.split(' ').collect();
        for word in help(&words).split([' ', '\n', ',']).filter(|word| word.starts_with("--") && word.len() > 2) {
            assert!(["--help", "--option"].contains(&word) || PAGE.contains(word), "{command} {word}");
        }
    }
}

/// Hosts whose clocks differ by more than the job takes.
#[test]
fn the_lines_for_a_crontab_run_a_short_job_on_one_host() {
    let server = Server::start();
    let lines: Vec<&str> = PAGE.lines().filter_map(|line| line.trim().strip_prefix("*/5 * * * *")).collect();
    assert_eq!(lines.len(), 2);
    let folder = TempDir::new();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").expect("it is set"));
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_dlock"), folder.path().join("dlock")).expect("a new folder");
    for job in ["report", "nightly"] {
        let script = folder.path().join(format!("{job}.sh"));
        std::fs::write(&script, format!("#!/bin/sh\necho x >>{job}.runs\n")).expect("it is written");
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is there");
        let line = lines.iter().find(|line| line.contains(job)).expect("a line for it");
        for host in 1..=3 {
            let mut shell = std::process::Command::new("env");
            shell.args(["--default-signal", "sh", "-c", line]).current_dir(folder.path());
            shell.env("PATH", &path).env("DLOCK_URL", patient(&server));
            let ended = start(shell).ended();
            assert_eq!(ended.code, 0, "{job} on host {host}: {ended:?}");
        }
        let runs = std::fs::read_to_string(folder.path().join(format!("{job}.runs"))).expect("it ran");
        assert_eq!(runs, "x\n", "{job}");
    }
}
