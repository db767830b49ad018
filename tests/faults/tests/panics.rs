//! A panic in a background task reaches the callers as an error, costs no more than this client, and never hangs anybody. (The
//! exported functions are tested in the bindings.)

use std::{ffi::OsStr, path::Path, time::Duration};

use libdlock_faults::{Peer, SOON, is_held, peer::held, wait_until_waiting, with_options, worker};
use libdlock_testkit::{Replicated, Sentinels, Server, eventually, temp::TempDir};

/// Renewals every 500 ms and a PING every 200: each task comes by its fault point within that.
const OPTIONS: &str = "lease=1500ms&ping_interval=200ms";

/// A worker whose task panics once `file` names it. Without a back trace: it would only hide what else a run prints.
fn start_victim(url: &str, file: &Path) -> Peer {
    let environment = [("DLOCK_PANIC_TASK_FILE", file.as_os_str()), ("RUST_BACKTRACE", OsStr::new("0"))];
    Peer::start_with(worker!(), url, &environment)
}

fn a_panic_in(task: &str) {
    let server = Server::start();
    is_told_to_all(task, &server, &server.url());
}

/// A client of this server, by this URL.
fn is_told_to_all(task: &str, server: &Server, url: &str) {
    let url = with_options(url, OPTIONS);
    let dir = TempDir::new();
    let file = dir.path().join("panic");
    let mut victim = start_victim(&url, &file);
    let mut other = Peer::start(worker!(), &url);
    let theirs = other.acquire("theirs");
    let ours = victim.acquire("ours");
    let waiting = victim.start_acquire("theirs");
    wait_until_waiting(server, "theirs");

    // written beside and renamed: the task never reads half a name
    std::fs::write(file.with_extension("new"), task).expect("write");
    std::fs::rename(file.with_extension("new"), &file).expect("rename");

    let loss = victim.loss(SOON);
    assert_eq!((loss.name.as_str(), loss.reason.as_str()), ("ours", "internal"), "lost fires");
    let (kind, message) = victim.answer(waiting, SOON).expect_err("the waiter is told");
    assert_eq!(kind, "INTERNAL", "{message}");
    let (kind, _) = victim.call("acquire 2 another 0 0").expect_err("the client has failed");
    assert_eq!(kind, "INTERNAL");
    assert!(!victim.is_valid("ours"), "and the process lives");

    // nobody else is touched: their hold stays, ours comes free when its lease is over
    assert!(other.is_valid("theirs"));
    let id = other.request("acquire 1 ours 10000 0");
    let next = held(other.answer(id, SOON * 2));
    assert!(next.token > ours.token);
    other.release("ours");
    assert_eq!(server.cmd(&["HEXISTS", "theirs", &theirs.owner]).int(), 1);
    other.release("theirs");
    assert!(!is_held(server, "theirs") && !is_held(server, "ours"));
    assert!(victim.process().exit(Duration::ZERO).is_none(), "the process lives");
}

#[test]
fn a_panic_in_the_task_that_renews_is_told_to_all() {
    a_panic_in("keeper");
}

#[test]
fn a_panic_in_the_task_that_connects_is_told_to_all() {
    a_panic_in("supervisor");
}

#[test]
fn a_panic_in_the_task_that_listens_is_told_to_all() {
    a_panic_in("listener");
}

#[test]
fn a_panic_in_the_task_that_looks_is_told_to_everybody() {
    a_panic_in("looker");
}

#[test]
fn a_panic_in_the_task_that_follows_failovers_is_told_to_all() {
    let deployment = Sentinels::start();
    let master = &deployment.nodes[deployment.master()].server;
    is_told_to_all("sentinel", master, &deployment.url());
}

/// What is held at several servers is freed at each by its lease.
#[test]
fn a_panic_in_the_task_that_listens_to_several_is_told() {
    let servers = [Server::start(), Server::start(), Server::start()];
    let addresses: Vec<String> = servers.iter().map(|server| server.address().to_string()).collect();
    let url = format!("redis+quorum://{}?data_survives=true&{OPTIONS}", addresses.join(","));
    let dir = TempDir::new();
    let file = dir.path().join("panic");
    let mut victim = start_victim(&url, &file);
    let mut other = Peer::start(worker!(), &url);
    other.acquire("theirs");
    victim.acquire("ours");
    std::fs::write(file.with_extension("new"), "quorum listener").expect("write");
    std::fs::rename(file.with_extension("new"), &file).expect("rename");
    // the task wakes for what is to be heard
    let waiting = victim.start_acquire("theirs");
    let (kind, message) = victim.answer(waiting, SOON).expect_err("the waiter is told");
    assert_eq!(kind, "INTERNAL", "{message}");
    let loss = victim.loss(SOON);
    assert_eq!((loss.name.as_str(), loss.reason.as_str()), ("ours", "internal"), "lost fires");
    assert!(other.is_valid("theirs"));
    eventually(SOON, "nothing of it is left", || servers.iter().all(|server| !is_held(server, "ours")));
    other.release("theirs");
    assert!(victim.process().exit(Duration::ZERO).is_none(), "the process lives");
}

