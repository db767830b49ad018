//! `dlock top` in a real terminal, that of tmux.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, dlock, expect, kill, patient, start};
use libdlock_testkit::Server;
use serde_json::Value;

/// A tmux server of the test's own with one pane. Killed at drop.
struct Tmux(String);

impl Tmux {
    /// A pane of this size with a shell that reads no files of the user's.
    fn start(server: &Server, (columns, rows): (u32, u32), environment: &[&str]) -> Tmux {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let tmux = Tmux(format!("dlock-test-{}-{number}", std::process::id()));
        let shell = format!(
            "env -u NO_COLOR -u DLOCK_PASSWORD LC_ALL=C.UTF-8 DLOCK_URL='{}' PS1='ready> ' {} bash --norc --noprofile -i",
            patient(server),
            environment.join(" ")
        );
        let size = [columns.to_string(), rows.to_string()];
        tmux.run(&["-f", "/dev/null", "new-session", "-d", "-x", &size[0], "-y", &size[1], &shell]);
        tmux.is_ready();
        tmux
    }

    fn run(&self, args: &[&str]) -> String {
        let output = Command::new("tmux").args(["-u", "-L", &self.0]).args(args).env_remove("TMUX").output();
        let output = output.expect("tmux starts: scripts/deps.sh installs it");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Presses keys, by the names that tmux has for them.
    fn press(&self, keys: &[&str]) {
        self.run(&[&["send-keys"], keys].concat());
    }

    /// Types a line to the shell.
    fn line(&self, line: &str) {
        self.run(&["send-keys", "-l", line]);
        self.press(&["Enter"]);
    }

    fn top(&self, args: &str) {
        // The settings of a terminal have that word, too.
        self.line("clear");
        self.until("an empty screen", |screen| !screen.contains("quit"));
        self.line(&format!("{} top {args}; echo code $?", env!("CARGO_BIN_EXE_dlock")));
        self.shows("quit");
    }

    fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    /// The screen with the sequences that colour it.
    fn coloured(&self) -> String {
        self.run(&["capture-pane", "-p", "-e"])
    }

    #[track_caller]
    fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(began.elapsed() < PATIENCE, "{what}: {screen}");
            thread::sleep(Duration::from_millis(30));
        }
    }

    #[track_caller]
    fn shows(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// Waits for the shell.
    #[track_caller]
    fn is_ready(&self) {
        self.until("the shell", |screen| screen.trim_end().ends_with("ready>"));
    }

    /// The settings of the terminal, as the shell has them.
    fn settings(&self) -> String {
        self.line("clear; stty -a | tail -n +2; echo 'done'");
        let screen = self.until("settings", |screen| screen.lines().any(|line| line.trim() == "done"));
        screen.split("done").next().unwrap_or_default().lines().filter(|line| !line.starts_with("ready>")).collect()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = Command::new("tmux").args(["-L", &self.0, "kill-server"]).output();
    }
}

const CLIENT: &str = "3e9b9a5c-6f34-4b9a-8d5e-0a1b2c3d4e5f";

/// A server with some locks as clients leave them, a queue and a limiter.
fn server() -> Server {
    let server = Server::options().rights(vec!["+scan".to_owned()]).start();
    for number in 0..30 {
        let name = format!("orders/{number:02}");
        server.cmd(&["HSET", &name, &format!("{CLIENT}:{number}"), "1"]);
        server.cmd(&["PEXPIRE", &name, &(3_600_000 - 60_000 * number).to_string()]);
    }
    server.cmd(&["ZADD", "dlock_queue:{orders/07}", "1", "7d0c1a2b-1111-4222-8333-0a1b2c3d0001"]);
    expect(&server, &["queue", "put", "mails", "x"], 0);
    server
}

