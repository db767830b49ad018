//! One client waits for very many locks that others hold: it looks at them in batches, and none of them is worse off for that.

use std::time::{Duration, Instant};

use libdlock::lease::{HolderId, Lease};
use libdlock::lock::AcquireOptions;
use libdlock::{Client, Held, Wait};
use libdlock_faults::{SOON, bounded, client, slack, with_options};
use libdlock_testkit::{Action, Proxy, Server, eventually, lateness};
use tokio::task::JoinSet;

const LOCKS: usize = 3_000;
/// The default `poll_interval` with its jitter.
const POLL: Duration = Duration::from_millis(1_200);
/// Longer than any test: nothing is renewed, so that the scripts are those of the waiters.
const QUIET: Lease = Lease::Fixed(Duration::from_secs(600));

fn name(number: usize) -> String {
    format!("job-{number}")
}

fn scripts(server: &Server) -> u64 {
    ["evalsha", "eval"].iter().map(|name| server.info("commandstats", &format!("cmdstat_{name}:calls"))).sum()
}

/// One client waits for all the locks. Another holds the first of them; the others are shown as held by somebody who keeps
/// quiet.
struct Crowd {
    held: Vec<Held>,
    waiting: JoinSet<(usize, Held)>,
    _clients: [Client; 2],
}

const BY_A_CLIENT: usize = 30;

