//! faults.md 16, 17 and the promise behind them: a release wakes the waiter, and no release is missed.
//!
//! The poll is set to 30 s nearly everywhere, so that a wake-up that is missed shows as a wait of half a minute.

use std::time::{Duration, Instant};

use libdlock::{Client, Held, Lock};
use libdlock_faults::{
    Peer, SLACK, SOON, bounded, channels, client, wait_until_waiting, waiters, with_options, worker,
};
use libdlock_testkit::{Action, Proxy, Server, Side, eventually};
use tokio::task::JoinHandle;

/// A round trip and a wake-up on a busy machine, far below every poll.
const AT_ONCE: Duration = Duration::from_millis(150);
/// A waiter asks every second, up to 20 % later.
const POLL: Duration = Duration::from_millis(1_200);
const NO_POLL: &str = "poll_interval=30s&lease=60s";

fn waiter(lock: &Lock) -> JoinHandle<(Held, Instant)> {
    let lock = lock.clone();
    tokio::spawn(async move {
        let held = lock.acquire().await.expect("acquire");
        (held, Instant::now())
    })
}

/// Nobody listens any more, once nobody waits.
#[track_caller]
fn no_channel_is_left(server: &Server) {
    eventually(SOON, "no channel is left", || channels(server).is_empty());
}

