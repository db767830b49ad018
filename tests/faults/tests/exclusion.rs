//! What the checker of faults.md asks of every concurrent run: holds are disjoint, tokens increase in the order of grants,
//! a counter guarded by the lock ends exact, a register that refuses lower tokens refuses none; and after the faults
//! every waiter gets its turn and no key is left.

use std::time::Duration;

use libdlock_faults::{Peer, SOON, with_options, worker};
use libdlock_testkit::{
    Action, Hold, Proxy, Server, Side,
    checker::assert_lawful,
    eventually,
    resource::{Counter, Register},
    temp::TempDir,
    within,
};

/// Workers with several holders each, all after one lock.
struct Run {
    dir: TempDir,
    counter: Counter,
    peers: Vec<Peer>,
    requests: Vec<Vec<u64>>,
}

const PROCESSES: usize = 4;
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
        let mut peers: Vec<Peer> = (0..PROCESSES).map(|_| Peer::start(worker!(), url)).collect();
        let (c, r) = (dir.path().join("counter"), dir.path().join("register"));
        let contend = |holder| format!("{verb} {holder} job {ROUNDS} {} {}", c.display(), r.display());
        let requests = peers.iter_mut().map(|p| (1..=HOLDERS).map(|h| p.request(&contend(h))).collect()).collect();
        Self { dir, counter, peers, requests }
    }

    /// Waits for all rounds of the workers from `first` on, and gives every hold that any worker has reported.
    fn finish(&mut self, first: usize, bound: Duration) -> Vec<Hold> {
        for (peer, requests) in self.peers.iter_mut().zip(&self.requests).skip(first) {
            for id in requests {
                peer.answer(*id, bound).expect("every round ends well");
            }
        }
        self.peers.iter_mut().flat_map(Peer::holds).collect()
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
    let holds = run.finish(0, SOON * 3);
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
        run.peers[victim].process().kill();
    }
    let holds = run.finish(2, SOON * 3);
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
        run.peers[stopped].process().pause();
        // none when it was stopped as it wrote, which keeps everybody from the register until it goes on
        let before = run.register_unless_locked();
        // others go on when its lease is over; when they have all ended, nobody does
        within(Duration::from_secs(1), || before.is_some() && run.register_unless_locked() > before);
        run.peers[stopped].process().resume();
    }
    let holds = run.finish(0, SOON * 3);
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
    let done = std::sync::atomic::AtomicBool::new(false);
    let holds = std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in (0..usize::MAX).take_while(|_| !done.load(std::sync::atomic::Ordering::Relaxed)) {
                match n % 8 {
                    0..4 => drop(proxy.on(&["EVALSHA", "job"], Action::CutReply(0))),
                    4 => drop(proxy.on(&["EVALSHA", "job"], Action::CutReply(5))),
                    5 => drop(proxy.on(&["EVALSHA", "job"], Action::Refuse)),
                    6 => proxy.reset_all(),
                    _ => proxy.half_close(Side::Replies),
                }
                // a fault every few hand-overs, so that there are hand-overs in between
                if !some_more_scripts_run(&server) {
                    break;
                }
            }
        });
        let holds = run.finish(0, SOON * 6);
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        holds
    });
    assert_eq!(holds.len(), PROCESSES * HOLDERS * ROUNDS);
    assert_lawful(&holds);
    assert_eq!(run.counter.get(), holds.len() as u64);
    only_the_token_is_left(&server);
}

/// Waits until the server has run some more scripts; `false` when there are none any more.
fn some_more_scripts_run(server: &Server) -> bool {
    let scripts = || server.info("commandstats", "cmdstat_evalsha:calls");
    let before = scripts();
    within(Duration::from_secs(3), || scripts() > before + 12)
}