#[test]
fn top_shows_sorts_filters_and_tells_one_name_in_full() {
    let server = server();
    let tmux = Tmux::start(&server, (120, 24), &[]);
    tmux.top("");
    let screen = tmux.shows("30 held, 1 waiting (p99 ");
    assert!(screen.contains("31 by name") && screen.contains("1 ready, 0 delayed"), "{screen}");
    let first = screen.lines().nth(4).unwrap();
    assert!(first.starts_with("mails") && first.contains("queue"), "{screen}");
    tmux.press(&["s"]);
    let screen = tmux.shows("31 by left");
    assert!(screen.lines().nth(4).unwrap().starts_with("orders/29"), "{screen}");
    tmux.press(&["s"]);
    let screen = tmux.shows("31 by queued");
    assert!(screen.lines().nth(4).unwrap().starts_with("orders/07"), "{screen}");
    tmux.press(&["s"]);
    let screen = tmux.shows("31 by waited");
    assert!(screen.contains("WAITED") && screen.lines().nth(4).unwrap().starts_with("orders/07"), "{screen}");
    tmux.press(&["s", "s", "s", "s", "s"]);
    tmux.shows("31 by queued");
    // The detail of that, and back.
    tmux.press(&["Enter"]);
    tmux.until("its detail", |screen| screen.contains("waits") && screen.contains("7d0c1a2b-1111"));
    tmux.press(&["Escape"]);
    tmux.shows("31 by queued");
    tmux.press(&["/"]);
    tmux.run(&["send-keys", "-l", "ORDERS/1"]);
    tmux.shows("10 by queued, filter ORDERS/1_");
    // Letters are letters there.
    tmux.press(&["q", "BSpace", "Enter"]);
    tmux.until("the filter", |screen| screen.contains("filter ORDERS/1\n") && screen.contains("10 by"));
    tmux.press(&["Escape"]);
    tmux.shows("31 by queued");
    // What one client does.
    tmux.press(&["Tab"]);
    tmux.shows("2 clients that hold or wait");
    tmux.press(&["Enter"]);
    let screen = tmux.shows(&format!("client {CLIENT}"));
    assert!(screen.contains("holds  lock orders/00"), "{screen}");
    tmux.press(&["End"]);
    tmux.shows("holds  lock orders/29");
    // It goes on: what ends is gone from the screen.
    tmux.press(&["Tab"]);
    server.cmd(&["DEL", "orders/00"]);
    tmux.shows("29 held");
    tmux.press(&["q"]);
    tmux.shows("code 0");
}

