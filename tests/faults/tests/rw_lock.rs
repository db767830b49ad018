//! A read-write lock whose holders, waiters, server and connections fail: no writer meets another holder, and nobody waits for
//! one that is dead.

use std::time::Duration;

use libdlock::Client;
use libdlock::rw_lock::RwLockOptions;
use libdlock_faults::{
    Peer, SOON, bounded, client, listeners,
    peer::{Held, held},
    permits::most_at_once,
    slack,
    turns::{PROCESSES, Turns},
    with_options, worker,
};
use libdlock_testkit::{Action, Hold, Proxy, Server, eventually, server::Data, wait::monotonic_us};

/// The head and the next one ask every second, up to 20 % later.
const POLL: Duration = Duration::from_millis(1_200);
/// For how long a head may say nothing while what it wants is there.
const HEAD_SILENCE: Duration = Duration::from_millis(2_500);
const QUEUE: &str = "dlock_rw_queue:{prices}";
/// What a hold of a writer reports as its token; one of a reader reports 1.
const WRITER: u64 = 1_000;

fn us(duration: Duration) -> i64 {
    duration.as_micros() as i64
}

#[track_caller]
fn nothing_is_left(server: &Server) {
    let left = || (server.cmd(&["EXISTS", "prices"]).int(), server.cmd(&["ZCARD", QUEUE]).int());
    eventually(SOON, "nobody holds it and nobody waits", || left() == (0, 0));
}

#[track_caller]
fn takes(peer: &mut Peer, side: &str) -> Held {
    let taking = peer.request(&format!("take-side 1 prices {side} -1"));
    held(peer.answer(taking, SOON))
}

/// Lets a process wait; its request, once it stands at that rank and hears its inbox.
#[track_caller]
fn enqueue(server: &Server, peer: &mut Peer, side: &str, rank: usize) -> u64 {
    let waiting = peer.request(&format!("take-side 1 prices {side} -1"));
    eventually(SOON, "it stands in the queue", || {
        let queue = server.cmd(&["ZRANGE", QUEUE, "0", "-1"]);
        let client = queue.array().get(rank).map(|client| client.text().to_owned());
        client.is_some_and(|client| listeners(server, &format!("dlock_inbox:{client}")) == 1)
    });
    waiting
}

fn a_killed_holder_keeps_nobody_out_beyond_its_lease(side: &str) {
    const LEASE: Duration = Duration::from_secs(2);
    let server = Server::start();
    let url = with_options(&server.url(), "lease=2s");
    let (mut holder, mut waiter) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    takes(&mut holder, side);
    let waiting = enqueue(&server, &mut waiter, "write", 0);
    holder.process().kill();
    let (killed_at, left) = (monotonic_us(), server.cmd(&["PTTL", "prices"]).int());
    let expires_at = monotonic_us() + left * 1_000;
    let second = held(waiter.answer(waiting, LEASE + POLL + slack()));
    assert!(second.acquired_at >= expires_at - 2_000, "{} us too early", expires_at - second.acquired_at);
    assert!(second.acquired_at <= killed_at + us(LEASE + slack()), "at the end of the lease, by no later timer");
    waiter.ok("leave 1 prices");
    nothing_is_left(&server);
}

#[test]
fn after_kill_9_of_a_writer_the_lock_is_free_with_its_lease() {
    a_killed_holder_keeps_nobody_out_beyond_its_lease("write");
}

#[test]
fn after_kill_9_of_a_reader_the_lock_is_free_with_its_lease() {
    a_killed_holder_keeps_nobody_out_beyond_its_lease("read");
}

/// The others go on for longer than the lease of the dead one, and renew the hash.
#[test]
fn a_killed_reader_keeps_no_writer_out_beside_others() {
    let server = Server::start();
    let (short, long) = (with_options(&server.url(), "lease=1s"), with_options(&server.url(), "lease=30s"));
    let (mut killed, mut reader) = (Peer::start(worker!(), &short), Peer::start(worker!(), &long));
    takes(&mut killed, "read");
    takes(&mut reader, "read");
    killed.process().kill();
    let mut writer = Peer::start(worker!(), &long);
    let waiting = enqueue(&server, &mut writer, "write", 0);
    let dead = || server.cmd(&["KEYS", "*:rwlock_timeout:1"]).array().len() == 1;
    eventually(SOON, "the lease of the dead one is over", dead);
    assert_eq!(server.cmd(&["HLEN", "prices"]).int(), 3, "its field is still there");
    let released = monotonic_us();
    reader.ok("leave 1 prices");
    let got = held(writer.answer(waiting, SOON));
    assert!(got.acquired_at - released <= us(slack()), "{} us", got.acquired_at - released);
    writer.ok("leave 1 prices");
    nothing_is_left(&server);
}

