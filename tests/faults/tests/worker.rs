//! Worker numbers under leases, whose processes are killed or stand still, and clocks that are set.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use libdlock::id::Layout;
use libdlock_faults::peer::{Answer, number};
use libdlock_faults::{Peer, SOON, worker};
use libdlock_testkit::temp::TempDir;
use libdlock_testkit::{ClockHandle, Server, eventually};

const SECOND_US: i64 = 1_000_000;

/// The ids that were made, by number: from the first to the last of each answer.
#[derive(Default)]
struct Made(BTreeMap<i64, Vec<(i64, i64)>>);

impl Made {
    fn add(&mut self, answer: &[String]) {
        let (first, last) = (number(&answer[0]), number(&answer[1]));
        let parts = |id| Layout::DEFAULT.decode(id).unwrap();
        let of = |id| i64::from(parts(id).datacenter) << 5 | i64::from(parts(id).worker);
        assert_eq!(of(first), of(last), "ids of one number");
        self.0.entry(of(first)).or_default().push((first, last));
    }

    /// No id can have come twice: what the answers of one number cover does not overlap. How many numbers had ids.
    #[track_caller]
    fn check(mut self) -> usize {
        for (number, spans) in &mut self.0 {
            spans.sort_unstable();
            for pair in spans.windows(2) {
                assert!(pair[0].1 < pair[1].0, "number {number}: {:?} and {:?} overlap", pair[0], pair[1]);
            }
        }
        self.0.len()
    }
}

/// Leases a number of a pool of 64 under a lease of so many ms.
#[track_caller]
fn lease(peer: &mut Peer, lease_ms: u64) -> i64 {
    number(&peer.ok(&format!("lease orders 6 {lease_ms}"))[0])
}

#[track_caller]
fn refused(answer: Answer) -> (String, String) {
    answer.expect_err("this must be refused")
}

#[test]
fn a_killed_processs_number_is_free_when_its_lease_ends() {
    const LEASE_MS: u64 = 1_000;
    let server = Server::start();
    let peer = || Peer::start(worker!(), &server.url());
    let (mut first, mut second, mut made) = (peer(), peer(), Made::default());
    assert_eq!((lease(&mut first, LEASE_MS), lease(&mut second, LEASE_MS)), (0, 1));
    made.add(&first.ok("make 100000"));
    first.process().kill();
    let killed = Instant::now();
    let left = server.cmd(&["ZRANGE", "dlock_id_leases:{orders}", "0", "-1", "WITHSCORES"]).array().len();
    assert_eq!(left, 4, "the lease is there");
    let mut third = peer();
    let got = lease(&mut third, LEASE_MS);
    assert!(got == 2 || killed.elapsed() > Duration::from_millis(LEASE_MS / 2), "{got} after {:?}", killed.elapsed());
    let mut fourth = peer();
    eventually(SOON, "number 0 is free", || {
        let got = lease(&mut fourth, LEASE_MS);
        if got != 0 {
            fourth.ok("give-back");
        }
        got == 0
    });
    assert!(killed.elapsed() > Duration::from_millis(LEASE_MS / 2), "the lease was not over");
    made.add(&fourth.ok("make 100000"));
    assert_eq!(made.check(), 1);
}

#[test]
fn a_process_that_stood_still_past_its_lease_makes_no_id() {
    let server = Server::start();
    let (mut stopped, mut other) = (Peer::start(worker!(), &server.url()), Peer::start(worker!(), &server.url()));
    let mut made = Made::default();
    assert_eq!(lease(&mut stopped, 500), 0);
    made.add(&stopped.ok("make 10000"));
    // In the middle of a batch that takes a minute.
    let under_way = stopped.request("make 200000000");
    stopped.process().pause();
    eventually(SOON, "its number is given to another", || {
        let got = lease(&mut other, 500);
        if got != 0 {
            other.ok("give-back");
        }
        got == 0
    });
    made.add(&other.ok("make 10000"));
    stopped.process().resume();
    let (kind, message) = refused(stopped.answer(under_way, SOON));
    assert_eq!(kind, "LOST", "{message}");
    assert_eq!(refused(stopped.call("make 1")).0, "LOST");
    made.add(&other.ok("make 10000"));
    // It goes on with another number.
    assert_eq!(lease(&mut stopped, 500), 1);
    made.add(&stopped.ok("make 10000"));
    assert_eq!(made.check(), 2);
}

#[test]
fn a_process_that_stood_still_for_less_goes_on() {
    let server = Server::start();
    let mut peer = Peer::start(worker!(), &server.url());
    let mut made = Made::default();
    assert_eq!(lease(&mut peer, 3_000), 0);
    for _ in 0..3 {
        peer.process().pause();
        std::thread::sleep(Duration::from_millis(600));
        peer.process().resume();
        made.add(&peer.ok("make 10000"));
    }
    assert_eq!(made.check(), 1);
}

