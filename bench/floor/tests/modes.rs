//! The floor is put together of the library's scripts by hand: each of its modes still gets what it asks for.

use libdlock_testkit::process::PATIENCE;
use libdlock_testkit::{Server, Worker};

/// What the floor answers in this mode, by the worker protocol.
#[track_caller]
fn answer_of(mode: &str, what: &str, url: &str) -> String {
    // Shown when it fails: which of them it was.
    println!("{mode} {what}");
    let mut floor = Worker::spawn(env!("CARGO_BIN_EXE_libdlock-floor"), &[mode, what, url, "3", "0.1"]);
    assert_eq!(floor.expect_line(PATIENCE), "ready", "{mode} {what}");
    floor.ask("go")
}

#[test]
fn every_mode_gets_what_it_asks_for() {
    let server = Server::start();
    // The library's users need not load scripts by themselves.
    server.cmd(&["ACL", "SETUSER", "default", "+script|load"]);
    for (mode, what) in [
        ("sockets", "pairs"),
        ("pipeline", "pairs"),
        ("sockets", "decisions"),
        ("pipeline", "decisions"),
        ("sockets", "pings"),
        ("queue", "contended"),
        ("queue", "few_permits"),
    ] {
        let answer = answer_of(mode, what, &server.url());
        assert!(answer.contains(r#""done": "#) && !answer.contains(r#""done": 0,"#), "{mode} {what}: {answer}");
    }
}