impl Crowd {
    async fn start(server: &Server, url: &str) -> Crowd {
        let clients = [client(&server.url()).await, client(url).await];
        let mut held = Vec::new();
        for number in 0..BY_A_CLIENT {
            let lock = clients[0].lock(&name(number)).unwrap();
            let how = AcquireOptions::default().wait(Wait::Try).lease(QUIET);
            held.push(lock.acquire_as(HolderId::fresh(), how).await.expect("nobody holds it"));
        }
        let quiet = "for i = ARGV[1], ARGV[2] - 1 do \
            redis.call('HSET', 'job-' .. i, '11111111-2222-8333-8444-555555555555:1', '1') \
            redis.call('PEXPIRE', 'job-' .. i, 600000) end";
        server.cmd(&["EVAL", quiet, "0", &BY_A_CLIENT.to_string(), &LOCKS.to_string()]);
        let mut waiting = JoinSet::new();
        for number in 0..LOCKS {
            let lock = clients[1].lock(&name(number)).unwrap();
            waiting.spawn(async move { (number, lock.acquire().await.expect("granted some time")) });
            // A caller counts as waiting once it was answered. Few at a time, so that no answer is late.
            while number % 100 == 99 && clients[1].stats().lock.waiting <= number as u64 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        Crowd { held, waiting, _clients: clients }
    }
}

/// How many ms ago the place that was longest unheard of was stamped.
fn longest_silence(server: &Server) -> i64 {
    let oldest = "local t, oldest = redis.call('TIME'), 0 for i = 0, ARGV[1] - 1 do \
        local seen = redis.call('HVALS', 'dlock_seen:{job-' .. i .. '}')[1] \
        oldest = math.max(oldest, t[1] * 1000 + t[2] / 1000 - seen) end return oldest";
    server.cmd(&["EVAL", oldest, "0", &LOCKS.to_string()]).int()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_thousand_waits_cost_fewer_than_100_scripts_a_second() {
    let server = Server::start();
    let crowd = Crowd::start(&server, &server.url()).await;
    tokio::time::sleep(POLL).await;
    let (before, began) = (scripts(&server), Instant::now());
    let mut silence = 0;
    while began.elapsed() < Duration::from_secs(5) {
        silence = silence.max(longest_silence(&server));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // The test's own scripts are counted too: ten in a second.
    let rate = (scripts(&server) - before) as f64 / began.elapsed().as_secs_f64();
    println!("{LOCKS} waits: {rate:.0} scripts/s, silent for at most {silence} ms");
    assert!(rate < 100.0, "{rate:.0} scripts/s");
    let late = i64::try_from(lateness().as_millis()).expect("ms");
    assert!(silence < 2_000 + late, "{silence} ms without a stamp: a head is taken for dead after 2,500");
    assert_eq!(crowd.waiting.len(), LOCKS, "nobody got anything");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_reaches_its_waiter_at_once_among_thousands() {
    let server = Server::start();
    let mut crowd = Crowd::start(&server, &server.url()).await;
    for held in std::mem::take(&mut crowd.held) {
        let began = Instant::now();
        held.release().await.unwrap();
        let granted = bounded(POLL, "the waiter is granted it", crowd.waiting.join_next()).await;
        let (_, next) = granted.unwrap().unwrap();
        assert!(began.elapsed() < POLL / 4 + lateness(), "{:?}: by a timer", began.elapsed());
        next.release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_freed_without_a_message_are_found_by_a_look() {
    let server = Server::start();
    let mut crowd = Crowd::start(&server, &server.url()).await;
    let (free, began) = (BY_A_CLIENT..BY_A_CLIENT + LOCKS / 3, Instant::now());
    let deleted = "for i = ARGV[1], ARGV[2] - 1 do redis.call('DEL', 'job-' .. i) end";
    server.cmd(&["EVAL", deleted, "0", &free.start.to_string(), &free.end.to_string()]);
    let mut got = Vec::new();
    while got.len() < free.len() {
        got.push(bounded(SOON, "all are granted", crowd.waiting.join_next()).await.unwrap().unwrap());
    }
    println!("{} free locks were found within {:?}", free.len(), began.elapsed());
    assert!(got.iter().all(|(number, _)| free.contains(number)), "nothing else is free");
    assert!(began.elapsed() < POLL + slack() * 10, "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reconnect_looks_at_thousands_of_locks_in_batches() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    // No timer falls into this test.
    let url = with_options(&proxy.url(), "poll_interval=10s");
    let crowd = Crowd::start(&server, &url).await;
    tokio::time::sleep(POLL).await;
    let before = scripts(&server);
    let reset = Instant::now();
    proxy.reset_all();
    let stamped = || longest_silence(&server) < reset.elapsed().as_millis() as i64;
    eventually(SOON, "all were looked at", stamped);
    let spent = scripts(&server) - before;
    println!("{spent} scripts after a reconnect with {LOCKS} waits");
    assert!(spent < LOCKS as u64 / 3, "{spent} scripts for {LOCKS} locks");
    assert_eq!(crowd.waiting.len(), LOCKS);
}

/// Nothing tells such a client that it moves up, and whoever finds a free lock takes an inbox without a listener for a dead
/// process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_an_inbox_a_place_far_behind_is_stamped_often() {
    let server = Server::options().user("app on >secret ~* &* +@all -subscribe").start();
    let (_client, waiting) = wait_behind_two(&server, &format!("redis://app:secret@{}", server.address())).await;
    assert!(longest_silence_behind(&server, Duration::from_secs(5)).await < 2_500);
    assert_eq!(waiting.len(), FEW);
}

/// Such a client has no inbox until it is connected again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_message_connection_counts_as_no_inbox() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let (_client, waiting) = wait_behind_two(&server, &proxy.url()).await;
    let inboxes = || server.cmd(&["PUBSUB", "CHANNELS", "dlock_inbox:*"]).array().len();
    eventually(SOON, "it listens", || inboxes() == 1);
    let refused = proxy.on_each(&["SUBSCRIBE"], Action::Refuse);
    server.cmd(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    refused.expect(SOON);
    assert!(longest_silence_behind(&server, Duration::from_secs(3)).await < 2_500);
    assert_eq!((inboxes(), waiting.len()), (0, FEW));
}

const FEW: usize = 40;

/// One client waits for locks that others hold, behind two others in each queue.
async fn wait_behind_two(server: &Server, url: &str) -> (Client, JoinSet<()>) {
    let behind_two = "local t = redis.call('TIME') local ms = t[1] * 1000 for i = 0, ARGV[1] - 1 do \
        redis.call('HSET', 'job-' .. i, '11111111-2222-8333-8444-555555555555:1', '1') \
        redis.call('PEXPIRE', 'job-' .. i, 600000) \
        redis.call('ZADD', 'dlock_queue:{job-' .. i .. '}', 1, 'a', 2, 'b') \
        redis.call('HSET', 'dlock_seen:{job-' .. i .. '}', 'a', ms, 'b', ms) end";
    server.cmd(&["EVAL", behind_two, "0", &FEW.to_string()]);
    let client = client(url).await;
    let mut waiting = JoinSet::new();
    for number in 0..FEW {
        let lock = client.lock(&name(number)).unwrap();
        waiting.spawn(async move { lock.acquire().await.map_or((), drop) });
    }
    eventually(SOON, "all wait", || client.stats().lock.waiting == FEW as u64);
    (client, waiting)
}

/// For how many ms at most a place of a client went without a stamp during some time.
async fn longest_silence_behind(server: &Server, time: Duration) -> i64 {
    let unstamped = "local t, oldest = redis.call('TIME'), 0 for i = 0, ARGV[1] - 1 do \
        local seen = redis.call('HGETALL', 'dlock_seen:{job-' .. i .. '}') \
        for at = 1, #seen, 2 do if #seen[at] == 36 then \
        oldest = math.max(oldest, t[1] * 1000 + t[2] / 1000 - seen[at + 1]) end end end return oldest";
    let (mut silence, began) = (0, Instant::now());
    while began.elapsed() < time {
        silence = silence.max(server.cmd(&["EVAL", unstamped, "0", &FEW.to_string()]).int());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    println!("{silence} ms without a stamp");
    silence
}

/// One field of 2 MiB would make the reply to a look longer than a client takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_huge_foreign_holder_costs_the_looks_no_connection() {
    let server = Server::start();
    let held =
        "for i = 0, ARGV[1] - 1 do redis.call('HSET', 'job-' .. i, string.rep('x', i == 0 and 2097152 or 36), '1') end";
    server.cmd(&["EVAL", held, "0", &FEW.to_string()]);
    let client = client(&with_options(&server.url(), "poll_interval=200ms")).await;
    let mut waiting = JoinSet::new();
    for number in 0..FEW {
        let lock = client.lock(&name(number)).unwrap();
        waiting.spawn(async move { lock.acquire().await.map(drop) });
    }
    eventually(SOON, "all wait", || client.stats().lock.waiting == FEW as u64);
    let listens = || !server.cmd(&["PUBSUB", "CHANNELS", "dlock_inbox:*"]).array().is_empty();
    eventually(SOON, "its last connection", listens);
    let connections = || server.info("stats", "total_connections_received");
    let seen = connections();
    tokio::time::sleep(POLL).await;
    // The test's own connection is open all the time.
    assert_eq!(connections(), seen, "a look cost the client its connection");
    assert_eq!(waiting.len(), FEW);
}
