//! The address leads to another server: a planned switch that closes no connection, and a restart without data.

use std::sync::Arc;
use std::time::{Duration, Instant};

use libdlock::embed::into_grant;
use libdlock::event::Level;
use libdlock::lease::{HolderId, Lease, LossReason};
use libdlock::lock::AcquireOptions;
use libdlock::{Client, Config, Wait};
use libdlock_faults::{SOON, bounded, client, is_held, slack, wait_until_waiting, with_options};
use libdlock_testkit::{Action, Proxy, Server, Side, eventually, server::Data};

/// A refused client dials again after pauses that double up to this, with jitter.
const PAUSE: Duration = Duration::from_millis(750);
/// No timer is the reason for anything here: renewals are due every 20 s, waiters look every 20 s.
const QUIET: &str = "lease=60s&poll_interval=20s&queue_poll_interval=20s";

/// A primary and its replica; the clients' address leads to the first.
struct Pair {
    old: Server,
    new: Server,
    clients: Proxy,
}

impl Pair {
    fn start() -> Self {
        let old = Server::options().args(&["--repl-diskless-sync-delay", "0"]).start();
        let new = Server::start();
        follow(&new, &old);
        let clients = Proxy::start(old.address());
        Self { old, new, clients }
    }

    /// A planned switch: everything is replicated, no connection is closed, the address leads to the new primary.
    fn switch(&self) {
        let offset = |server: &Server| server.info("replication", "master_repl_offset");
        eventually(SOON, "the replica has everything", || offset(&self.old) == offset(&self.new));
        assert_eq!(self.new.cmd(&["REPLICAOF", "NO", "ONE"]).text(), "OK");
        self.clients.point_at(self.new.address());
        follow(&self.old, &self.new);
    }

    fn on_the_old_one(&self) -> Vec<String> {
        clients_of(&self.old)
    }
}

fn follow(replica: &Server, primary: &Server) {
    let port = primary.port().to_string();
    assert_eq!(replica.cmd(&["REPLICAOF", "127.0.0.1", &port]).text(), "OK");
    eventually(SOON * 2, "the replica follows", || {
        replica.cmd(&["INFO", "replication"]).text().contains("master_link_status:up")
    });
}

