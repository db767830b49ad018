//! `dlock` at a terminal: questions, keys that send signals, narrow screens, colour.

use std::process::Command;

use crate::common::terminal::AtTerminal;
use crate::common::{at, dlock, expect, patient, start};
use libdlock_testkit::Server;

#[test]
fn a_release_at_a_terminal_is_asked_for() {
    let server = Server::start();
    let holder = start(at(&server, &["run", "a", "--lease", "10s", "--", "sh", "-c", "echo in; exec sleep 60"]));
    holder.said("in");
    let is_held = || server.cmd(&["EXISTS", "a"]).int() == 1;
    let mut asked = AtTerminal::start(&at(&server, &["release", "a", "--force"]), 80);
    asked.shows("Release it? [y/N]");
    asked.type_in("\n");
    let (code, screen) = asked.ended();
    assert!(code == 1 && screen.contains("nothing was released") && is_held(), "{screen}");
    let mut asked = AtTerminal::start(&at(&server, &["release", "a", "--force"]), 80);
    asked.shows("held by");
    asked.type_in("y\n");
    assert_eq!(asked.ended().0, 0);
    assert!(!is_held());
    let (code, screen) = AtTerminal::start(&at(&server, &["release", "a", "--force", "--yes"]), 80).ended();
    assert!(code == 1 && !screen.contains("[y/N]"), "{screen}");
}

#[test]
fn ctrl_c_reaches_the_command_once_and_the_lock_is_released() {
    let server = Server::start();
    let script =
        "n=0; trap 'n=$((n+1)); echo interrupted $n' INT; echo $$ in; read line; echo got $line; sleep 0.1; exit 9";
    let mut running = AtTerminal::start(&at(&server, &["run", "a", "--", "bash", "-c", script]), 80);
    running.shows(" in");
    running.type_in("\u{3}");
    running.shows("interrupted 1");
    // It has the terminal for itself.
    running.type_in("a line\n");
    let (code, screen) = running.ended();
    assert_eq!(code, 9, "{screen}");
    assert!(screen.contains("got a line") && !screen.contains("interrupted 2"), "{screen}");
    assert_eq!(server.cmd(&["EXISTS", "a"]).int(), 0);
    // A command that catches nothing ends.
    let mut running = AtTerminal::start(&at(&server, &["run", "a", "--", "sh", "-c", "echo $$ in; exec sleep 60"]), 80);
    running.shows(" in");
    running.type_in("\u{3}");
    assert_eq!(running.ended().0, 130);
    assert_eq!(server.cmd(&["EXISTS", "a"]).int(), 0);
}

#[test]
fn an_interrupt_from_elsewhere_reaches_a_background_job() {
    let server = Server::start();
    let script = "set -m; \"$DLOCK\" run a -- sh -c 'trap \"exit 9\" INT; echo in; while :; do sleep 0.02; done' & \
        read line; kill -INT $!; wait $!; echo code $?";
    // No signal ignored, whoever runs the tests.
    let mut shell = Command::new("env");
    shell
        .args(["--default-signal", "bash", "--norc", "-c", script])
        .env("DLOCK", env!("CARGO_BIN_EXE_dlock"))
        .env("DLOCK_URL", patient(&server));
    let mut job = AtTerminal::start(&shell, 80);
    job.shows("in");
    job.type_in("\n");
    job.shows("code 9");
}

#[test]
fn a_terminal_that_is_closed_ends_the_command() {
    let server = Server::start();
    let mut running =
        AtTerminal::start(&at(&server, &["run", "a", "--", "sh", "-c", "echo pid $$ in; exec sleep 60"]), 80);
    running.shows(" in");
    running.hang_up();
    assert_eq!(running.ended().0, 129);
    assert_eq!(server.cmd(&["EXISTS", "a"]).int(), 0);
}

#[test]
fn a_narrow_terminal_gets_paragraphs_and_no_line_is_cut() {
    let server = Server::options().rights(vec!["+scan".to_owned()]).start();
    expect(&server, &["queue", "put", "a-queue-with-quite-a-long-name", "x"], 0);
    let (code, wide) = AtTerminal::start(&at(&server, &["ls"]), 120).ended();
    assert!(code == 0 && wide.starts_with("NAME "), "{wide}");
    let (code, narrow) = AtTerminal::start(&at(&server, &["ls"]), 40).ended();
    assert!(code == 0 && narrow.starts_with("name     a-queue-with-quite-a-long-name\n"), "{narrow}");
    for command in ["", "run", "ls", "inspect", "release", "limit", "id", "queue", "queue put", "acl", "doctor"] {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let mut help = dlock(&words);
        help.env("NO_COLOR", "1");
        let (code, help) = AtTerminal::start(&help, 40).ended();
        assert_eq!(code, 0);
        // The terminal itself breaks the line of the usage, which is in one piece.
        let is_narrow = |line: &str| line.chars().count() <= 40 || line.starts_with("Usage: ");
        assert!(help.lines().all(is_narrow), "{command}: {help}");
    }
}

#[test]
fn colour_is_for_terminals_that_want_it() {
    let server = Server::start();
    let (_, coloured) = AtTerminal::start(&at(&server, &["doctor"]), 120).ended();
    assert!(coloured.contains("\u{1b}[32mok"), "{coloured}");
    let mut plain = at(&server, &["doctor"]);
    plain.env("NO_COLOR", "1");
    let (_, screen) = AtTerminal::start(&plain, 120).ended();
    assert!(!screen.contains('\u{1b}'), "{screen}");
    let mut wrong = dlock(&["--no-such"]);
    wrong.env("NO_COLOR", "1");
    let (code, screen) = AtTerminal::start(&wrong, 120).ended();
    assert!(code == 125 && !screen.contains('\u{1b}'), "{screen}");
}
