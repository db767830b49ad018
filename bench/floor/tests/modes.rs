//! The floor is put together of the library's scripts by hand: each of its modes still gets what it asks for.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use libdlock_testkit::Server;

/// A mode works for a tenth of a second, those of a queue for half a second more.
const SOON: Duration = Duration::from_secs(20);

/// Ends with the test, whatever becomes of it.
struct Floor(Child);

impl Drop for Floor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the floor answers in this mode, by the worker protocol.
#[track_caller]
fn answer_of(mode: &str, what: &str, url: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_libdlock-floor"));
    command.args([mode, what, url, "3", "0.1"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut floor = Floor(command.spawn().expect("the floor starts"));
    let lines = BufReader::new(floor.0.stdout.take().expect("piped")).lines();
    let (said, says) = mpsc::channel();
    thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| said.send(line)));
    let next = || says.recv_timeout(SOON).unwrap_or_else(|error| panic!("{mode} {what}: {error}"));
    assert_eq!(next(), "ready", "{mode} {what}");
    writeln!(floor.0.stdin.as_mut().expect("piped"), "go").expect("it reads");
    next()
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
