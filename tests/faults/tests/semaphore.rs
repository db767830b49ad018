//! A semaphore whose holders, waiters, server and connections fail: no permit is held twice, and none is lost for good.

use std::time::Duration;

use libdlock::Client;
use libdlock_faults::{
    Peer, SOON, bounded, client, listeners,
    peer::{Held, held},
    permits::most_at_once,
    slack,
    turns::{PROCESSES, Turns},
    with_options, worker,
};
use libdlock_testkit::{Action, Proxy, Server, eventually, server::Data, wait::monotonic_us};

/// The head and the next one ask every second, up to 20 % later.
const POLL: Duration = Duration::from_millis(1_200);
/// For how long a head may say nothing while what it wants is there.
const HEAD_SILENCE: Duration = Duration::from_millis(2_500);
const QUEUE: &str = "dlock_semaphore_queue:{pool}";
const TAKEN: &str = "{pool}:timeout";

fn us(duration: Duration) -> i64 {
    duration.as_micros() as i64
}

fn available(server: &Server) -> i64 {
    server.cmd(&["GET", "pool"]).text().parse().expect("a number")
}

fn taken(server: &Server) -> i64 {
    server.cmd(&["ZCARD", TAKEN]).int()
}

#[track_caller]
fn is_whole(server: &Server, total: i64) {
    let seen = || (available(server), taken(server), server.cmd(&["ZCARD", QUEUE]).int());
    eventually(SOON, "all permits are back and nobody waits", || seen() == (total, 0, 0));
}

/// Permits and entries of the dead are taken back by who asks after them.
#[track_caller]
fn a_newcomer_gets_all(server: &Server, total: i64) {
    let mut newcomer = Peer::start(worker!(), &server.url());
    let taking = start_to_take(&mut newcomer, total, total);
    held(newcomer.answer(taking, HEAD_SILENCE + POLL + slack()));
    newcomer.ok("give-back 1 pool");
    is_whole(server, total);
}

fn start_to_take(peer: &mut Peer, total: i64, permits: i64) -> u64 {
    peer.request(&format!("take 1 pool {total} {permits} -1"))
}

#[track_caller]
fn take(peer: &mut Peer, total: i64, permits: i64) -> Held {
    let taking = start_to_take(peer, total, permits);
    held(peer.answer(taking, SOON))
}

/// Lets a process wait; its request, once it stands at that rank and hears its inbox.
#[track_caller]
fn enqueue(server: &Server, peer: &mut Peer, (total, permits): (i64, i64), rank: usize) -> u64 {
    let waiting = start_to_take(peer, total, permits);
    eventually(SOON, "it stands in the queue", || {
        let queue = server.cmd(&["ZRANGE", QUEUE, "0", "-1"]);
        let client = queue.array().get(rank).map(|client| client.text().to_owned());
        client.is_some_and(|client| listeners(server, &format!("dlock_inbox:{client}")) == 1)
    });
    waiting
}

#[test]
fn after_kill_9_permits_come_back_when_the_lease_is_over() {
    const LEASE: Duration = Duration::from_secs(2);
    let server = Server::start();
    let url = with_options(&server.url(), "lease=2s");
    let (mut holder, mut waiter) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    take(&mut holder, 3, 2);
    let waiting = enqueue(&server, &mut waiter, (3, 2), 0);

    holder.process().kill();
    let killed_at = monotonic_us();
    let expiry = server.cmd(&["ZRANGE", TAKEN, "0", "0", "WITHSCORES"]).array()[1].text().parse::<i64>().unwrap();
    let time = server.cmd(&["TIME"]);
    let left = expiry * 1_000
        - time.array()[0].text().parse::<i64>().unwrap() * 1_000_000
        - time.array()[1].text().parse::<i64>().unwrap();
    let expires_at = monotonic_us() + left;

    let second = held(waiter.answer(waiting, LEASE + POLL + slack()));
    assert!(second.acquired_at >= expires_at - 2_000, "{} us too early", expires_at - second.acquired_at);
    assert!(second.acquired_at <= killed_at + us(LEASE + slack()), "at the end of the lease, by no later timer");
    waiter.ok("give-back 1 pool");
    is_whole(&server, 3);
}

