//! A release wakes the waiter, and no release is missed.
//!
//! The poll is set to 30 s nearly everywhere, of which whoever stands in a queue uses 10 s at most: a wake-up that is missed
//! shows as a wait of eight seconds or more.

use std::time::{Duration, Instant};

use libdlock::{Client, Held, Lock};
use libdlock_faults::{
    Peer, SOON, bounded, channel, channels, client, listeners, slack, wait_until_waiting, waiters, with_options, worker,
};
use libdlock_testkit::{Action, Proxy, Server, Side, eventually};
use tokio::task::JoinHandle;

/// A round trip and a wake-up on a machine that has other things to do; the shortest timer is sixteen times as long.
const AT_ONCE: Duration = Duration::from_millis(500);
/// A waiter asks every second, up to 20 % later.
const POLL: Duration = Duration::from_millis(1_200);
const NO_POLL: &str = "poll_interval=30s&lease=60s";
/// A Redisson client's owner field: its id is a UUID of version 4.
const FOREIGN: &str = "6e3814a1-e847-452b-a982-45baf93a1df2:1";

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
async fn a_release_under_a_broken_subscription_is_noticed_afterwards() {
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
        assert!(at - back <= POLL + slack(), "{:?} after the network was back", at - back);
        held.release().await.expect("release");
    }
    no_channel_is_left(&server);
}

