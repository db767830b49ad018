//! The connection breaks after the server has done its work and before the client knows.

use std::time::Duration;

use libdlock::Client;
use libdlock_faults::{Peer, SOON, bounded, channel, client, is_held, wait_until_waiting, with_options, worker};
use libdlock_testkit::{Action, Conn, Proxy, Server, eventually, proxy::Match, wait::monotonic_us};

struct Setup {
    server: Server,
    proxy: Proxy,
    client: Client,
}

impl Setup {
    async fn new() -> Self {
        let server = Server::start();
        let proxy = Proxy::start(server.address());
        let client = client(&proxy.url()).await;
        // the server knows the scripts from here on: the faults meet EVALSHA's real reply, not NOSCRIPT
        client.lock("warm").expect("a name").acquire().await.expect("acquire").release().await.expect("release");
        Self { server, proxy, client }
    }

    /// The next script that names the lock is executed, and of its reply `bytes` pass before the connection breaks.
    fn cut(&self, name: &str, bytes: usize) -> Match {
        self.proxy.on(&["EVALSHA", name], Action::CutReply(bytes))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acquire_whose_reply_is_lost_is_granted_once() {
    let setup = Setup::new().await;
    for round in 0..20 {
        let name = format!("job-{round}");
        let lock = setup.client.lock(&name).expect("a name");
        let fault = setup.cut(&name, 0);
        let held = bounded(SOON, "the retry succeeds", lock.acquire()).await.expect("acquire");
        assert_eq!(fault.hits(), 1, "the fault was met");
        let fields = setup.server.cmd(&["HGETALL", &name]);
        let fields: Vec<&str> = fields.array().iter().map(|f| f.text()).collect();
        assert_eq!(fields, [held.owner(), "1"], "one field, this attempt's, counted once");
        held.release().await.expect("release");
        assert!(!is_held(&setup.server, &name), "one release frees it");
    }
}

/// The first attempt was granted, its reply lost; its repeat comes too late by the server's clock, which has jumped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_try_is_not_told_busy_by_its_own_lost_grant() {
    let (server, clock) = Server::with_clock();
    let proxy = Proxy::start(server.address());
    let client = client(&with_options(&proxy.url(), "lease=60s")).await;
    client.lock("warm").expect("a name").acquire().await.expect("acquire").release().await.expect("release");
    let lock = client.lock("job").expect("a name");
    let cut = proxy.on(&["EVALSHA", "job"], Action::CutReply(0));
    let repeat = proxy.on(&["EVALSHA", "job"], Action::HoldRequest);
    let trying = tokio::spawn(async move { lock.try_acquire().await });
    repeat.expect(SOON);
    assert_eq!(cut.hits(), 1);
    clock.advance(20_000_000);
    proxy.heal();
    let held = bounded(SOON, "the try ends", trying).await.expect("no panic").expect("no error");
    held.expect("nobody else holds it").release().await.expect("release");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retried_acquire_gets_the_token_of_the_first_grant() {
    let setup = Setup::new().await;
    let lock = setup.client.lock("job").expect("a name");
    let first = setup.cut("job", 0);
    let second = setup.proxy.on(&["EVALSHA", "job"], Action::HoldRequest);
    let acquiring = tokio::spawn(async move { lock.acquire().await });
    first.expect(SOON);
    second.expect(SOON);
    let token = setup.server.cmd(&["GET", "redisson_lock_token:{job}"]).int();
    second.let_go();
    let held = bounded(SOON, "the retry succeeds", acquiring).await.expect("no panic").expect("acquire");
    assert_eq!(held.token(), token as u64);
    held.release().await.expect("release");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_whose_reply_is_lost_is_done_and_wakes_a_waiter() {
    let setup = Setup::new().await;
    let mut listener = setup.server.connect();
    for round in 0..20 {
        let name = format!("job-{round}");
        let held = setup.client.lock(&name).expect("a name").acquire().await.expect("acquire");
        listen(&mut listener, &name);
        let fault = setup.cut(&name, 0);
        bounded(SOON, "the release returns", held.release()).await.expect("a done release is no error");
        assert_eq!(fault.hits(), 1, "the fault was met");
        assert!(!is_held(&setup.server, &name));
        let message = listener.read().expect("a wake-up");
        assert_eq!(message.array()[2].text(), "0");
    }
}

/// The wake-up was sent by the step whose reply got lost; the repeat finds nothing and tells nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_whose_reply_is_lost_wakes_another_process() {
    let setup = Setup::new().await;
    let url = with_options(&setup.server.url(), "poll_interval=30s&lease=60s");
    let mut waiter = Peer::start(worker!(), &url);
    for _ in 0..10 {
        let held = setup.client.lock("job").expect("a name").acquire().await.expect("acquire");
        let waiting = waiter.start_acquire("job");
        wait_until_waiting(&setup.server, "job");
        let fault = setup.cut("job", 0);
        let called = monotonic_us();
        bounded(SOON, "the release returns", held.release()).await.expect("a done release is no error");
        assert_eq!(fault.hits(), 1, "the fault was met");
        let next = waiter.granted(waiting, SOON);
        assert!(next.acquired_at - called < 150_000, "{} us: by no timer", next.acquired_at - called);
        waiter.release("job");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_cut_at_any_byte_is_like_a_lost_one() {
    let setup = Setup::new().await;
    // longer than a reply of either script: a cut behind its end lets it pass and meets the next one
    for bytes in 1..40 {
        let name = format!("job-{bytes}");
        let lock = setup.client.lock(&name).expect("a name");
        let fault = setup.cut(&name, bytes);
        let held = bounded(SOON, "acquire", lock.acquire()).await.expect("acquire");
        assert_eq!(fault.hits(), 1);
        let seen = bounded(SOON, "inspect", lock.inspect()).await.expect("inspect");
        assert_eq!((seen.holder.as_deref(), seen.token), (Some(held.owner()), Some(held.token())), "cut at {bytes}");
        assert!(seen.ours);

        setup.cut(&name, bytes);
        bounded(SOON, "release", held.release()).await.expect("release");
        let seen = bounded(SOON, "inspect", lock.inspect()).await.expect("inspect");
        assert_eq!(seen.holder, None, "cut at {bytes}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_stays_valid_when_the_reply_to_a_renewal_is_lost() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = client(&with_options(&proxy.url(), "lease=900ms")).await;
    let held = client.lock("job").expect("a name").acquire().await.expect("acquire");
    for cut in [0, 3, 0] {
        let fault = proxy.on(&["EVAL", "job"], Action::CutReply(cut));
        assert!(fault.wait_for(1, Duration::from_millis(900)), "a renewal comes by within a lease");
    }
    eventually(SOON, "a renewal comes through", || held.remaining() > Duration::from_millis(700));
    assert_eq!(held.loss(), None);
    held.release().await.expect("release");
    assert!(!is_held(&server, "job"));
}

fn listen(conn: &mut Conn, name: &str) {
    let confirmed = conn.cmd(&["SUBSCRIBE", &channel(name)]).expect("subscribe");
    assert_eq!(confirmed.array()[0].text(), "subscribe");
}
