//! `dlock run`: what the command is told, how it ends, and that none runs without the lock.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, at, dlock, expect, is_alive, kill, patient, run, start};
use libdlock_testkit::temp::TempDir;
use libdlock_testkit::{Server, eventually};

/// Whether the lock of this name is taken, as another eye sees it.
fn is_taken(server: &Server, name: &str) -> bool {
    server.cmd(&["EXISTS", name]).int() == 1
}

#[test]
fn the_command_is_told_name_and_token_and_the_lock_is_released() {
    let server = Server::start();
    let told = expect(&server, &["run", "a b", "--", "sh", "-c", "echo $DLOCK_NAME/$DLOCK_TOKEN"], 0);
    let (name, token) = told.stdout.trim().split_once('/').unwrap();
    assert_eq!(name, "a b");
    let last = server.cmd(&["GET", "redisson_lock_token:{a b}"]).text().parse::<u64>().unwrap();
    assert!(token.parse::<u64>().unwrap() <= last, "{token} of {last}");
    assert!(!is_taken(&server, "a b"));
    assert_eq!(told.stderr, "");
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    let server = Server::start();
    for (command, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143)] {
        expect(&server, &["run", "a", "--", "sh", "-c", command], code);
    }
    let missing = expect(&server, &["run", "a", "--", "no-such-program"], 127);
    assert!(missing.stderr.contains("cannot run no-such-program"), "{missing:?}");
    expect(&server, &["run", "a", "--", "/etc/passwd"], 126);
    assert!(!is_taken(&server, "a"));
}

#[test]
fn a_lock_that_is_taken_is_a_conflict_with_a_code_of_its_own() {
    let server = Server::start();
    let holder = start(at(&server, &["run", "a", "--", "sh", "-c", "echo in; cat"]));
    holder.said("in");
    let refused = expect(&server, &["run", "a", "--wait", "0", "--", "echo", "ran"], 1);
    assert!(refused.stderr.contains("held by") && refused.stdout.is_empty(), "{refused:?}");
    expect(&server, &["run", "a", "-w", "1s", "-E", "75", "--", "echo", "ran"], 75);
    let quiet = expect(&server, &["run", "a", "-w0", "-E0", "--", "echo", "ran"], 0);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    let waiting = start(at(&server, &["run", "a", "--", "echo", "ran"]));
    assert_eq!(holder.ended().code, 0);
    assert_eq!(waiting.ended().stdout, "ran\n", "it waits for as long as it takes");
}

#[test]
fn signals_are_passed_on_to_the_command_and_its_children() {
    let server = Server::start();
    let script = "trap 'echo term; exit 5' TERM; trap 'echo usr1' USR1; echo in; while :; do sleep 0.02; done";
    let running = start(at(&server, &["run", "a", "--", "sh", "-c", script]));
    running.said("in");
    running.signal("USR1");
    running.said("usr1");
    running.signal("TERM");
    let ended = running.ended();
    assert_eq!(ended.code, 5, "{ended:?}");
    assert!(!is_taken(&server, "a"));
    let tree = start(at(&server, &["run", "a", "--", "sh", "-c", "sleep 60 & echo $!; wait"]));
    let sleeper = tree.said("\n").trim().to_owned();
    tree.signal("TERM");
    assert_eq!(tree.ended().code, 143);
    eventually(PATIENCE, "the sleeper ends", || !is_alive(&sleeper));
}

#[test]
fn a_signal_while_it_waits_leaves_no_place_in_the_queue() {
    let server = Server::start();
    let holder = start(at(&server, &["run", "a", "--", "sh", "-c", "echo in; cat"]));
    holder.said("in");
    let waiting = start(at(&server, &["run", "a", "--", "echo", "ran"]));
    let queued = || server.cmd(&["ZCARD", "dlock_queue:{a}"]).int();
    eventually(PATIENCE, "it stands in the queue", || queued() == 1);
    waiting.signal("INT");
    let ended = waiting.ended();
    assert_eq!((ended.code, ended.stdout.as_str()), (130, ""));
    assert_eq!(queued(), 0);
}

#[test]
fn signals_that_nohup_ignores_stay_ignored() {
    let server = Server::start();
    let mut command = Command::new("nohup");
    command.arg(env!("CARGO_BIN_EXE_dlock")).args(["run", "a", "--", "sh", "-c", "echo in; read word; echo $word"]);
    command.env("DLOCK_URL", patient(&server));
    let mut running = start(command);
    running.said("in");
    running.signal("HUP");
    running.write(b"still there\n");
    running.said("still there");
    assert_eq!(running.ended().code, 0);
}