#[test]
fn forty_columns_are_enough_and_arrows_reach_every_row() {
    let server = server();
    let tmux = Tmux::start(&server, (40, 12), &["NO_COLOR=1"]);
    tmux.top("orders/*");
    let screen = tmux.shows("30 by name");
    assert!(screen.contains("NAME") && screen.contains("STATE") && screen.contains("held"), "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 40), "{screen}");
    assert!(screen.contains("orders/00") && !screen.contains("orders/29"), "{screen}");
    tmux.press(&["End"]);
    tmux.shows("orders/29");
    tmux.press(&["Home", "PageDown"]);
    tmux.until("another page", |screen| screen.contains("orders/07") && !screen.contains("orders/29"));
    let is_coloured = |screen: &str| screen.contains("\u{1b}[38;5;");
    assert!(!is_coloured(&tmux.coloured()), "NO_COLOR: {:?}", tmux.coloured());
    // A window that changes its size.
    tmux.run(&["resize-window", "-x", "100", "-y", "20"]);
    tmux.shows("GRANTS/S");
    tmux.run(&["resize-window", "-x", "30", "-y", "8"]);
    tmux.until("a small one", |screen| {
        screen.contains("NAME") && screen.lines().all(|line| line.chars().count() <= 30)
    });
    tmux.press(&["q"]);
    tmux.shows("code 0");
    let coloured = Tmux::start(&server, (120, 12), &[]);
    coloured.top("");
    coloured.shows("up");
    assert!(is_coloured(&coloured.coloured()), "{:?}", coloured.coloured());
}

#[test]
fn the_terminal_is_given_back_whatever_ends_top() {
    let server = server();
    let tmux = Tmux::start(&server, (100, 24), &[]);
    let before = tmux.settings();
    assert!(before.contains(" icanon") && before.contains(" echo "), "{before}");
    tmux.top("");
    tmux.press(&["C-c"]);
    tmux.shows("code 130");
    assert_eq!(tmux.settings(), before, "after Ctrl-C");
    for (signal, code) in [("TERM", 143), ("HUP", 129)] {
        tmux.top("");
        let id = tmux.run(&["display-message", "-p", "#{pane_pid}"]);
        let id = id.trim();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        kill(signal, children.trim().parse().unwrap());
        tmux.shows(&format!("code {code}"));
        assert_eq!(tmux.settings(), before, "after {signal}");
    }
    // Ctrl-Z gives the terminal to the shell, and fg takes it again.
    tmux.line("clear; echo before the stop");
    tmux.until("an empty screen", |screen| !screen.contains("quit"));
    tmux.line(&format!("{} top", env!("CARGO_BIN_EXE_dlock")));
    tmux.shows("quit");
    tmux.press(&["C-z"]);
    let screen = tmux.shows("Stopped");
    assert!(screen.contains("before the stop") && !screen.contains("quit"), "{screen}");
    assert_eq!(tmux.settings(), before, "while it is stopped");
    tmux.line("fg");
    tmux.shows("31 by name");
    tmux.press(&["s"]);
    tmux.shows("31 by left");
    tmux.press(&["q"]);
    tmux.is_ready();
    assert_eq!(tmux.settings(), before, "after a stop");
}

#[test]
#[cfg(debug_assertions)]
fn the_terminal_is_given_back_before_a_panic_is_told() {
    let server = server();
    let tmux = Tmux::start(&server, (100, 24), &["DLOCK_TEST_PANIC=1"]);
    let before = tmux.settings();
    tmux.line(&format!("clear; {} top; echo code $?", env!("CARGO_BIN_EXE_dlock")));
    let screen = tmux.shows("code 101");
    assert!(screen.contains("a test asked for a panic"), "{screen}");
    assert_eq!(tmux.settings(), before);
}

#[test]
fn top_says_that_the_server_is_away_and_when_it_is_back() {
    let mut server = server();
    let tmux = Tmux::start(&server, (100, 24), &[]);
    tmux.top("");
    tmux.shows(" up");
    server.stop();
    tmux.shows("away: ");
    server.start_again();
    tmux.shows(" up");
    tmux.press(&["q"]);
    tmux.shows("code 0");
}

#[test]
fn top_without_a_terminal_prints_once_or_says_what_to_do() {
    let server = server();
    for args in [&["top"][..], &["top", "--json"]] {
        let refused = expect(&server, args, 125);
        assert!(refused.stderr.contains("--once") && refused.stderr.contains("dlock serve"), "{refused:?}");
    }
    let printed = expect(&server, &["top", "--once", "--sort", "left", "orders/*"], 0).stdout;
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines.len() == 31 && lines[0].starts_with("NAME") && lines[1].starts_with("orders/29"), "{printed}");
    let told: Value = serde_json::from_str(&expect(&server, &["top", "--once", "--json"], 0).stdout).unwrap();
    assert_eq!((&told["matching"], &told["complete"], &told["up"]), (&31.into(), &true.into(), &true.into()));
    for args in [&["top", "--sort", "x"][..], &["top", "--every", "1ms"], &["top", "--most", "0"]] {
        assert_eq!(start(dlock(args)).ended().code, 125, "{args:?}");
    }
    let unable = Server::start();
    let refused = expect(&unable, &["top", "--once"], 125);
    assert!(refused.stderr.contains("+scan"), "it says which right: {refused:?}");
}
