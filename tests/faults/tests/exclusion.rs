//! Each concurrent run keeps the checker's rules: holds are disjoint, tokens increase in the order of grants,
//! a counter guarded by the lock ends exact, a register that refuses lower tokens refuses none; and after the faults
//! every waiter gets its turn and no key is left.

use std::time::Duration;

use libdlock_faults::{
    SOON,
    turns::{PROCESSES, Turns},
    with_options, worker,
};
use libdlock_testkit::{
    Proxy, Server,
    checker::assert_lawful,
    eventually,
    resource::{Counter, Register},
    temp::TempDir,
    within,
};

/// Holders of several processes, all after one lock.
struct Run {
    dir: TempDir,
    counter: Counter,
    turns: Turns,
}

const HOLDERS: usize = 2;
const ROUNDS: usize = 40;

impl Run {
    fn start(url: &str) -> Self {
        Self::start_with("contend", url)
    }

    fn start_with(verb: &str, url: &str) -> Self {
        let dir = TempDir::new();
        let counter = Counter::create(&dir.path().join("counter"));
        Register::create(&dir.path().join("register"));
        let (c, r) = (dir.path().join("counter"), dir.path().join("register"));
        let contend = |holder| format!("{verb} {holder} job {ROUNDS} {} {}", c.display(), r.display());
        let turns = Turns::start(worker!(), url, HOLDERS, contend);
        Self { dir, counter, turns }
    }

    fn register(&self) -> (u64, String) {
        Register::open(&self.dir.path().join("register")).read()
    }

    fn register_unless_locked(&self) -> Option<(u64, String)> {
        Register::open(&self.dir.path().join("register")).read_within(Duration::from_millis(100))
    }
}

/// The last token stays for an hour, in case the clock steps back.
#[track_caller]
fn only_the_token_is_left(server: &Server) {
    eventually(SOON, "no key is left", || server.keys() == ["redisson_lock_token:{job}"]);
    eventually(SOON, "nobody waits", || libdlock_faults::waiters(server, "job") == 0);
}

#[test]
fn four_processes_with_two_holders_each_never_overlap() {
    let server = Server::start();
    let mut run = Run::start(&server.url());
    let holds = run.turns.finish(0);
    assert_eq!(holds.len(), PROCESSES * HOLDERS * ROUNDS);
    assert_lawful(&holds);
    assert_eq!(run.counter.get(), holds.len() as u64, "no addition was lost");
    let last = holds.iter().map(|h| h.token).max().expect("holds");
    assert_eq!(run.register(), (last, last.to_string()));
    only_the_token_is_left(&server);
}

#[test]
fn holders_killed_at_any_moment_overlap_with_nobody() {
    let server = Server::start();
    let mut run = Run::start(&with_options(&server.url(), "lease=500ms"));
    let counter = run.counter.clone();
    for victim in 0..2 {
        let so_far = counter.get();
        eventually(SOON, "it is under way", || counter.get() > so_far + 10);
        run.turns.process(victim).kill();
    }
    let holds = run.turns.finish(2);
    assert!(holds.len() >= 2 * HOLDERS * ROUNDS);
    assert_lawful(&holds);
    // a killed worker may have counted without having said so, or have been killed before it counted
    assert!(counter.get().abs_diff(holds.len() as u64) <= 2, "{} of {}", counter.get(), holds.len());
    only_the_token_is_left(&server);
}

/// A holder that sleeps past its lease may write when it should not. The register is what stops it.
#[test]
fn holders_that_stand_still_past_their_lease_lose_no_write() {
    let server = Server::start();
    let mut run = Run::start_with("contend-whatever-happens", &with_options(&server.url(), "lease=300ms"));
    for stopped in 0..PROCESSES {
        run.turns.process(stopped).pause();
        // none when it was stopped as it wrote, which keeps everybody from the register until it goes on
        let before = run.register_unless_locked();
        // others go on when its lease is over; when they have all ended, nobody does
        within(Duration::from_secs(1), || before.is_some() && run.register_unless_locked() > before);
        run.turns.process(stopped).resume();
    }
    let holds = run.turns.finish(0);
    assert_lawful(&holds);
    let last = holds.iter().map(|h| h.token).max().expect("holds");
    let (token, value) = run.register();
    assert!(token >= last, "the write with token {last} was acknowledged and is lost behind {token}");
    assert_eq!(value, token.to_string());
    only_the_token_is_left(&server);
}

#[test]
fn lost_replies_and_reset_connections_change_nothing_twice() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let mut run = Run::start(&with_options(&proxy.url(), "lease=5s&response_timeout=500ms"));
    let holds = run.turns.finish_disturbed(&server, &proxy, "job", SOON * 6);
    assert_eq!(holds.len(), PROCESSES * HOLDERS * ROUNDS);
    assert_lawful(&holds);
    assert_eq!(run.counter.get(), holds.len() as u64);
    only_the_token_is_left(&server);
}
