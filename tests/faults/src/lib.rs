//! What the fault tests share: the other end of `src/bin/worker`, and short ways to a client.
//!
//! Each test file is one family of faults and reads like the sentences it checks; README.md says which fault breaks
//! which promise when the mechanism behind it is taken out.

pub mod failovers;
pub mod jobs;
pub mod limiters;
pub mod peer;
pub mod permits;
pub mod replicas;
pub mod soak;
pub mod turns;

use std::{future::Future, time::Duration};

use libdlock::embed::into_grant;
use libdlock::lease::{Grant, HolderId, Lease};
use libdlock::lock::AcquireOptions;
use libdlock::{Client, ErrorKind, Lock, Result, Wait};
use libdlock_testkit::{Reply, Server, eventually, lateness};

pub use peer::Peer;

/// Long enough for anything that is bound to happen on a busy machine; a test that waits this long has failed.
pub const SOON: Duration = Duration::from_secs(10);

/// Time that scheduling may add to a bound that the library promises: 150 ms, and more on a machine that is late.
pub fn slack() -> Duration {
    Duration::from_millis(150) + lateness()
}

/// A client; panics when it cannot connect.
pub async fn client(url: &str) -> Client {
    Client::connect(url).await.unwrap_or_else(|e| panic!("{url}: {e}"))
}

/// How to acquire.
pub fn how(wait: Wait, lease: Option<Lease>) -> AcquireOptions {
    let how = AcquireOptions::default().wait(wait);
    lease.map_or(how, |lease| how.lease(lease))
}

/// Acquires for a holder; the hold is to be ended by holder too, not by a guard.
pub async fn acquire(lock: &Lock, holder: HolderId, wait: Wait, lease: Option<Lease>) -> Result<Grant> {
    lock.acquire_as(holder, how(wait, lease)).await.map(into_grant)
}

/// `redis://...` with options: `with_options(url, "lease=1s&poll_interval=30s")`.
pub fn with_options(url: &str, options: &str) -> String {
    format!("{url}/?{options}")
}

/// Whether the server shows the lock as held.
pub fn is_held(server: &Server, name: &str) -> bool {
    server.cmd(&["EXISTS", name]).int() == 1
}

/// Waits until somebody waits for the lock and would be told of its release.
#[track_caller]
pub fn wait_until_waiting(server: &Server, name: &str) {
    eventually(SOON, "somebody waits", || waiters(server, name) > 0);
}

/// How many processes wait for the lock and would be told of its release: they stand in its queue and listen to their
/// inbox, or listen on its channel.
pub fn waiters(server: &Server, name: &str) -> i64 {
    let queued = server.cmd(&["ZRANGE", &format!("dlock_queue:{{{name}}}"), "0", "-1"]);
    let listens = |id: &&Reply| listeners(server, &format!("dlock_inbox:{}", id.text())) > 0;
    let queued = queued.array().iter().filter(listens).count() as i64;
    queued.max(listeners(server, &channel(name)))
}

/// How many connections listen on a channel.
///
/// Valkey 9.1.2 answers nonsense, such as 475800455 for 8, while it moves those of a channel into a larger or a smaller table, and
/// moves them on only when somebody comes or goes. So somebody does, until it has moved them all.
pub fn listeners(server: &Server, channel: &str) -> i64 {
    let told = || server.cmd(&["PUBSUB", "NUMSUB", channel]).array()[1].int();
    let is_nonsense = |told: i64| told > 100_000;
    let mut passer_by = None;
    for _ in 0..1_000 {
        let told = told();
        if !is_nonsense(told) {
            return told;
        }
        let passer_by = passer_by.get_or_insert_with(|| server.connect());
        for command in ["SUBSCRIBE", "UNSUBSCRIBE"] {
            passer_by.cmd(&[command, channel]).expect("a reply");
        }
    }
    panic!("the server does not tell how many listen on {channel}: {}", told());
}

/// The channels on which somebody listens, but for the inboxes: a client keeps its own until it closes.
pub fn channels(server: &Server) -> Vec<String> {
    let channels = server.cmd(&["PUBSUB", "CHANNELS"]);
    let channels = channels.array().iter().map(|channel| channel.text().to_owned());
    channels.filter(|channel| !channel.starts_with("dlock_inbox:")).collect()
}

/// Redisson's channel of a lock whose name has no brace.
pub fn channel(name: &str) -> String {
    format!("redisson_lock__channel:{{{name}}}")
}

/// The kind of error that a result must hold.
#[track_caller]
pub fn kind<T>(result: Result<T>) -> ErrorKind {
    match result {
        Ok(_) => panic!("this must fail"),
        Err(e) => e.kind(),
    }
}

/// Awaits, but not longer than `bound`.
#[track_caller]
pub fn bounded<F: Future>(bound: Duration, what: &str, future: F) -> impl Future<Output = F::Output> {
    let caller = std::panic::Location::caller();
    async move {
        match tokio::time::timeout(bound, future).await {
            Ok(output) => output,
            Err(_) => panic!("not within {bound:?}: {what} ({caller})"),
        }
    }
}