/// Four wait for 3, 1, 2 and 1 of four permits, and one of them is killed.
fn the_others_are_served_without(victim: usize) {
    const TOTAL: i64 = 4;
    let server = Server::start();
    let url = with_options(&server.url(), "lease=60s");
    let mut holder = Peer::start(worker!(), &url);
    take(&mut holder, TOTAL, TOTAL);
    let mut waiters = Vec::new();
    for (rank, permits) in [3, 1, 2, 1].into_iter().enumerate() {
        let mut peer = Peer::start(worker!(), &url);
        let waiting = enqueue(&server, &mut peer, (TOTAL, permits), rank);
        waiters.push((peer, waiting));
    }
    waiters[victim].0.process().kill();
    holder.ok("give-back 1 pool");
    let released = monotonic_us();
    for (rank, (peer, waiting)) in waiters.iter_mut().enumerate() {
        if rank != victim {
            let got = held(peer.answer(*waiting, SOON));
            let took = got.acquired_at - released;
            assert!(took <= us(HEAD_SILENCE + POLL + slack()), "rank {rank} after {took} us");
            peer.ok("give-back 1 pool");
        }
    }
    a_newcomer_gets_all(&server, TOTAL);
}

#[test]
fn a_queue_whose_head_is_killed_goes_on() {
    the_others_are_served_without(0);
}

#[test]
fn a_queue_whose_next_is_killed_goes_on() {
    the_others_are_served_without(1);
}

#[test]
fn a_queue_whose_third_is_killed_goes_on() {
    the_others_are_served_without(2);
}

#[test]
fn a_queue_whose_last_is_killed_goes_on() {
    the_others_are_served_without(3);
}

/// What the dead head wants is not there, and so keeps nobody out for long who wants less.
#[test]
fn a_dead_head_that_wants_many_keeps_no_small_want_out() {
    let server = Server::start();
    let url = with_options(&server.url(), "lease=60s");
    let mut peers: Vec<Peer> = (0..3).map(|_| Peer::start(worker!(), &url)).collect();
    let [holder, head, behind] = peers.as_mut_slice() else { unreachable!("three") };
    take(holder, 2, 1);
    enqueue(&server, head, (2, 2), 0);
    let waiting = enqueue(&server, behind, (2, 1), 1);
    head.process().kill();
    let killed = monotonic_us();
    let got = held(behind.answer(waiting, SOON));
    assert!(got.acquired_at - killed <= us(HEAD_SILENCE + POLL * 2 + slack()), "{} us", got.acquired_at - killed);
    behind.ok("give-back 1 pool");
    holder.ok("give-back 1 pool");
    is_whole(&server, 2);
}

/// It is told and hears, and does not come.
#[test]
fn a_head_that_stands_still_is_passed_and_served_later() {
    let server = Server::start();
    let url = with_options(&server.url(), "lease=60s");
    let mut peers: Vec<Peer> = (0..3).map(|_| Peer::start(worker!(), &url)).collect();
    let [holder, head, behind] = peers.as_mut_slice() else { unreachable!("three") };
    take(holder, 2, 2);
    let its_request = enqueue(&server, head, (2, 2), 0);
    let waiting = enqueue(&server, behind, (2, 1), 1);
    head.process().pause();
    holder.ok("give-back 1 pool");
    let released = monotonic_us();
    let got = held(behind.answer(waiting, SOON));
    assert!(got.acquired_at - released <= us(HEAD_SILENCE + POLL + slack()), "{} us", got.acquired_at - released);
    head.process().resume();
    assert_eq!(head.answer_within(its_request, POLL), None, "one of the two is taken");
    behind.ok("give-back 1 pool");
    let released = monotonic_us();
    let got = held(head.answer(its_request, SOON));
    assert!(got.acquired_at - released <= us(slack()), "it stood in the queue again, and a message woke it");
    head.ok("give-back 1 pool");
    is_whole(&server, 2);
}

#[test]
fn a_holder_stopped_beyond_its_lease_touches_no_other_permit() {
    let server = Server::start();
    let mut holder = Peer::start(worker!(), &with_options(&server.url(), "lease=1s"));
    let mut other = Peer::start(worker!(), &with_options(&server.url(), "lease=30s"));
    let first = take(&mut holder, 2, 2);
    holder.process().pause();
    let second = take(&mut other, 2, 1);
    assert!(second.acquired_at >= first.valid_until, "more permits are held than there are");
    holder.process().resume();
    let loss = holder.loss(SOON);
    assert_eq!((loss.name.as_str(), loss.reason.as_str()), ("pool", "expired"));
    assert_eq!(holder.ok("takes 1 pool"), ["false"]);
    let (kind, _) = holder.call("give-back 1 pool").expect_err("a stale release");
    assert_eq!(kind, "NOT_HELD");
    assert_eq!((available(&server), taken(&server)), (1, 1));
    assert_eq!(other.ok("takes 1 pool"), ["true"]);
    other.ok("give-back 1 pool");
    is_whole(&server, 2);
}