/// The clocks of the server and of one client are set back, and ahead, between holders and under one that goes on.
#[test]
fn no_id_comes_twice_whatever_clocks_are_set_to() {
    let (server, of_server) = Server::with_clock();
    let dir = TempDir::new();
    let of_client = ClockHandle::create(&dir.path().join("clock"));
    let mut made = Made::default();
    let mut holder = Peer::start(worker!(), &server.url());
    assert_eq!(lease(&mut holder, 600), 0);
    for step_us in [-3_000, -3 * SECOND_US, -3_600 * SECOND_US, 3_600 * SECOND_US, -3 * SECOND_US] {
        of_server.advance(step_us);
        let mut odd = Peer::start_with(worker!(), &server.url(), &of_client.environment());
        of_client.advance(-step_us);
        for _ in 0..2 {
            let got = lease(&mut odd, 600);
            made.add(&odd.ok("make 20000"));
            // A clock that is set ahead ends leases, that of the holder too, which then finds out.
            match holder.call("make 20000") {
                Ok(answer) => made.add(&answer),
                Err((kind, message)) => {
                    assert_eq!(kind, "LOST", "{message} after {step_us} us");
                    holder.call("give-back").expect_err("it was lost");
                    lease(&mut holder, 600);
                }
            }
            made.add(&odd.ok("make 20000"));
            odd.ok("give-back");
            assert!(got < 4, "numbers are used again, and not {got}");
        }
    }
    assert!(made.check() >= 2);
}

#[test]
fn more_processes_than_numbers_get_all_numbers_and_a_clear_no() {
    let server = Server::start();
    let mut peers: Vec<Peer> = (0..9).map(|_| Peer::start(worker!(), &server.url())).collect();
    let mut numbers = Vec::new();
    for peer in &mut peers[..8] {
        numbers.push(number(&peer.ok("lease few 3 5000")[0]));
    }
    assert_eq!(numbers, (0..8).collect::<Vec<_>>());
    let (kind, message) = refused(peers[8].call("lease few 3 5000"));
    assert_eq!(kind, "BUSY");
    assert!(message.contains("all 8 numbers") && message.contains("the first lease ends in"), "{message}");
    peers[5].ok("give-back");
    assert_eq!(number(&peers[8].ok("lease few 3 5000")[0]), 5);
}

/// So many processes take turns on 64 numbers, of which some are killed; how many ids were made, and how often a number was leased.
fn storm(processes: usize, turns: usize, batch: usize) -> (usize, usize) {
    let server = Server::start();
    let (mut made, mut ids, mut leases) = (Made::default(), 0, 0);
    let mut peers: Vec<(Peer, usize)> = (0..processes).map(|_| (Peer::start(worker!(), &server.url()), 0)).collect();
    let mut under_way: BTreeMap<usize, u64> = BTreeMap::new();
    while peers.iter().any(|(_, done)| *done < turns) {
        // All that have none ask for a number; those that get one make ids, all at the same time.
        let wanting = peers.iter_mut().enumerate().filter(|(_, (_, done))| *done < turns);
        let asked: Vec<(usize, u64)> =
            wanting.map(|(at, (peer, _))| (at, peer.request("lease orders 6 2000"))).collect();
        for (at, id) in asked {
            match peers[at].0.answer(id, 3 * SOON) {
                Ok(_) => {
                    leases += 1;
                    let making = peers[at].0.request(&format!("make {batch}"));
                    under_way.insert(at, making);
                }
                Err((kind, message)) => assert_eq!(kind, "BUSY", "{message}"),
            }
        }
        for (at, making) in std::mem::take(&mut under_way) {
            let (peer, done) = &mut peers[at];
            match peer.answer(making, 12 * SOON) {
                Ok(answer) => {
                    made.add(&answer);
                    ids += batch;
                    *done += 1;
                }
                // On a machine that is too busy to renew.
                Err((kind, message)) => assert_eq!(kind, "LOST", "{message}"),
            }
            if fastrand::u8(..8) == 0 {
                *peer = Peer::start(worker!(), &server.url());
            } else {
                peer.call("give-back").ok();
            }
        }
    }
    assert!(made.check() > 32, "most numbers were used");
    (ids, leases)
}

#[test]
fn processes_that_come_and_go_make_no_id_twice() {
    let begun = Instant::now();
    let (ids, leases) = storm(70, 1, 20_000);
    println!("{ids} ids under {leases} leases in {:?}", begun.elapsed());
}

#[test]
#[ignore = "long: 200 processes make 100 million ids"]
fn two_hundred_processes_make_a_hundred_million_ids() {
    let begun = Instant::now();
    let (ids, leases) = storm(200, 5, 100_000);
    println!("{ids} ids under {leases} leases in {:?}", begun.elapsed());
    assert_eq!(ids, 100_000_000);
}
