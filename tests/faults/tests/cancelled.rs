//! Callers that give up between request and reply leave nothing behind.

use std::time::Duration;

use libdlock::Client;
use libdlock_faults::{SOON, bounded, client, waiters, with_options};
use libdlock_testkit::{Action, Proxy, Server, Side, eventually, within};
use tokio::task::JoinSet;

/// No lock's key, and so no owner field, is left.
fn no_lock_is_left(server: &Server) -> bool {
    server.keys().iter().all(|key| key.starts_with("redisson_lock_token:"))
}

/// Starts `count` acquires, each on a lock that `name` gives it, and cancels them all when `sent` of their requests are
/// at the server and none of the replies is back.
async fn cancel_storm(count: usize, sent: u64, name: impl Fn(usize) -> String) {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    // far above what the storm takes: no attempt is to be repeated in it
    let client: Client = client(&with_options(&proxy.url(), "response_timeout=30s&lease=60s&poll_interval=30s")).await;
    client.lock("warm").expect("a name").acquire().await.expect("acquire").release().await.expect("release");

    let requests = proxy.on_each(&["EVALSHA", "storm"], Action::Pass);
    proxy.hold(Side::Replies);
    let mut callers = JoinSet::new();
    for n in 0..count {
        let lock = client.lock(&name(n)).expect("a name");
        callers.spawn(async move { lock.acquire().await.map(drop) });
    }
    assert!(requests.wait_for(sent, SOON * 3), "{} of {sent} requests were sent", requests.hits());
    eventually(SOON, "the server has granted one of them at least", || !no_lock_is_left(&server));
    callers.abort_all();
    while callers.join_next().await.is_some() {}
    proxy.heal();

    // far less than the lease and the poll: the late grants are released, they do not expire
    eventually(SOON * 2, "no lock is left", || no_lock_is_left(&server));
    // and no straggler takes one after that
    assert!(!within(Duration::from_millis(200), || !no_lock_is_left(&server)));
    let again = client.lock(&name(0)).expect("a name");
    bounded(SOON, "the lock is free", again.acquire()).await.expect("acquire").release().await.expect("release");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_cancelled_callers_of_as_many_locks_leave_no_key() {
    cancel_storm(10_000, 10_000, |n| format!("storm-{n}")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_cancelled_callers_of_one_lock_leave_no_key() {
    // one contends for all of them
    cancel_storm(10_000, 1, |_| "storm".into()).await;
}

/// The caller has gone at its own deadline; the attempt is at the server, and its reply never comes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acquire_that_timed_out_without_a_reply_leaves_no_key() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client: Client = client(&with_options(&proxy.url(), "response_timeout=300ms&lease=60s")).await;
    client.lock("warm").expect("a name").acquire().await.expect("acquire").release().await.expect("release");
    proxy.hold(Side::Replies);
    let lock = client.lock("job").expect("a name");
    lock.acquire_timeout(Duration::from_millis(200)).await.map(drop).expect_err("no reply, no hold");
    // The token outlives the hold, which the undoing may have taken back already: requests still pass.
    assert_eq!(server.cmd(&["EXISTS", "redisson_lock_token:{job}"]).int(), 1, "the server has granted it");
    proxy.heal();
    eventually(SOON, "no lock is left", || no_lock_is_left(&server));
}

/// It was handed the lock, by its own process or by the server, and is gone before it looks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_gone_when_it_is_handed_the_lock_gives_it_back() {
    let server = Server::start();
    let url = with_options(&server.url(), "lease=60s&poll_interval=30s&cohort_age=10s");
    let (here, elsewhere): (Client, Client) = (client(&url).await, client(&url).await);
    let (mine, theirs) = (here.lock("job").expect("a name"), elsewhere.lock("job").expect("a name"));
    let owner = || server.cmd(&["HKEYS", "job"]).array().first().map(|owner| owner.text().to_owned());
    for by_the_server in [true, false] {
        let held = theirs.acquire().await.expect("acquire");
        let (mut first, mut second) = (Box::pin(mine.acquire()), Box::pin(mine.acquire()));
        // Their first request is sent by whoever looks at them.
        for waiting in [&mut first, &mut second] {
            while waiters(&server, "job") == 0 {
                let looked = tokio::time::timeout(Duration::from_millis(5), &mut *waiting).await;
                assert!(looked.is_err(), "it is held");
            }
            assert!(poll(waiting), "it is held");
        }
        let before = owner();
        held.release().await.expect("release");
        let gone = if by_the_server {
            eventually(SOON, "it was handed on", || owner().is_some_and(|owner| Some(owner) != before));
            // Nothing outside shows when the answer has come: too short a pause only makes the test easier to pass.
            tokio::time::sleep(Duration::from_millis(30)).await;
            first
        } else {
            let held = bounded(SOON, "served", first).await.expect("acquire");
            let before = owner();
            held.release().await.expect("release");
            assert_eq!(owner(), before, "it was handed on within the process");
            // The one that was served is gone already.
            Box::pin(mine.acquire())
        };
        drop(gone);
        drop(second);
        let held = bounded(SOON, "it is free", theirs.acquire()).await.expect("acquire");
        held.release().await.expect("release");
    }
    eventually(SOON, "nothing is left", || no_lock_is_left(&server));
}

/// The server has granted it, in the queue, and the answer finds nobody who waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_gives_up_as_it_is_served_leaves_nobody_holding() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let options = "lease=60s&poll_interval=30s&response_timeout=30s";
    let (waiting, holding): (Client, Client) =
        (client(&with_options(&proxy.url(), options)).await, client(&with_options(&server.url(), options)).await);
    let held = holding.lock("job").expect("a name").acquire().await.expect("acquire");
    let lock = waiting.lock("job").expect("a name");
    let waiter = tokio::spawn(async move { lock.acquire().await.map(drop) });
    eventually(SOON, "it waits", || waiters(&server, "job") == 1);
    let grant = proxy.on(&["EVALSHA", "job"], Action::HoldReply);
    held.release().await.expect("release");
    grant.expect(SOON);
    eventually(SOON, "the server has granted it", || !no_lock_is_left(&server));
    waiter.abort();
    assert!(waiter.await.is_err_and(|e| e.is_cancelled()));
    grant.let_go();
    eventually(SOON, "no lock is left", || no_lock_is_left(&server));
}

/// Looks at a future once; whether it has to wait.
fn poll(future: &mut (impl Future + Unpin)) -> bool {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    std::pin::Pin::new(future).poll(&mut context).is_pending()
}

/// A caller that gives up in the queue, in front of another one, must not keep the lock from it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_cancelled_while_it_waits_hands_its_place_on() {
    let server = Server::start();
    let client: Client = client(&with_options(&server.url(), "poll_interval=30s")).await;
    let lock = client.lock("job").expect("a name");
    for _ in 0..50 {
        let held = lock.acquire().await.expect("acquire");
        let mut waiting = Vec::new();
        for _ in 0..3 {
            let lock = lock.clone();
            waiting.push(tokio::spawn(async move { lock.acquire().await }));
            tokio::task::yield_now().await;
        }
        let last = waiting.pop().expect("three");
        held.release().await.expect("release");
        // at this very moment the first of them is being served
        waiting.iter().for_each(|w| w.abort());
        // one of them may have been served already: with its handle goes its guard, which releases
        drop(waiting);
        let held = bounded(SOON, "the one that stayed", last).await.expect("no panic").expect("acquire");
        held.release().await.expect("release");
        eventually(SOON, "nothing is left", || no_lock_is_left(&server));
    }
}