#[test]
fn after_an_empty_restart_the_number_is_right_again() {
    let mut server = Server::start();
    let url = with_options(&server.url(), "lease=3s");
    let (mut holder, mut waiter) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    take(&mut holder, 2, 2);
    let waiting = enqueue(&server, &mut waiter, (2, 2), 0);
    server.restart(Data::Lost);
    let gone = monotonic_us();
    let second = held(waiter.answer(waiting, SOON));
    assert!(second.acquired_at - gone <= us(POLL + slack()), "{} us", second.acquired_at - gone);
    let loss = holder.loss(SOON);
    assert!(["deleted", "server_changed"].contains(&loss.reason.as_str()), "{}", loss.reason);
    holder.call("give-back 1 pool").expect_err("there is nothing to give back");
    assert_eq!((available(&server), taken(&server)), (0, 2), "the second hold is untouched");
    waiter.ok("give-back 1 pool");
    is_whole(&server, 2);
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
        let warm = client.semaphore("warm", 1).expect("a name").acquire().await.expect("acquire");
        warm.release().await.expect("release");
        Cut { server, proxy, client }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_acquire_takes_no_second_permit() {
    let Cut { server, proxy, client } = Cut::new().await;
    let pool = client.semaphore("pool", 5).expect("a name");
    for bytes in 0..40 {
        let fault = proxy.on(&["EVALSHA", "pool"], Action::CutReply(bytes));
        let held = bounded(SOON, "the retry succeeds", pool.acquire_many(3)).await.expect("acquire");
        assert_eq!(fault.hits(), 1, "the fault was met");
        assert_eq!((available(&server), taken(&server)), (2, 3), "cut at {bytes}");
        proxy.on(&["EVALSHA", "pool"], Action::CutReply(bytes));
        bounded(SOON, "the release returns", held.release()).await.expect("a done release is no error");
        // What was cut behind the end of this reply meets the next one.
        bounded(SOON, "inspect", pool.inspect()).await.expect("inspect");
        assert_eq!((available(&server), taken(&server)), (5, 0), "cut at {bytes}");
    }
}

/// Of a non-blocking attempt too, and of one that had to wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_grant_of_a_waiter_is_given_once() {
    let Cut { server, proxy, client } = Cut::new().await;
    let pool = client.semaphore("pool", 2).expect("a name");
    for _ in 0..10 {
        proxy.on(&["EVALSHA", "pool"], Action::CutReply(0));
        let held = bounded(SOON, "a try", pool.try_acquire_many(2)).await.expect("no error").expect("they are there");
        assert_eq!((available(&server), taken(&server)), (0, 2));
        let waiter = tokio::spawn({
            let pool = pool.clone();
            async move { pool.acquire().await }
        });
        while server.cmd(&["ZCARD", QUEUE]).int() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let direct = libdlock_faults::client(&server.url()).await.semaphore("pool", 2).expect("a name");
        direct.set_permits(3).await.expect("one more");
        proxy.on(&["EVALSHA", "pool"], Action::CutReply(0));
        let next = bounded(SOON, "the waiter", waiter).await.expect("no panic").expect("acquire");
        assert_eq!((available(&server), taken(&server)), (0, 3));
        proxy.heal();
        next.release().await.expect("release");
        held.release().await.expect("release");
        direct.set_permits(2).await.expect("as before");
        is_whole(&server, 2);
    }
}

const HOLDERS: usize = 2;
const ROUNDS: usize = 40;
const TOTAL: i64 = 3;

/// Holders of several processes that take one to all permits in turn.
fn turns(url: &str) -> Turns {
    Turns::start(worker!(), url, HOLDERS, |holder| format!("take-turns {holder} pool {TOTAL} {ROUNDS}"))
}

#[test]
fn processes_never_hold_more_than_there_are() {
    let server = Server::start();
    let holds = turns(&server.url()).finish(0);
    assert_eq!(holds.len(), PROCESSES * HOLDERS * ROUNDS);
    assert_eq!(most_at_once(&holds), TOTAL as u64);
    is_whole(&server, TOTAL);
}

#[test]
fn permits_of_killed_processes_are_held_by_nobody_else() {
    let server = Server::start();
    let mut turns = turns(&with_options(&server.url(), "lease=500ms"));
    turns.kill_two(&server, 60);
    let holds = turns.finish(2);
    assert!(holds.len() >= 2 * HOLDERS * ROUNDS);
    assert_eq!(most_at_once(&holds), TOTAL as u64);
    a_newcomer_gets_all(&server, TOTAL);
}

#[test]
fn lost_replies_and_reset_connections_cost_no_permit() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let mut turns = turns(&with_options(&proxy.url(), "lease=5s&response_timeout=500ms"));
    let holds = turns.finish_disturbed(&server, &proxy, "pool", SOON * 3);
    assert_eq!(holds.len(), PROCESSES * HOLDERS * ROUNDS);
    assert_eq!(most_at_once(&holds), TOTAL as u64);
    is_whole(&server, TOTAL);
}