/// A writer, a reader, a writer and a reader wait, and one of them is killed.
fn the_others_are_served_without(victim: usize) {
    let server = Server::start();
    let url = with_options(&server.url(), "lease=60s");
    let mut holder = Peer::start(worker!(), &url);
    takes(&mut holder, "write");
    let mut waiters = Vec::new();
    for (rank, side) in ["write", "read", "write", "read"].into_iter().enumerate() {
        let mut peer = Peer::start(worker!(), &url);
        let waiting = enqueue(&server, &mut peer, side, rank);
        waiters.push((peer, waiting));
    }
    waiters[victim].0.process().kill();
    holder.ok("leave 1 prices");
    let released = monotonic_us();
    for (rank, (peer, waiting)) in waiters.iter_mut().enumerate() {
        if rank != victim {
            let got = held(peer.answer(*waiting, SOON));
            let took = got.acquired_at - released;
            assert!(took <= us(HEAD_SILENCE + POLL + slack()), "rank {rank} after {took} us");
            peer.ok("leave 1 prices");
        }
    }
    let mut newcomer = Peer::start(worker!(), &url);
    takes(&mut newcomer, "write");
    newcomer.ok("leave 1 prices");
    nothing_is_left(&server);
}

#[test]
fn a_queue_whose_first_writer_is_killed_goes_on() {
    the_others_are_served_without(0);
}

#[test]
fn a_queue_whose_first_reader_is_killed_goes_on() {
    the_others_are_served_without(1);
}

#[test]
fn a_queue_whose_second_writer_is_killed_goes_on() {
    the_others_are_served_without(2);
}

#[test]
fn a_queue_whose_last_reader_is_killed_goes_on() {
    the_others_are_served_without(3);
}

#[test]
fn a_holder_stopped_beyond_its_lease_touches_no_other_hold() {
    for (first, second) in [("write", "read"), ("read", "write"), ("write", "write")] {
        let server = Server::start();
        let mut holder = Peer::start(worker!(), &with_options(&server.url(), "lease=1s"));
        let mut other = Peer::start(worker!(), &with_options(&server.url(), "lease=30s"));
        let before = takes(&mut holder, first);
        holder.process().pause();
        let after = takes(&mut other, second);
        assert!(after.acquired_at >= before.valid_until, "{first} and {second} overlap");
        assert!(after.token > before.token);
        holder.process().resume();
        let loss = holder.loss(SOON);
        assert_eq!((loss.name.as_str(), loss.reason.as_str()), ("prices", "expired"));
        assert_eq!(holder.ok("is-in 1 prices"), ["false"]);
        let (kind, _) = holder.call("leave 1 prices").expect_err("a stale release");
        assert_eq!(kind, "NOT_HELD");
        assert_eq!(other.ok("is-in 1 prices"), ["true"]);
        assert_eq!(server.cmd(&["HGET", "prices", "mode"]).text(), second);
        other.ok("leave 1 prices");
        nothing_is_left(&server);
    }
}

#[test]
fn after_an_empty_restart_a_waiter_has_the_lock_within_a_poll() {
    let mut server = Server::start();
    let url = with_options(&server.url(), "lease=3s");
    let (mut holder, mut waiter) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    let first = takes(&mut holder, "read");
    let waiting = enqueue(&server, &mut waiter, "write", 0);
    server.restart(Data::Lost);
    let gone = monotonic_us();
    let second = held(waiter.answer(waiting, SOON));
    assert!(second.acquired_at - gone <= us(POLL + slack()), "{} us", second.acquired_at - gone);
    assert!(second.token > first.token);
    let loss = holder.loss(SOON);
    assert!(["deleted", "server_changed", "taken"].contains(&loss.reason.as_str()), "{}", loss.reason);
    holder.call("leave 1 prices").expect_err("there is nothing to end");
    assert_eq!(waiter.ok("is-in 1 prices"), ["true"]);
    waiter.ok("leave 1 prices");
    nothing_is_left(&server);
}

struct Cut {
    server: Server,
    proxy: Proxy,
    client: Client,
}

impl Cut {
    async fn new() -> Cut {
        let server = Server::start();
        let proxy = Proxy::start(server.address());
        let client = client(&proxy.url()).await;
        // The server knows the scripts from here on: the faults meet the real reply of EVALSHA, not NOSCRIPT.
        let warm = client.rw_lock("warm").expect("a name").read().acquire().await.expect("acquire");
        warm.release().await.expect("release");
        Cut { server, proxy, client }
    }
}

