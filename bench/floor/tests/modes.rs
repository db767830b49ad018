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

/// The library's users need not load scripts by themselves.
fn start() -> Server {
    let server = Server::start();
    server.cmd(&["ACL", "SETUSER", "default", "+script|load"]);
    server
}

#[track_caller]
fn assert_done(answer: &str) {
    assert!(answer.contains(r#""done": "#) && !answer.contains(r#""done": 0,"#), "{answer}");
}

#[test]
fn every_mode_gets_what_it_asks_for() {
    let server = start();
    for (mode, what) in [
        ("sockets", "pairs"),
        ("pipeline", "pairs"),
        ("sockets", "decisions"),
        ("pipeline", "decisions"),
        ("sockets", "pings"),
        ("sockets", "bloom_add"),
        ("sockets", "bloom_contains"),
        ("sockets", "jobs"),
        ("pipeline", "jobs"),
        ("sockets", "job_batches"),
        ("pipeline", "job_batches"),
        ("queue", "contended"),
        ("queue", "few_permits"),
    ] {
        server.cmd(&["FLUSHALL"]);
        assert_done(&answer_of(mode, what, &server.url()));
    }
}

#[test]
fn rounds_at_five_servers_reach_a_majority_of_them() {
    let servers: Vec<Server> = (0..5).map(|_| start()).collect();
    let addresses: Vec<String> = servers.iter().map(|server| server.address().to_string()).collect();
    let url = format!("redis+quorum://{}?data_survives=true", addresses.join(","));
    let at = |key: &str| servers.iter().filter(|server| server.keys().iter().any(|found| found == key)).count();
    for mode in ["sockets", "pipeline"] {
        assert_done(&answer_of(mode, "pairs", &url));
        // Of the last round nobody may have read the answers of the others.
        assert!(at("bench-0") < 3);
        assert_done(&answer_of(mode, "acquires", &url));
        // The first of them: its token was written to all that granted it.
        assert!(at("bench-0-1") >= 3);
        let tokens = servers.iter().map(|server| server.cmd(&["GET", "redisson_lock_token:{bench-0-1}"]));
        let tokens: Vec<String> = tokens.map(|token| token.text().to_owned()).collect();
        let alike = tokens.iter().map(|token| tokens.iter().filter(|other| *other == token).count()).max();
        assert!(alike >= Some(3), "{tokens:?}");
        for server in &servers {
            server.cmd(&["FLUSHALL"]);
        }
    }
}