/// It runs when something is granted.
#[test]
fn a_panic_in_the_task_that_counts_replicas_is_told() {
    let servers = Replicated::start(1);
    let dir = TempDir::new();
    let file = dir.path().join("panic");
    let mut victim = start_victim(&with_options(&servers.primary.url(), "lease=1500ms&replicas=1"), &file);
    victim.acquire("ours");
    std::fs::write(&file, "replicas").expect("write");
    let (kind, message) = victim.call("acquire 2 another 0 0").expect_err("the task has failed");
    assert_eq!(kind, "INTERNAL", "{message}");
    let loss = victim.loss(SOON);
    assert_eq!((loss.name.as_str(), loss.reason.as_str()), ("ours", "internal"), "lost fires");
    eventually(SOON, "nothing is held", || !is_held(&servers.primary, "ours") && !is_held(&servers.primary, "another"));
    assert!(victim.process().exit(Duration::ZERO).is_none(), "the process lives");
}

/// It acts for one lock: only those who wait for that are told.
#[test]
fn a_panic_in_a_contender_is_told_to_its_waiters_only() {
    let server = Server::start();
    let url = with_options(&server.url(), OPTIONS);
    let dir = TempDir::new();
    let file = dir.path().join("panic");
    let mut victim = start_victim(&url, &file);
    let mut other = Peer::start(worker!(), &url);
    other.acquire("theirs");
    victim.acquire("ours");
    let waiting: Vec<u64> = (2..5).map(|holder| victim.request(&format!("acquire {holder} theirs -1 0"))).collect();
    wait_until_waiting(&server, "theirs");
    std::fs::write(file.with_extension("new"), "contender").expect("write");
    std::fs::rename(file.with_extension("new"), &file).expect("rename");
    for waiting in waiting {
        let (kind, message) = victim.answer(waiting, SOON).expect_err("the waiter is told");
        assert_eq!(kind, "INTERNAL", "{message}");
    }
    std::fs::remove_file(&file).expect("remove");
    assert!(victim.is_valid("ours"), "a hold is not touched");
    let again = victim.start_acquire("theirs");
    wait_until_waiting(&server, "theirs");
    other.release("theirs");
    victim.granted(again, SOON);
    victim.release("theirs");
    victim.release("ours");
    eventually(SOON, "nothing is left", || {
        server.keys() == ["redisson_lock_token:{ours}", "redisson_lock_token:{theirs}"]
    });
}

/// The task that watches a latch acts for one name.
#[test]
fn a_panic_in_a_watch_is_told_to_its_waiters_only() {
    let server = Server::start();
    let dir = TempDir::new();
    let file = dir.path().join("panic");
    let mut victim = start_victim(&with_options(&server.url(), OPTIONS), &file);
    server.cmd(&["SET", "ready", "1"]);
    victim.acquire("ours");
    let waiting: Vec<u64> = (0..3).map(|_| victim.request("wait-for ready -1")).collect();
    eventually(SOON, "it listens", || {
        libdlock_faults::listeners(&server, "redisson_countdownlatch__channel__{ready}") == 1
    });
    std::fs::write(file.with_extension("new"), "latch").expect("write");
    std::fs::rename(file.with_extension("new"), &file).expect("rename");
    for waiting in waiting {
        let (kind, message) = victim.answer(waiting, SOON).expect_err("the waiter is told");
        assert_eq!(kind, "INTERNAL", "{message}");
    }
    std::fs::remove_file(&file).expect("remove");
    assert!(victim.is_valid("ours"), "a hold is not touched");
    let again = victim.request("wait-for ready -1");
    assert_eq!(victim.ok("count-down ready"), ["0"]);
    assert_eq!(victim.answer(again, SOON).expect("it opens")[0], "true");
    victim.release("ours");
}

#[test]
fn a_panic_in_a_look_leaves_no_waiter_asleep() {
    const LOCKS: usize = 40;
    let server = Server::start();
    let held =
        "for i = 0, ARGV[1] - 1 do redis.call('HSET', 'job-' .. i, '11111111-2222-8333-8444-555555555555:1', '1') end";
    server.cmd(&["EVAL", held, "0", &LOCKS.to_string()]);
    let dir = TempDir::new();
    let file = dir.path().join("panic");
    let mut victim = start_victim(&with_options(&server.url(), "poll_interval=200ms"), &file);
    for lock in 0..LOCKS {
        victim.start_acquire(&format!("job-{lock}"));
    }
    let stamped_since = |since: i64| {
        let oldest = "local oldest = math.huge for i = 0, ARGV[1] - 1 do \
            oldest = math.min(oldest, redis.call('HVALS', 'dlock_seen:{job-' .. i .. '}')[1] or 0) end return oldest";
        server.cmd(&["EVAL", oldest, "0", &LOCKS.to_string()]).int() > since
    };
    eventually(SOON, "all wait", || stamped_since(0));
    std::fs::write(file.with_extension("new"), "look").expect("write");
    std::fs::rename(file.with_extension("new"), &file).expect("rename");
    let time = server.cmd(&["TIME"]);
    let panics_from = time.array()[0].text().parse::<i64>().expect("seconds") * 1_000 + 1_000;
    // More than one look of each later: all of those panicked.
    eventually(SOON, "all are heard of again", || stamped_since(panics_from + 1_000));
}