/// Whatever of a reply is missing: the repeat finds what the first attempt did, and gives its token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_acquire_and_release_do_nothing_twice() {
    let Cut { server, proxy, client } = Cut::new().await;
    let lock = client.rw_lock("prices").expect("a name");
    for bytes in 0..40 {
        for side in [lock.read(), lock.write()] {
            let fault = proxy.on(&["EVALSHA", "prices"], Action::CutReply(bytes));
            let held = bounded(SOON, "the retry succeeds", side.acquire()).await.expect("acquire");
            assert_eq!(fault.hits(), 1, "the fault was met");
            assert_eq!(server.cmd(&["HLEN", "prices"]).int(), 2, "cut at {bytes}");
            let last = server.cmd(&["GET", "redisson_lock_token:{prices}"]);
            assert_eq!(last.text(), held.token().to_string(), "one token was given, cut at {bytes}");
            proxy.on(&["EVALSHA", "prices"], Action::CutReply(bytes));
            bounded(SOON, "the release returns", held.release()).await.expect("a done release is no error");
            // What was cut behind the end of this reply meets the next one.
            bounded(SOON, "inspect", lock.inspect()).await.expect("inspect");
            assert_eq!(server.cmd(&["EXISTS", "prices"]).int(), 0, "cut at {bytes}");
        }
    }
}

const HOLDERS: usize = 3;
const ROUNDS: usize = 40;

/// Holders of several processes that read and write in turn.
fn turns(url: &str) -> Turns {
    Turns::start(worker!(), url, HOLDERS, |holder| format!("read-and-write {holder} prices {ROUNDS}"))
}

/// A writer never met another holder, and readers held together.
#[track_caller]
fn are_apart(holds: &[Hold]) {
    assert_eq!(most_at_once(holds), WRITER, "a writer beside another holder");
    let readers: Vec<Hold> = holds.iter().filter(|hold| hold.token == 1).cloned().collect();
    assert!(most_at_once(&readers) > 1, "no two readers held together");
}

#[test]
fn no_writer_of_any_process_meets_another_holder() {
    let server = Server::start();
    let holds = turns(&server.url()).finish(0);
    assert!(holds.len() >= PROCESSES * HOLDERS * ROUNDS);
    are_apart(&holds);
    nothing_is_left(&server);
}

#[test]
fn holds_of_killed_processes_overlap_with_no_other() {
    let server = Server::start();
    let mut turns = turns(&with_options(&server.url(), "lease=500ms"));
    turns.kill_two(&server, 60);
    let holds = turns.finish(2);
    assert!(holds.len() >= 2 * HOLDERS * ROUNDS);
    are_apart(&holds);
    let mut newcomer = Peer::start(worker!(), &server.url());
    takes(&mut newcomer, "write");
    newcomer.ok("leave 1 prices");
    nothing_is_left(&server);
}

#[test]
fn lost_replies_and_reset_connections_leave_nothing() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let mut turns = turns(&with_options(&proxy.url(), "lease=5s&response_timeout=500ms"));
    let holds = turns.finish_disturbed(&server, &proxy, "prices", SOON * 3);
    assert!(holds.len() >= PROCESSES * HOLDERS * ROUNDS);
    are_apart(&holds);
    nothing_is_left(&server);
}

/// A read costs the server about the same with a hundred other readers as with none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_costs_no_look_at_each_other_reader() {
    let server = Server::start();
    let (others, me) = (client(&server.url()).await, client(&with_options(&server.url(), "lease=20s")).await);
    let prices = others.rw_lock("prices").expect("a name");
    let mut readers = Vec::new();
    for _ in 0..100 {
        readers.push(prices.read().acquire().await.expect("acquired"));
    }
    let mine = me.rw_lock_with("prices", RwLockOptions::default().shared_age(Duration::ZERO)).expect("a name");
    let looks = || server.info("commandstats", "cmdstat_pttl:calls");
    let before = looks();
    for _ in 0..20 {
        mine.read().acquire().await.expect("acquired").release().await.expect("released");
    }
    let each = (looks() - before) / 20;
    assert!(each <= 10, "{each} looks at a hold for a pair");
    // With a writer in the queue each release looks: it gets the lock with the last one.
    let writer = tokio::spawn(async move { mine.write().acquire().await.expect("acquired").release().await });
    eventually(SOON, "it stands in the queue", || server.cmd(&["ZCARD", QUEUE]).int() == 1);
    for reader in readers {
        reader.release().await.expect("released");
    }
    bounded(SOON, "the writer writes", writer).await.expect("no panic").expect("released");
    nothing_is_left(&server);
}
