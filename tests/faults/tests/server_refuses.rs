//! The server answers, and refuses for a while. No caller gets an error before its own deadline.

use std::time::{Duration, Instant};

use libdlock::lease::{AcquireOptions, HolderId, Lease};
use libdlock::{Client, ErrorKind, Wait};
use libdlock_faults::{SOON, acquire, bounded, client, is_held, slack, wait_until_waiting, with_options};
use libdlock_testkit::{Conn, Proxy, Reply, Server, Side, eventually, within};

const LEASE: Duration = Duration::from_secs(6);
const OPTIONS: &str = "lease=6s&response_timeout=300ms";
/// How long the server refuses, in a normal run.
const A_WHILE: Duration = Duration::from_millis(1_200);
/// A refused request is sent again after pauses that double up to this, give or take.
const PAUSE: Duration = Duration::from_millis(750);

#[derive(Clone, Copy, Debug)]
enum Refusal {
    /// A replica takes no writes.
    ReadOnly,
    /// A replica that has lost its master, and is told to say so.
    MasterDown,
    Loading,
    ClusterDown,
    /// A script runs.
    Busy,
}

struct Setup {
    server: Server,
    refusal: Refusal,
    length: Duration,
    /// On which the server has yet to answer.
    waiting: Option<Conn>,
}

impl Setup {
    fn new(refusal: Refusal, length: Duration) -> Self {
        let args: &[&str] = match refusal {
            Refusal::ReadOnly => &[],
            Refusal::MasterDown => &["--replica-serve-stale-data", "no"],
            Refusal::Loading => &["--rdbcompression", "no"],
            // It comes up again after its node time-out.
            Refusal::ClusterDown => &["--cluster-enabled", "yes", "--cluster-node-timeout", "500"],
            Refusal::Busy => &["--lua-time-limit", "100"],
        };
        let server = Server::options().args(args).debug_command().start();
        let setup = Self { server, refusal, length, waiting: None };
        if let Refusal::ClusterDown = refusal {
            setup.cluster_up();
        }
        setup
    }

    fn cluster_up(&self) {
        self.server.every_slot("ADDSLOTS");
        eventually(SOON, "the cluster is up", || {
            self.server.cmd(&["CLUSTER", "INFO"]).text().contains("cluster_state:ok")
        });
    }

    /// From here on it refuses; for the length, or until `end`.
    fn begin(&mut self) {
        let send = |command: &[&str]| {
            let mut conn = self.server.connect();
            conn.read_timeout(Some(self.length + SOON)).expect("a bound");
            conn.send(command).expect("send");
            Some(conn)
        };
        match self.refusal {
            Refusal::ReadOnly | Refusal::MasterDown => {
                assert_eq!(self.server.cmd(&["REPLICAOF", "127.0.0.1", "1"]).text(), "OK");
            }
            Refusal::Loading => {
                // It looks up from its work once in 2 MiB, and pauses after each key. How often it looks is an option from 7.0 on only.
                const KEYS: u32 = 30;
                let ballast = "x".repeat(2 << 20);
                for n in 0..KEYS {
                    self.server.cmd(&["SET", &format!("ballast-{n}"), &ballast]);
                }
                let delay = (self.length / KEYS).as_micros().to_string();
                assert_eq!(self.server.cmd(&["CONFIG", "SET", "key-load-delay", &delay]).text(), "OK");
                self.waiting = send(&["DEBUG", "RELOAD"]);
            }
            Refusal::ClusterDown => self.server.every_slot("DELSLOTS"),
            Refusal::Busy => {
                let spin = "local function now() local t = redis.call('TIME') return t[1] * 1e6 + t[2] end \
                            local to = now() + ARGV[1] while now() < to do end return 'over'";
                self.waiting = send(&["EVAL", spin, "0", &self.length.as_micros().to_string()]);
            }
        }
        let code = match self.refusal {
            Refusal::ReadOnly => "READONLY",
            Refusal::MasterDown => "MASTERDOWN",
            Refusal::Loading => "LOADING",
            Refusal::ClusterDown => "CLUSTERDOWN",
            Refusal::Busy => "BUSY",
        };
        let mut conn = self.server.connect();
        eventually(SOON, "it refuses", || {
            let reply = match self.refusal {
                // A write is refused for another reason first.
                Refusal::MasterDown => conn.cmd(&["GET", "probe"]),
                _ => conn.cmd(&["SET", "probe", "x"]),
            };
            let reply = reply.expect("a reply");
            matches!(&reply, Reply::Error(error) if error.starts_with(code))
        });
    }