#[test]
fn a_release_in_one_process_wakes_the_waiter_in_another_at_once() {
    let server = Server::start();
    let url = with_options(&server.url(), NO_POLL);
    let (mut a, mut b) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    for _ in 0..20 {
        let held = a.acquire("job");
        let waiting = b.start_acquire("job");
        wait_until_waiting(&server, "job");
        let (called, _) = a.release("job");
        let next = b.granted(waiting, SOON);
        assert!(next.acquired_at - called < AT_ONCE.as_micros() as i64, "{} us", next.acquired_at - called);
        assert!(next.token > held.token);
        b.release("job");
        eventually(SOON, "nobody waits", || waiters(&server, "job") == 0);
    }
    no_channel_is_left(&server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_while_the_subscription_is_broken_is_noticed_when_it_is_back() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let waiting: Client = client(&with_options(&proxy.url(), NO_POLL)).await;
    let holding = client(&server.url()).await;
    for _ in 0..5 {
        let held = holding.lock("job").expect("a name").acquire().await.expect("acquire");
        let waiter = waiter(&waiting.lock("job").expect("a name"));
        wait_until_waiting(&server, "job");
        proxy.refuse(true);
        assert!(server.cmd(&["CLIENT", "KILL", "TYPE", "pubsub"]).int() >= 1);
        eventually(SOON, "nobody waits", || waiters(&server, "job") == 0);
        held.release().await.expect("release");
        proxy.refuse(false);
        let back = Instant::now();
        let (held, at) = bounded(SOON, "noticed", waiter).await.expect("no panic");
        // no poll can have helped: the look after the subscription did
        assert!(at - back <= POLL + SLACK, "{:?} after the network was back", at - back);
        held.release().await.expect("release");
    }
    no_channel_is_left(&server);
}

/// Nothing is reset and nothing is said: only the PING that gets no answer tells.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_connection_that_fell_silent_is_replaced_and_the_waiter_looks_again() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let options = format!("{NO_POLL}&ping_interval=500ms&response_timeout=300ms");
    let (waiting, holding) = (client(&with_options(&proxy.url(), &options)).await, client(&server.url()).await);
    // The first is swallowed before its confirmation; "job"'s is confirmed, and swallowed with that of another lock.
    for silenced in ["SUBSCRIBE job", "SUBSCRIBE other"] {
        let held = holding.lock("job").expect("a name").acquire().await.expect("acquire");
        let others = holding.lock("other").expect("a name").acquire().await.expect("acquire");
        let fault = proxy.on(&silenced.split(' ').collect::<Vec<_>>(), Action::HoldReply);
        let job = waiter(&waiting.lock("job").expect("a name"));
        wait_until_waiting(&server, "job");
        let other = waiter(&waiting.lock("other").expect("a name"));
        wait_until_waiting(&server, "other");
        fault.expect(SOON);
        let released = Instant::now();
        held.release().await.expect("release");
        others.release().await.expect("release");
        for waiter in [job, other] {
            let (held, at) = bounded(SOON, "noticed", waiter).await.expect("no panic");
            // A ping's interval, its answer that does not come, and a new connection.
            assert!(at - released < Duration::from_millis(500 + 300 + 200) + SLACK, "{:?}", at - released);
            held.release().await.expect("release");
        }
        proxy.heal();
    }
    no_channel_is_left(&server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pubsub_connection_killed_during_a_wait_costs_no_more_than_the_poll() {
    let server = Server::start();
    let (waiting, holding) = (client(&server.url()).await, client(&server.url()).await);
    for _ in 0..5 {
        let held = holding.lock("job").expect("a name").acquire().await.expect("acquire");
        let waiter = waiter(&waiting.lock("job").expect("a name"));
        wait_until_waiting(&server, "job");
        // killed and released in one step of the server: nobody can subscribe in between
        let killed = server.cmd(&["CLIENT", "KILL", "TYPE", "pubsub"]);
        assert!(killed.int() >= 1);
        let released = Instant::now();
        held.release().await.expect("release");
        let (held, at) = bounded(SOON, "noticed", waiter).await.expect("no panic");
        assert!(at - released <= POLL + SLACK, "{:?}", at - released);
        held.release().await.expect("release");
    }
    no_channel_is_left(&server);
}

/// The waiter has seen the lock held and its SUBSCRIBE is on the way: a release at this moment is published to nobody.
async fn a_release_before_the_subscription_is_never_missed(rounds: usize) {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let waiting: Client = client(&with_options(&proxy.url(), NO_POLL)).await;
    let holding = client(&server.url()).await;
    let mut longest = Duration::ZERO;
    for round in 0..rounds {
        let name = format!("job-{round}");
        let held = holding.lock(&name).expect("a name").acquire().await.expect("acquire");
        let subscribing = proxy.on(&["SUBSCRIBE"], Action::HoldRequest);
        let naming = proxy.on(&[&name], Action::Pass);
        let waiter = waiter(&waiting.lock(&name).expect("a name"));
        // the first command that names the lock is the acquire that fails; the one after it subscribes
        naming.expect(SOON);
        subscribing.expect(SOON);
        held.release().await.expect("release");
        assert_eq!(waiters(&server, &name), 0, "published to nobody");
        let arrived = Instant::now();
        proxy.heal();
        let (held, at) = bounded(SOON, "noticed", waiter).await.expect("no panic");
        longest = longest.max(at - arrived);
        assert!(longest <= AT_ONCE, "round {round}: {longest:?} after the subscription");
        held.release().await.expect("release");
    }
    no_channel_is_left(&server);
    println!("{rounds} rounds, the longest wait {longest:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_between_the_failed_acquire_and_the_subscription_is_noticed_after_one_round_trip() {
    a_release_before_the_subscription_is_never_missed(200).await;
}

/// The process stays subscribed from one waiter to the next; the new one must not take that for an announcement to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_while_one_waiter_leaves_and_another_comes_is_noticed() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let waiting: Client = client(&with_options(&proxy.url(), NO_POLL)).await;
    let holding = client(&server.url()).await;
    let lock = |client: &Client, name: &str| client.lock(name).expect("a name");
    let (held, busy) = (lock(&holding, "job").acquire().await, lock(&holding, "other").acquire().await);
    let (held, busy) = (held.expect("acquire"), busy.expect("acquire"));

    let leaving = waiter(&lock(&waiting, "job"));
    wait_until_waiting(&server, "job");
    // the next subscription gets stuck, and what keeps them in order with it
    let stuck = proxy.on(&["SUBSCRIBE", "other"], Action::HoldRequest);
    let other = waiter(&lock(&waiting, "other"));
    stuck.expect(SOON);
    leaving.abort();
    assert!(leaving.await.is_err_and(|e| e.is_cancelled()));
    let executed = || server.info("commandstats", "cmdstat_evalsha:calls");
    let before = executed();
    let failed = proxy.on(&["EVALSHA", "job"], Action::HoldReply);
    let coming = waiter(&lock(&waiting, "job"));
    failed.expect(SOON);
    // its request has failed on the server, and it does not know yet; now the lock comes free
    eventually(SOON, "the request was executed", || executed() > before);
    let forwarded = proxy.bytes(Side::Replies);
    held.release().await.expect("release");
    eventually(SOON, "the announcement has come by", || proxy.bytes(Side::Replies) > forwarded);
    // Nothing outside shows when the process has dealt with what it got, here and below: too short a pause only makes the
    // test easier to pass.
    let pause = Duration::from_millis(30);
    tokio::time::sleep(pause).await;
    let announced = Instant::now();
    failed.let_go();
    tokio::time::sleep(pause).await;
    stuck.let_go();
    let (held, at) = bounded(SOON, "noticed", coming).await.expect("no panic");
    assert!(at - announced <= AT_ONCE + pause, "{:?}", at - announced);
    held.release().await.expect("release");
    busy.release().await.expect("release");
    bounded(SOON, "the other", other).await.expect("no panic").0.release().await.expect("release");
    no_channel_is_left(&server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: make check-long"]
async fn ten_thousand_releases_between_the_failed_acquire_and_the_subscription_are_all_noticed() {
    a_release_before_the_subscription_is_never_missed(10_000).await;
}