#[test]
fn a_lost_lock_ends_the_command_by_term_then_kill() {
    let server = Server::start();
    let gentle = start(at(
        &server,
        &["run", "a", "--lease", "3s", "--", "sh", "-c", "trap 'exit 3' TERM; echo in; while :; do sleep 0.02; done"],
    ));
    gentle.said("in");
    server.cmd(&["DEL", "a"]);
    let ended = gentle.ended();
    assert_eq!(ended.code, 124, "{ended:?}");
    assert!(ended.stderr.contains("was lost"), "{ended:?}");

    // It and its child ignore TERM.
    let script = "trap '' TERM; sleep 60 & echo $!; wait; sleep 60";
    let stubborn =
        start(at(&server, &["run", "b", "--lease", "3s", "--grace", "300ms", "--json", "--", "sh", "-c", script]));
    let sleeper = stubborn.said("\n").trim().to_owned();
    server.cmd(&["DEL", "b"]);
    let ended = stubborn.ended();
    assert_eq!(ended.code, 124, "{ended:?}");
    assert!(ended.stderr.contains("\"lost\":\"deleted\"") && ended.stderr.contains("\"exit_code\":137"), "{ended:?}");
    eventually(PATIENCE, "the sleeper ends", || !is_alive(&sleeper));
}

#[test]
fn a_server_that_is_killed_ends_the_command_within_the_lease() {
    let mut server = Server::start();
    let running =
        start(at(&server, &["run", "a", "--lease", "3s", "--grace", "0", "--", "sh", "-c", "echo in; exec sleep 60"]));
    running.said("in");
    let killed = Instant::now();
    server.stop();
    let ended = running.ended();
    assert_eq!(ended.code, 124, "{ended:?}");
    // The lease, and what a slow machine adds.
    assert!(killed.elapsed() < Duration::from_secs(10), "{:?}", killed.elapsed());
}

#[test]
fn a_server_that_restarts_with_its_data_ends_nothing() {
    let mut server = Server::start();
    let mut running =
        start(at(&server, &["run", "a", "--lease", "10s", "--", "sh", "-c", "echo in; read x; echo out"]));
    running.said("in");
    server.restart(libdlock_testkit::server::Data::Kept);
    running.write(b"\n");
    assert_eq!(running.ended().code, 0);
}

#[test]
fn a_command_that_is_stopped_is_ended_by_a_signal_too() {
    let server = Server::start();
    for (signal, code) in [("TERM", 143), ("HUP", 129)] {
        let running = start(at(&server, &["run", "a", "--", "sh", "-c", "echo $$; kill -STOP $$; exec sleep 60"]));
        let id = running.said("\n").trim().to_owned();
        let is_stopped = || std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| stat.contains(") T "));
        eventually(PATIENCE, "the command stops", is_stopped);
        running.signal(signal);
        assert_eq!(running.ended().code, code);
        assert!(!is_taken(&server, "a"));
    }
}

#[test]
fn the_longest_grace_is_waited_for_as_any_other() {
    let server = Server::start();
    let grace = "15000000000000000000";
    let script = "trap 'exit 3' TERM; echo in; while :; do sleep 0.02; done";
    let running = start(at(&server, &["run", "a", "--lease", "3s", "--grace", grace, "--", "sh", "-c", script]));
    running.said("in");
    server.cmd(&["DEL", "a"]);
    let ended = running.ended();
    assert_eq!(ended.code, 124, "{ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
}

#[test]
fn a_signal_ends_a_command_that_still_connects() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    for args in [&["run", "a", "--", "true"][..], &["queue", "take", "q"]] {
        let mut command = dlock(args);
        command.env("DLOCK_URL", format!("redis://{}?connect_timeout=60s", silent.local_addr().unwrap()));
        let connecting = start(command);
        // It listens to signals before it connects.
        let _met = silent.accept().unwrap();
        connecting.signal("TERM");
        assert_eq!(connecting.ended().code, 143, "{args:?}");
    }
}