/// The connections that libdlock has on a server.
fn clients_of(server: &Server) -> Vec<String> {
    let list = server.cmd(&["CLIENT", "LIST"]);
    list.text().lines().filter(|line| line.contains("name=libdlock")).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_connections_leave_a_demoted_primary() {
    let pair = Pair::start();
    let url = with_options(&pair.clients.url(), QUIET);
    let (one, other) = (client(&url).await, client(&url).await);
    let held = one.lock("job").expect("a name").acquire().await.expect("acquire");
    let waiting = other.lock("job").expect("a name");
    let waiting = tokio::spawn(async move {
        let held = waiting.acquire().await.expect("acquire");
        (held, Instant::now())
    });
    wait_until_waiting(&pair.old, "job");
    // One that may block has a connection of its own.
    let blocking = one.lock("blocking").expect("a name");
    let take = || {
        let (one, blocking) = (one.clone(), blocking.clone());
        tokio::task::spawn_blocking(move || one.block_on(async { blocking.acquire().await?.release().await }))
    };
    // Each of the two clients has one other on which scripts are run.
    let direct = || clients_of(&pair.old).iter().filter(|line| line.contains(" cmd=eval")).count() > 2;
    let begun = Instant::now();
    while !direct() {
        assert!(begun.elapsed() < SOON, "no connection for blocking calls");
        take().await.expect("no panic").expect("acquire");
    }
    pair.switch();

    let asked = Instant::now();
    for client in [&one, &other] {
        let lock = client.lock("tried").expect("a name");
        let held = bounded(PAUSE + slack(), "a try", lock.try_acquire()).await.expect("no error").expect("it is free");
        bounded(PAUSE + slack(), "a release", held.release()).await.expect("no error");
    }
    assert!(asked.elapsed() <= PAUSE + slack(), "granted after {:?}", asked.elapsed());
    // Nor that of the blocking calls, though there are none now.
    eventually(SOON, "no connection is left on the old one", || pair.on_the_old_one().is_empty());
    take().await.expect("no panic").expect("acquire");
    wait_until_waiting(&pair.new, "job");
    assert!(held.is_valid(), "replicated: {:?}", held.loss());
    let released = Instant::now();
    held.release().await.expect("release");
    let (held, granted) = bounded(SOON, "the waiter has it", waiting).await.expect("no panic");
    let took = granted.duration_since(released);
    assert!(took <= slack(), "handed over after {took:?}");
    held.release().await.expect("release");
}

/// It follows the new one, late: what it shows as held may be free by now, and somebody who only tries writes nothing that it would
/// refuse.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_try_does_not_believe_a_demoted_primary() {
    let pair = Pair::start();
    let url = with_options(&pair.clients.url(), QUIET);
    let (one, other) = (client(&url).await, client(&url).await);
    for client in [&one, &other] {
        let lock = client.lock("warm").expect("a name");
        lock.try_acquire().await.expect("no error").expect("it is free").release().await.expect("release");
        let pool = client.semaphore("pool", 1).expect("a name");
        pool.try_acquire().await.expect("no error").expect("it is free").release().await.expect("release");
    }
    pair.switch();
    let link = Proxy::start(pair.new.address());
    assert_eq!(pair.old.cmd(&["REPLICAOF", "127.0.0.1", &link.address().port().to_string()]).text(), "OK");
    let held = one.lock("tried").expect("a name").try_acquire().await.expect("no error").expect("it is free");
    let permit = one.semaphore("pool", 1).expect("a name").try_acquire().await.expect("no error").expect("it is free");
    let taken = |server: &Server| is_held(server, "tried") && server.cmd(&["ZCARD", "{pool}:timeout"]).int() == 1;
    eventually(SOON * 2, "the former primary has heard of it", || taken(&pair.old));
    link.hold(Side::Replies);
    held.release().await.expect("release");
    permit.release().await.expect("release");
    assert!(taken(&pair.old) && !is_held(&pair.new, "tried"));
    let lock = other.lock("tried").expect("a name");
    let held = bounded(PAUSE + slack(), "a try", lock.try_acquire()).await.expect("no error").expect("it is free");
    let pool = other.semaphore("pool", 1).expect("a name");
    let permit = bounded(PAUSE + slack(), "a try", pool.try_acquire()).await.expect("no error").expect("it is free");
    held.release().await.expect("release");
    permit.release().await.expect("release");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_demoted_primary_is_dialled_again_with_pauses() {
    let pair = Pair::start();
    let client = client(&with_options(&pair.clients.url(), "operation_timeout=3s")).await;
    // Demoted, and the address still leads to it.
    assert_eq!(pair.new.cmd(&["REPLICAOF", "NO", "ONE"]).text(), "OK");
    follow(&pair.old, &pair.new);
    let before = pair.clients.accepted();
    let lock = client.lock("job").expect("a name");
    let error = lock.try_acquire().await.expect_err("it takes no writes");
    assert!(error.message().contains("READONLY"), "{error}");
    let dialled = pair.clients.accepted() - before;
    assert!((2..=20).contains(&dialled), "{dialled} connections in 3 s");
}

/// The server is back, empty, before its clients have noticed much.
async fn after_a_restart_without_data(lease: Option<Lease>) -> (Duration, Option<LossReason>) {
    let mut server = Server::start();
    let client = client(&with_options(&server.url(), QUIET)).await;
    let lock = client.lock("job").expect("a name");
    let how = libdlock_faults::how(Wait::Try, lease);
    let grant = into_grant(lock.acquire_as(HolderId::fresh(), how).await.expect("acquire"));
    server.restart(Data::Lost);
    eventually(SOON, "connected again", || !clients_of(&server).is_empty());
    let again = Instant::now();
    let reason = bounded(SOON, "the holder is told", grant.lost()).await;
    assert!(!grant.is_valid());
    (again.elapsed(), reason)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_the_hold_is_noticed_on_connecting() {
    let (took, reason) = after_a_restart_without_data(None).await;
    assert_eq!(reason, Some(LossReason::ServerChanged));
    assert!(took <= slack(), "told after {took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_of_its_own_is_no_reason_to_believe_longer() {
    let (took, reason) = after_a_restart_without_data(Some(Lease::Fixed(Duration::from_secs(20)))).await;
    assert_eq!(reason, Some(LossReason::ServerChanged));
    assert!(took <= slack(), "told after {took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_server_keeps_the_lease_that_it_knows() {
    let pair = Pair::start();
    let client = client(&with_options(&pair.clients.url(), QUIET)).await;
    let lock = client.lock("job").expect("a name");
    let how = AcquireOptions::default().wait(Wait::Try).lease(Lease::Fixed(Duration::from_secs(20)));
    let grant = into_grant(lock.acquire_as(HolderId::fresh(), how).await.expect("acquire"));
    pair.switch();
    let renewals = pair.new.info("commandstats", "cmdstat_evalsha:calls");
    client.lock("tried").expect("a name").try_acquire().await.expect("no error");
    eventually(SOON, "the hold was looked at", || {
        pair.new.info("commandstats", "cmdstat_evalsha:calls") >= renewals + 2
    });
    assert!(grant.is_valid());
    let left = pair.new.cmd(&["PTTL", "job"]).int();
    assert!((10_000..=20_000).contains(&left), "{left} ms left: a given lease is never prolonged");
}

/// The server before confirms a release after the present one was promoted, which therefore never hears of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_that_only_the_old_one_heard_is_repeated() {
    let pair = Pair::start();
    let client = client(&with_options(&pair.clients.url(), QUIET)).await;
    let lock = client.lock("job").expect("a name");
    let semaphore = client.semaphore("seats", 2).expect("a name");
    let (held, permit) = (lock.acquire().await.expect("acquire"), semaphore.acquire().await.expect("acquire"));
    let offset = |server: &Server| server.info("replication", "master_repl_offset");
    eventually(SOON, "the replica has everything", || offset(&pair.old) == offset(&pair.new));
    assert_eq!(pair.new.cmd(&["REPLICAOF", "NO", "ONE"]).text(), "OK");
    held.release().await.expect("release");
    permit.release().await.expect("release");
    assert!(!is_held(&pair.old, "job") && is_held(&pair.new, "job"));
    pair.clients.point_at(pair.new.address());
    pair.clients.reset_all();
    eventually(SOON, "the lock is free", || !is_held(&pair.new, "job"));
    bounded(SOON, "both permits", semaphore.acquire_many(2)).await.expect("acquire").release().await.expect("release");
}

/// The server before grants, and its answer comes after the client has moved on and asked the present one for everything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_that_comes_after_the_move_is_looked_at() {
    let (old, new) = (Server::start(), Server::start());
    let clients = Proxy::start(old.address());
    let client = client(&with_options(&clients.url(), &format!("{QUIET}&response_timeout=8s"))).await;
    let lock = client.lock("job").expect("a name");
    eventually(SOON, "it listens", || clients_of(&old).len() == 2);
    // The script is there: the reply that is held is that of the acquire.
    client.lock("other").expect("a name").acquire().await.expect("acquire").release().await.expect("release");
    let asked = clients.on(&["EVALSHA", "job"], Action::HoldReply);
    let how = AcquireOptions::default().wait(Wait::Try).lease(Lease::Fixed(Duration::from_secs(3600)));
    let acquiring = tokio::spawn(async move { lock.acquire_as(HolderId::fresh(), how).await });
    assert!(asked.wait_for(1, SOON), "it asks");
    eventually(SOON, "the old one grants", || old.cmd(&["EXISTS", "job"]).int() == 1);
    clients.point_at(new.address());
    old.cmd(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    // A confirmed subscription asks for everything once more.
    let listens = || !new.cmd(&["PUBSUB", "CHANNELS", "dlock_inbox:*"]).array().is_empty();
    eventually(SOON, "the client has moved", || clients_of(&new).len() == 2 && listens());
    clients.heal();
    let held = bounded(SOON, "the answer", acquiring).await.expect("no panic").expect("granted");
    let lost = bounded(slack(), "the loss", held.lost()).await;
    assert_eq!(lost, Some(LossReason::ServerChanged));
}

/// The server before prolongs the lease, and its answer comes after the client has moved on: the present one has the old lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extend_answered_by_the_server_before_is_repeated() {
    let pair = Pair::start();
    let client = client(&with_options(&pair.clients.url(), &format!("{QUIET}&response_timeout=8s"))).await;
    let lock = client.lock("job").expect("a name");
    eventually(SOON, "it listens", || clients_of(&pair.old).len() == 2);
    let how = AcquireOptions::default().wait(Wait::Try).lease(Lease::Fixed(Duration::from_secs(20)));
    let held = lock.acquire_as(HolderId::fresh(), how).await.expect("acquire");
    // The script is there: the reply that is held is that of the next extend.
    held.extend(Duration::from_secs(20)).await.expect("extend");
    eventually(SOON, "the replica has it", || pair.new.cmd(&["EXISTS", "job"]).int() == 1);
    assert_eq!(pair.new.cmd(&["REPLICAOF", "NO", "ONE"]).text(), "OK");
    let asked = pair.clients.on(&["EVALSHA", "job"], Action::HoldReply);
    let extending = tokio::spawn(async move { held.extend(Duration::from_secs(3600)).await.map(|()| held) });
    assert!(asked.wait_for(1, SOON), "it asks");
    eventually(SOON, "the old one prolongs", || pair.old.cmd(&["PTTL", "job"]).int() > 3_000_000);
    pair.clients.point_at(pair.new.address());
    pair.old.cmd(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    let listens = || !pair.new.cmd(&["PUBSUB", "CHANNELS", "dlock_inbox:*"]).array().is_empty();
    eventually(SOON, "the client has moved", || clients_of(&pair.new).len() == 2 && listens());
    pair.clients.heal();
    let held = bounded(SOON, "the answer", extending).await.expect("no panic").expect("extended");
    assert!(pair.new.cmd(&["PTTL", "job"]).int() > 3_000_000, "the present server has it");
    held.release().await.expect("release");
}

/// As with two A records of one name: each new connection reaches the server that the one before it has not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_live_servers_behind_one_name_are_warned_of_once() {
    let servers = [Server::start(), Server::start()];
    let clients = Proxy::start(servers[0].address());
    let (tell, told) = std::sync::mpsc::channel();
    let mut config = Config::from_url(&clients.url()).expect("URL");
    config.on_event(Arc::new(move |event| {
        if event.level == Level::Warn && event.message.contains("several live servers") {
            let _ = tell.send(event.message.clone());
        }
    }));
    let client = Client::connect_with(config).await.expect("connected");
    let lock = client.lock("job").expect("a name");
    lock.acquire().await.expect("acquire").release().await.expect("release");
    let mut warnings = Vec::new();
    for turn in 1..=8 {
        eventually(SOON, "both connections are there", || clients.open() >= 2);
        let dialled = clients.accepted();
        clients.point_at(servers[turn % 2].address());
        clients.reset_all();
        eventually(SOON, "both are dialled again", || clients.accepted() >= dialled + 2);
        lock.try_acquire().await.expect("no error").expect("it is free").release().await.expect("release");
        warnings.extend(told.try_iter());
    }
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("one primary"), "{warnings:?}");
}