    fn end(&mut self) {
        match self.refusal {
            Refusal::ReadOnly | Refusal::MasterDown => {
                assert_eq!(self.server.cmd(&["REPLICAOF", "NO", "ONE"]).text(), "OK");
            }
            Refusal::ClusterDown => self.cluster_up(),
            Refusal::Loading | Refusal::Busy => {
                let reply = self.waiting.as_mut().expect("begun").read().expect("it ends");
                assert!(["OK", "over"].contains(&reply.text()), "{reply:?}");
            }
        }
    }
}

/// Everything that is asked for meanwhile is done when it is over, and what was held is held.
async fn nobody_hears_of_it(refusal: Refusal, length: Duration) {
    let mut setup = Setup::new(refusal, length);
    let url = with_options(&setup.server.url(), OPTIONS);
    let (one, other): (Client, Client) = (client(&url).await, client(&url).await);
    let lock = |client: &Client, name: &str| client.lock(name).expect("a name");
    let kept = lock(&one, "kept").acquire().await.expect("acquire");
    let passed = lock(&one, "passed").acquire().await.expect("acquire");
    let waiting = lock(&other, "passed");
    let waiting = tokio::spawn(async move { waiting.acquire_timeout(SOON * 2).await });
    wait_until_waiting(&setup.server, "passed");

    let began = Instant::now();
    setup.begin();
    let (tried, timed) = (lock(&one, "tried"), lock(&other, "timed"));
    let tried = tokio::spawn(async move { tried.try_acquire().await });
    let timed = tokio::spawn(async move { timed.acquire_timeout(SOON * 2).await });
    let released = tokio::spawn(passed.release());
    let left = length.saturating_sub(began.elapsed());
    let unanswered = || !tried.is_finished() && !timed.is_finished() && !released.is_finished();
    if matches!(refusal, Refusal::ReadOnly | Refusal::MasterDown | Refusal::ClusterDown) {
        assert!(!within(left, || !unanswered()), "somebody heard of {refusal:?} before it was over");
    }
    setup.end();
    let over = PAUSE + slack();
    let held = bounded(over, "tried", tried).await.expect("no panic").expect("no error").expect("it is free");
    held.release().await.expect("release");
    let held = bounded(over, "timed", timed).await.expect("no panic").expect("no error");
    held.release().await.expect("release");
    bounded(over, "released", released).await.expect("no panic").expect("no error");
    // Told by the release, or by the timer of an attempt that failed: a tenth of a second.
    let held = bounded(over + PAUSE, "passed on", waiting).await.expect("no panic").expect("no error");
    held.release().await.expect("release");
    assert_eq!(kept.loss(), None);
    assert!(kept.is_valid());
    eventually(LEASE, "its renewals go on", || kept.remaining() > LEASE * 3 / 4);
    kept.release().await.expect("release");
    for name in ["kept", "passed", "tried", "timed"] {
        assert!(!is_held(&setup.server, name), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_read_only_for_a_while_is_no_error() {
    nobody_hears_of_it(Refusal::ReadOnly, A_WHILE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_without_its_master_for_a_while_is_no_error() {
    nobody_hears_of_it(Refusal::MasterDown, A_WHILE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_loads_its_data_for_a_while_is_no_error() {
    nobody_hears_of_it(Refusal::Loading, A_WHILE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_is_down_for_a_while_is_no_error_to_anybody() {
    nobody_hears_of_it(Refusal::ClusterDown, A_WHILE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_busy_with_a_script_for_a_while_is_no_error() {
    nobody_hears_of_it(Refusal::Busy, A_WHILE).await;
}

/// Renewals come while the server takes no writes: a second after the acquires. Each kind has a client of its own, because what is
/// refused to one kind keeps the others from asking.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_hold_is_lost_to_a_server_read_only_for_a_while() {
    let mut setup = Setup::new(Refusal::ReadOnly, A_WHILE);
    let url = with_options(&setup.server.url(), "lease=3s&response_timeout=300ms");
    let clients = [client(&url).await, client(&url).await, client(&url).await, client(&url).await];
    let holder = HolderId::fresh();
    let lock = clients[0].lock("job").expect("a name").acquire().await.expect("acquire");
    let pool = clients[1].semaphore("pool", 3).expect("a name");
    let permits = pool.acquire_as(holder, 2, AcquireOptions::default()).await.expect("acquire");
    let read = clients[2].rw_lock("page").expect("a name").read().acquire().await.expect("acquire");
    let write = clients[3].rw_lock("book").expect("a name").write().acquire().await.expect("acquire");
    let of_permits = pool.grant_of(holder).expect("held");
    setup.begin();
    let lost = || lock.loss().or(of_permits.loss()).or(read.loss()).or(write.loss());
    assert!(!within(A_WHILE, || lost().is_some()), "lost: {:?}", lost());
    setup.end();
    let all = || [lock.remaining(), permits.remaining(), read.remaining(), write.remaining()];
    eventually(SOON, "renewals go on", || all().iter().all(|left| *left > Duration::from_secs(2)));
    assert_eq!(lost(), None);
    lock.release().await.expect("release");
    permits.release().await.expect("release");
    read.release().await.expect("release");
    write.release().await.expect("release");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_shorter_than_the_refusal_hears_of_it_at_its_end() {
    const WAIT: Duration = Duration::from_millis(600);
    let mut setup = Setup::new(Refusal::ReadOnly, A_WHILE);
    let url = with_options(&setup.server.url(), "response_timeout=300ms&operation_timeout=600ms");
    let client = client(&url).await;
    let lock = client.lock("job").expect("a name");
    setup.begin();
    for wait in [Wait::Try, Wait::For(WAIT)] {
        let began = Instant::now();
        let error = acquire(&lock, HolderId::fresh(), wait, None).await.expect_err("refused");
        let took = began.elapsed();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Server, true), "{error}");
        assert!(error.message().contains("READONLY"), "{error}");
        assert!(took <= WAIT + slack() && took >= WAIT / 2, "{wait:?} took {took:?}");
    }
    setup.end();
    assert!(!is_held(&setup.server, "job"));
    lock.acquire().await.expect("acquire").release().await.expect("release");
}

/// A request for a caller whose wait is over goes on for a moment: its end is not that of the next caller.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_refused_for_a_time_he_has_not_waited() {
    const LIMIT: Duration = Duration::from_millis(600);
    let mut setup = Setup::new(Refusal::ReadOnly, A_WHILE);
    let url = with_options(&setup.server.url(), "response_timeout=300ms&operation_timeout=600ms");
    let client = client(&url).await;
    let lock = client.lock("job").expect("a name");
    setup.begin();
    let first = lock.clone();
    let first = tokio::spawn(async move { first.acquire().await });
    // Well after the first caller began, well before its end.
    let later = lock.clone();
    let later = tokio::spawn(async move {
        tokio::time::sleep(LIMIT / 2).await;
        let began = Instant::now();
        (later.acquire().await, began.elapsed())
    });
    let refused = bounded(SOON, "the first caller's end", first).await.expect("no panic").expect_err("refused");
    assert_eq!(refused.kind(), ErrorKind::Server, "{refused}");
    let (refused, took) = bounded(SOON, "the other's end", later).await.expect("no panic");
    assert!(took >= LIMIT, "refused after {took:?}: {refused:?}");
    assert!(refused.is_err_and(|error| error.kind() == ErrorKind::Server));
    setup.end();
    lock.acquire().await.expect("acquire").release().await.expect("release");
}

/// The answer comes when the lease that it grants is over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acquire_that_outlasts_its_lease_is_refused_and_given_back() {
    const SHORT: Option<Lease> = Some(Lease::Fixed(Duration::from_millis(200)));
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = client(&with_options(&proxy.url(), "response_timeout=2s")).await;
    let lock = client.lock("job").expect("a name");
    let me = HolderId::fresh();
    proxy.delay(Side::Replies, Duration::from_millis(400));
    let tried = bounded(SOON, "an answer", acquire(&lock, me, Wait::Try, SHORT)).await;
    let error = tried.expect_err("no hold that is over already");
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.message().contains("to answer, too long for a lease of 200ms"), "{error}");
    let waiting = acquire(&lock, me, Wait::For(Duration::from_millis(1_500)), SHORT);
    let error = bounded(SOON, "an answer", waiting).await.expect_err("no hold that is over already");
    assert!(matches!(error.kind(), ErrorKind::Busy | ErrorKind::Connection), "{error}");
    proxy.heal();
    eventually(SOON, "nothing is left", || server.keys() == ["redisson_lock_token:{job}"]);
    let grant = bounded(SOON, "and now in time", acquire(&lock, me, Wait::Try, None)).await.expect("acquire");
    assert!(grant.is_valid());
    lock.release_as(me).await.expect("release");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: make check-long"]
async fn a_script_of_seven_seconds_is_no_error_to_anybody() {
    // longer than a hold can go without a renewal here: so with a longer lease
    let mut setup = Setup::new(Refusal::Busy, Duration::from_secs(7));
    let client = client(&setup.server.url()).await;
    let lock = client.lock("job").expect("a name");
    setup.begin();
    let began = Instant::now();
    let held = bounded(SOON, "acquired", lock.acquire()).await.expect("no error");
    assert!(began.elapsed() > Duration::from_secs(5), "it was refused meanwhile");
    setup.end();
    held.release().await.expect("release");
}