#[test]
fn a_hanging_server_holds_up_the_end_for_a_lease_at_most() {
    let server = Server::start();
    let stop = format!("kill -STOP {}; exit 7", server.pid());
    let began = Instant::now();
    let ended = run(&server, &["run", "a", "--lease", "2s", "--", "sh", "-c", &stop]);
    server.resume();
    assert_eq!(ended.code, 7, "{ended:?}");
    assert!(ended.stderr.contains("may stay taken"), "{ended:?}");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

#[test]
fn a_signal_ends_the_wait_for_the_release_too() {
    let server = Server::start();
    let stop = format!("kill -STOP {}; echo stopped; exit 7", server.pid());
    let running = start(at(&server, &["run", "a", "--", "sh", "-c", &stop]));
    running.said("stopped");
    std::thread::sleep(Duration::from_millis(300));
    let began = Instant::now();
    running.signal("TERM");
    let ended = running.ended();
    server.resume();
    assert_eq!(ended.code, 7, "{ended:?}");
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
}

#[test]
fn the_command_dies_with_a_dlock_that_is_killed() {
    let server = Server::start();
    let running = start(at(&server, &["run", "a", "--", "sh", "-c", "echo $$; exec sleep 60"]));
    let command = running.said("\n").trim().to_owned();
    running.signal("KILL");
    eventually(PATIENCE, "the command ends", || !is_alive(&command));
    // Nobody may take the lock before its lease is over, whatever was going on.
    assert!(is_taken(&server, "a"));
    assert_eq!(running.ended().code, 1009);
}

#[test]
fn a_command_that_is_killed_frees_the_lock_at_once() {
    let server = Server::start();
    let running = start(at(&server, &["run", "a", "--", "sh", "-c", "echo $$; exec sleep 60"]));
    let command: u32 = running.said("\n").trim().parse().unwrap();
    kill("KILL", command);
    assert_eq!(running.ended().code, 137);
    assert!(!is_taken(&server, "a"));
}

#[test]
fn two_hundred_runs_of_two_processes_never_overlap() {
    let (server, folder) = (Server::start(), TempDir::new());
    // A folder can be made once: whoever finds it there overlaps.
    let job = "mkdir \"$D/in\" || echo overlap; echo ran >> \"$D/runs\"; rmdir \"$D/in\"";
    let cron = "for i in $(seq 100); do \"$DLOCK\" run nightly --wait 15s -- sh -c \"$JOB\" || echo failed $?; done";
    let process = || {
        let mut command = Command::new("sh");
        command.args(["-c", cron]).env("DLOCK", env!("CARGO_BIN_EXE_dlock")).env("JOB", job);
        command.env("D", folder.path()).env("DLOCK_URL", patient(&server));
        start(command)
    };
    let processes = [process(), process()];
    // Four hundred processes, on a machine that does other things too.
    let bound = Instant::now() + Duration::from_secs(240);
    for mut process in processes {
        eventually(bound.saturating_duration_since(Instant::now()), "all have run", || !process.is_running());
        let ended = process.ended();
        // A busy machine may have something to warn of.
        assert_eq!((ended.code, ended.stdout.as_str()), (0, ""), "{ended:?}");
    }
    let runs = std::fs::read_to_string(folder.path().join("runs")).unwrap();
    assert_eq!(runs.lines().count(), 200);
}

#[test]
fn a_parent_that_ignores_sigchld_changes_no_exit_code() {
    let server = Server::start();
    for (script, code) in [("exit 5", 5), ("sleep 0.2; exit 5", 5), ("exit 0", 0)] {
        let mut command = Command::new("env");
        command.args(["--ignore-signal=CHLD", env!("CARGO_BIN_EXE_dlock"), "run", "a", "--", "sh", "-c", script]);
        command.env("DLOCK_URL", patient(&server));
        let ended = start(command).ended();
        assert_eq!(ended.code, code, "{script}: {ended:?}");
    }
}

#[test]
fn what_dlock_cannot_do_is_125_and_runs_nothing() {
    let server = Server::start();
    for (args, says) in [
        (&["run", "a"][..], "--"),
        (&["run", "--", "true"], "<NAME>"),
        (&["run", "a", "--wait", "soon", "--", "echo", "ran"], "500ms, 10s"),
        (&["run", "a", "--lease", "1ms", "--", "echo", "ran"], "100 ms to 24 h"),
        (&["run", "a", "-E", "256", "--", "echo", "ran"], "256"),
        (&["run", "a{", "--", "echo", "ran"], "hash tag"),
        (&["run", "", "--", "echo", "ran"], "empty"),
        (&["run", "a", "--no-such", "--", "echo", "ran"], "--no-such"),
        (&["run", "a", "--", ""], "cannot run"),
    ] {
        let ended = run(&server, args);
        assert!([125, 127].contains(&ended.code) && ended.stderr.contains(says), "{args:?}: {ended:?}");
        assert_eq!(ended.stdout, "");
    }
    let mut gone = dlock(&["run", "a", "--", "echo", "ran"]);
    gone.env("DLOCK_URL", "redis://127.0.0.1:1");
    let ended = start(gone).ended();
    assert!(ended.code == 125 && ended.stderr.contains("127.0.0.1:1"), "{ended:?}");
}