/// Nothing is reset and nothing is said: only the PING that gets no answer tells.
async fn a_message_connection_falls_silent_at(silenced: &[&str]) {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let options = format!("{NO_POLL}&ping_interval=500ms&response_timeout=300ms");
    let (waiting, holding) = (client(&with_options(&proxy.url(), &options)).await, client(&server.url()).await);
    let held = holding.lock("job").expect("a name").acquire().await.expect("acquire");
    server.cmd(&["HSET", "other", FOREIGN, "1"]);
    let fault = proxy.on(silenced, Action::HoldReply);
    let job = waiter(&waiting.lock("job").expect("a name"));
    wait_until_waiting(&server, "job");
    let other = waiter(&waiting.lock("other").expect("a name"));
    fault.expect(SOON);
    let released = Instant::now();
    held.release().await.expect("release");
    server.cmd(&["DEL", "other"]);
    server.cmd(&["PUBLISH", &channel("other"), "0"]);
    for waiter in [job, other] {
        let (held, at) = bounded(SOON, "noticed", waiter).await.expect("no panic");
        // A ping's interval, its answer that does not come, and a new connection.
        assert!(at - released < Duration::from_millis(500 + 300 + 200) + slack(), "{:?}", at - released);
        held.release().await.expect("release");
    }
    proxy.heal();
    no_channel_is_left(&server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_silent_before_its_confirmation_is_replaced() {
    a_message_connection_falls_silent_at(&["SUBSCRIBE", "dlock_inbox"]).await;
}

/// The inbox was confirmed; the channel of another lock, whose holder is foreign, is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_connection_silent_later_is_replaced() {
    a_message_connection_falls_silent_at(&["SUBSCRIBE", "other"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pubsub_connection_killed_in_a_wait_costs_a_poll_at_most() {
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
        assert!(at - released <= POLL + slack(), "{:?}", at - released);
        held.release().await.expect("release");
    }
    no_channel_is_left(&server);
}

/// The waiter has seen the lock held and its SUBSCRIBE is on the way: a release at this moment is told to nobody. A client
/// subscribes to its inbox once, when it first waits: so each round has a client of its own.
async fn a_release_before_the_inbox_is_never_missed(rounds: usize) {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let holding = client(&server.url()).await;
    let lock = holding.lock("job").expect("a name");
    let mut longest = Duration::ZERO;
    for round in 0..rounds {
        let waiting = client(&with_options(&proxy.url(), NO_POLL)).await;
        let held = lock.acquire().await.expect("acquire");
        let subscribing = proxy.on(&["SUBSCRIBE", "dlock_inbox"], Action::HoldRequest);
        let waiter = waiter(&waiting.lock("job").expect("a name"));
        subscribing.expect(SOON);
        assert_eq!(waiters(&server, "job"), 0, "told to nobody");
        held.release().await.expect("release");
        let arrived = Instant::now();
        proxy.heal();
        let (held, at) = bounded(SOON, "noticed", waiter).await.expect("no panic");
        longest = longest.max(at - arrived);
        assert!(longest <= AT_ONCE, "round {round}: {longest:?} after the subscription");
        held.release().await.expect("release");
        waiting.close().await;
        // Its UNSUBSCRIBE, which may come later, is not to be what the next round's rule holds.
        eventually(SOON, "its connections have ended", || proxy.open() == 0);
    }
    no_channel_is_left(&server);
    println!("{rounds} rounds, the longest wait {longest:?}");
}

/// The same for the lock's own channel, on which the head listens while the holder is foreign.
async fn a_foreign_release_before_the_subscription_is_never_missed(rounds: usize) {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let waiting: Client = client(&with_options(&proxy.url(), NO_POLL)).await;
    let mut longest = Duration::ZERO;
    for round in 0..rounds {
        let name = format!("job-{round}");
        server.cmd(&["HSET", &name, FOREIGN, "1"]);
        let subscribing = proxy.on(&["SUBSCRIBE", &name], Action::HoldRequest);
        let waiter = waiter(&waiting.lock(&name).expect("a name"));
        subscribing.expect(SOON);
        server.cmd(&["DEL", &name]);
        assert_eq!(server.cmd(&["PUBLISH", &channel(&name), "0"]).int(), 0, "told to nobody");
        let arrived = Instant::now();
        proxy.heal();
        let (held, at) = bounded(SOON, "noticed", waiter).await.expect("no panic");
        longest = longest.max(at - arrived);
        assert!(longest <= AT_ONCE, "round {round}: {longest:?} after the subscription");
        held.release().await.expect("release");
        assert_eq!(server.cmd(&["DEL", &format!("redisson_lock_token:{{{name}}}")]).int(), 1);
    }
    no_channel_is_left(&server);
    println!("{rounds} rounds, the longest wait {longest:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_before_the_inbox_is_noticed_after_one_round_trip() {
    a_release_before_the_inbox_is_never_missed(50).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_release_before_the_subscription_is_noticed_at_once() {
    a_foreign_release_before_the_subscription_is_never_missed(100).await;
}

/// The message overtakes the answer that says that the lock is held: they are two connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_during_the_reply_of_a_failed_acquire_is_noticed() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let waiting: Client = client(&with_options(&proxy.url(), NO_POLL)).await;
    let holding = client(&server.url()).await;
    let lock = |client: &Client| client.lock("job").expect("a name");
    let held = lock(&holding).acquire().await.expect("acquire");
    // The inbox is heard from now on.
    let leaving = waiter(&lock(&waiting));
    wait_until_waiting(&server, "job");
    leaving.abort();
    assert!(leaving.await.is_err_and(|e| e.is_cancelled()));
    eventually(SOON, "it has left", || waiters(&server, "job") == 0);

    let failed = proxy.on(&["EVALSHA", "job"], Action::HoldReply);
    let coming = waiter(&lock(&waiting));
    failed.expect(SOON);
    wait_until_waiting(&server, "job");
    let forwarded = proxy.bytes(Side::Replies);
    held.release().await.expect("release");
    eventually(SOON, "the message has come by", || proxy.bytes(Side::Replies) > forwarded);
    // Nothing outside shows when the process has dealt with what it got: too short a pause only makes the test easier to pass.
    tokio::time::sleep(Duration::from_millis(30)).await;
    let back = Instant::now();
    failed.let_go();
    let (held, at) = bounded(SOON, "noticed", coming).await.expect("no panic");
    assert!(at - back <= AT_ONCE, "{:?}", at - back);
    held.release().await.expect("release");
    no_channel_is_left(&server);
}

/// The process stays subscribed to the lock's channel from one head to the next; the new one must not take that for news to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_release_while_waiters_change_is_noticed() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let waiting: Client = client(&with_options(&proxy.url(), NO_POLL)).await;
    let lock = |name: &str| waiting.lock(name).expect("a name");
    ["job", "other"].iter().for_each(|name| drop(server.cmd(&["HSET", name, FOREIGN, "1"])));
    let hears = |name: &str| listeners(&server, &channel(name)) == 1;

    let leaving = waiter(&lock("job"));
    eventually(SOON, "the head listens", || hears("job"));
    // the next subscription gets stuck, and what keeps them in order with it
    let stuck = proxy.on(&["SUBSCRIBE", "other"], Action::HoldRequest);
    let other = waiter(&lock("other"));
    stuck.expect(SOON);
    leaving.abort();
    assert!(leaving.await.is_err_and(|e| e.is_cancelled()));
    eventually(SOON, "it has left", || server.cmd(&["EXISTS", "dlock_queue:{job}"]).int() == 0);
    let failed = proxy.on(&["EVALSHA", "job"], Action::HoldReply);
    let coming = waiter(&lock("job"));
    failed.expect(SOON);
    // its request has failed on the server, and it does not know yet; now the lock comes free
    eventually(SOON, "the request was executed", || server.cmd(&["EXISTS", "dlock_queue:{job}"]).int() == 1);
    let forwarded = proxy.bytes(Side::Replies);
    server.cmd(&["DEL", "job"]);
    assert_eq!(server.cmd(&["PUBLISH", &channel("job"), "0"]).int(), 1);
    eventually(SOON, "the message has come by", || proxy.bytes(Side::Replies) > forwarded);
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
    server.cmd(&["DEL", "other"]);
    server.cmd(&["PUBLISH", &channel("other"), "0"]);
    bounded(SOON, "the other", other).await.expect("no panic").0.release().await.expect("release");
    no_channel_is_left(&server);
}

#[test]
fn a_closed_client_listens_to_nothing() {
    let server = Server::start();
    let url = with_options(&server.url(), NO_POLL);
    let (mut holder, mut waiter) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    holder.acquire("job");
    let waiting = waiter.start_acquire("job");
    wait_until_waiting(&server, "job");
    waiter.ok("close");
    waiter.answer(waiting, SOON).expect_err("closed while it waited");
    eventually(SOON, "no channel is left but the holder's inbox", || {
        server.cmd(&["PUBSUB", "CHANNELS"]).array().len() == 1
    });
    eventually(SOON, "nor a place in the queue", || server.cmd(&["EXISTS", "dlock_queue:{job}"]).int() == 0);
    holder.release("job");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: make check-long"]
async fn two_thousand_releases_before_the_inbox_are_all_noticed() {
    a_release_before_the_inbox_is_never_missed(2_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: make check-long"]
async fn ten_thousand_foreign_releases_are_all_noticed() {
    a_foreign_release_before_the_subscription_is_never_missed(10_000).await;
}
