//! The user lacks the right to one command at a time: whichever it is, nothing is half done.

use std::time::Duration;

use libdlock::id::WorkerOptions;
use libdlock::{Client, ErrorKind, Result};
use libdlock_faults::{SOON, bounded, client, with_options};
use libdlock_testkit::{Action, Proxy, Server, eventually};

/// What scripts call, from the documented list.
fn commands() -> Vec<String> {
    let table: serde_json::Value =
        serde_json::from_str(include_str!("../../vectors/access.json")).expect("access.json is JSON");
    let listed = table["scripts"].as_array().expect("a list").iter();
    listed.map(|command| command.as_str().expect("a command").to_owned()).collect()
}

struct Place {
    server: Server,
    client: Client,
}

impl Place {
    async fn new() -> Place {
        let rules = commands().iter().map(|command| format!("+{command}")).collect::<Vec<_>>().join(" ");
        let rules = format!("app on >secret ~* &* +eval +evalsha +time +ping +info +subscribe +unsubscribe {rules}");
        let server = Server::options().user(&rules).start();
        // What is left behind would be seen for long.
        let url = with_options(&format!("redis://app:secret@{}", server.address()), "lease=60s");
        let client = client(&url).await;
        Place { server, client }
    }

    fn set_right(&self, command: &str, has: bool) {
        let sign = if has { '+' } else { '-' };
        assert_eq!(self.server.cmd(&["ACL", "SETUSER", "app", &format!("{sign}{command}")]).text(), "OK");
    }

    /// The keys that somebody holds, which others must not find.
    fn held(&self, names: &[&str]) -> Vec<String> {
        self.server.keys().into_iter().filter(|key| names.contains(&key.as_str())).collect()
    }
}

/// A call that lacks a right, if it needs it, says so.
#[track_caller]
fn said<T>(command: &str, result: Result<T>) -> Option<T> {
    match result {
        Ok(done) => Some(done),
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::NoPermission), "-{command}: {error}");
            None
        }
    }
}

const NAMES: [&str; 3] = ["a", "b", "c"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_set_of_locks_is_never_half_taken() {
    let place = Place::new().await;
    let set = place.client.lock_all(NAMES).expect("names");
    for command in commands() {
        // Without tokens, with them, and with somebody dead in front.
        for round in 0..3 {
            if round == 2 {
                let dead = "11111111-2222-8333-8444-555555555555";
                place.server.cmd(&["ZADD", "dlock_queue:{b}", "1", dead]);
                place.server.cmd(&["HSET", "dlock_seen:{b}", dead, "1"]);
            }
            place.set_right(&command, false);
            let tried = bounded(SOON, "an answer", set.try_acquire()).await;
            let got = said(&command, tried).flatten();
            if got.is_none() {
                eventually(SOON / 2, &format!("-{command}, {round}: nothing is left"), || {
                    place.held(&NAMES).is_empty()
                });
            }
            place.set_right(&command, true);
            if let Some(held) = got {
                held.release().await.expect("released");
            }
            let again = bounded(SOON, "an answer", set.acquire_timeout(Duration::from_secs(5))).await;
            again.unwrap_or_else(|error| panic!("-{command}, {round}: {error}")).release().await.expect("released");
        }
        place.server.cmd(&["FLUSHALL"]);
    }
}

/// It holds `a` by then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_set_that_waits_gives_back_what_it_has() {
    let place = Place::new().await;
    let other = client(&place.server.url()).await;
    let set = place.client.lock_all(NAMES).expect("names");
    // Without HDEL no lock is given back.
    for command in commands().iter().filter(|command| *command != "hdel") {
        let busy = other.lock("b").expect("a name").acquire().await.expect("acquired");
        let waiter = tokio::spawn({
            let set = set.clone();
            async move { set.acquire_timeout(Duration::from_millis(2_500)).await }
        });
        libdlock_faults::wait_until_waiting(&place.server, "b");
        place.set_right(command, false);
        busy.release().await.expect("released");
        let waited = bounded(SOON, "it ends", waiter).await.expect("no panic");
        let got = match waited {
            Err(error) if error.kind() == ErrorKind::Busy => None,
            waited => said(command, waited),
        };
        if got.is_none() {
            eventually(SOON / 2, &format!("-{command}: nothing is left"), || place.held(&NAMES).is_empty());
        }
        place.set_right(command, true);
        if let Some(held) = got {
            held.release().await.expect("released");
        }
        place.server.cmd(&["FLUSHALL"]);
    }
}

/// No more than a lease that ends is left of a side that was refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_side_of_a_rw_lock_is_left_to_nobody() {
    let place = Place::new().await;
    let lock = place.client.rw_lock("prices").expect("a name");
    for command in commands().iter().filter(|command| *command != "hdel") {
        for (round, side) in [lock.read(), lock.write(), lock.read(), lock.write()].into_iter().enumerate() {
            place.set_right(command, false);
            let got = said(command, bounded(SOON, "an answer", side.try_acquire()).await).flatten();
            if got.is_none() {
                let what = format!("-{command}, {round}: nothing is left");
                eventually(SOON / 2, &what, || place.held(&["prices"]).is_empty());
            } else {
                assert!(place.server.cmd(&["PTTL", "prices"]).int() > 0, "-{command}, {round}: without end");
            }
            place.set_right(command, true);
            if let Some(held) = got {
                held.release().await.expect("released");
            }
            assert_eq!(place.held(&["prices"]), [""; 0], "-{command}, {round}");
        }
        place.server.cmd(&["FLUSHALL"]);
    }
}

/// What was refused has not counted; what was not refused has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_latch_counts_all_or_nothing() {
    let place = Place::new().await;
    let latch = place.client.latch("ready").expect("a name");
    let count = || {
        let count = place.server.cmd(&["GET", "ready"]);
        if count.is_nil() { 0 } else { count.text().parse::<u64>().expect("a number") }
    };
    for command in commands() {
        for before in [5, 1] {
            place.server.cmd(&["SET", "ready", &before.to_string()]);
            place.set_right(&command, false);
            let counted = bounded(SOON, "an answer", latch.count_down()).await;
            let left = said(&command, counted).unwrap_or(before);
            assert_eq!(count(), left, "-{command}");
            let deleted = said(&command, bounded(SOON, "an answer", latch.delete()).await);
            assert_eq!(count() == 0, deleted.is_some() || left == 0, "-{command}: {deleted:?}");
            place.server.cmd(&["DEL", "ready"]);
            let set = said(&command, bounded(SOON, "an answer", latch.try_set_count(7)).await);
            assert_eq!(count(), if set.is_some() { 7 } else { 0 }, "-{command}");
            place.set_right(&command, true);
        }
    }
}

/// The first attempt was refused, and nobody heard of that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeat_does_not_say_that_a_refused_count_was_done() {
    let place = Place::new().await;
    let proxy = Proxy::start(place.server.address());
    let client = client(&proxy.url().replace("redis://", "redis://app:secret@")).await;
    let latch = client.latch("ready").expect("a name");
    for command in ["decrby", "pexpire", "pttl"] {
        place.server.cmd(&["SET", "ready", "5"]);
        assert_eq!(latch.count_down().await.expect("counted"), 4);
        place.server.cmd(&["DEL", "dlock_latch_done:{ready}"]);
        place.set_right(command, false);
        let cut = proxy.on(&["EVALSHA", "ready"], Action::CutReply(0));
        let counted = bounded(SOON, "the repeat", latch.count_down()).await;
        assert_eq!(
            (cut.hits(), counted.map_err(|error| error.kind())),
            (1, Err(ErrorKind::NoPermission)),
            "-{command}"
        );
        assert_eq!(place.server.cmd(&["GET", "ready"]).text(), "4");
        assert_eq!(place.server.cmd(&["EXISTS", "dlock_latch_done:{ready}"]).int(), 0, "nothing is remembered");
        place.set_right(command, true);
    }
}

/// Neither by tries that were refused nor by leases that could not be given back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_of_worker_numbers_loses_none() {
    let place = Place::new().await;
    let others = client(&place.server.url()).await;
    let lease = WorkerOptions::default().bits(2).lease(Duration::from_millis(200));
    for command in commands() {
        for held in [false, true] {
            let mut workers = Vec::new();
            if held {
                workers.push(place.client.worker_with("pool", lease).await.expect("leased"));
            }
            place.set_right(&command, false);
            for worker in workers {
                said(&command, bounded(SOON, "an answer", worker.release()).await);
            }
            for _ in 0..4 {
                if let Some(worker) = said(&command, place.client.worker_with("pool", lease).await) {
                    said(&command, bounded(SOON, "an answer", worker.release()).await);
                }
            }
            let all = async {
                let mut all = Vec::new();
                while all.len() < 4 {
                    match others.worker_with("pool", lease).await {
                        Ok(worker) => all.push(worker),
                        // The leases of those that could not be given back are not over yet.
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::Busy, "-{command}: {error}");
                            tokio::time::sleep(Duration::from_millis(20)).await;
                        }
                    }
                }
                all
            };
            let all = bounded(SOON, &format!("-{command}, {held}: all four are to be had"), all).await;
            for worker in all {
                worker.release().await.expect("released");
            }
            place.set_right(&command, true);
            place.server.cmd(&["FLUSHALL"]);
        }
    }
}

/// The error names the right, and the permits are still held.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn permits_are_given_back_whole_or_not_at_all() {
    let place = Place::new().await;
    let pool = place.client.semaphore("pool", 5).expect("a name");
    let available = || place.server.cmd(&["GET", "pool"]).text().to_owned();
    for command in commands() {
        let held = pool.acquire_many(2).await.expect("acquired");
        assert_eq!(available(), "3");
        place.set_right(&command, false);
        let released = said(&command, bounded(SOON, "an answer", held.release()).await);
        assert_eq!(available(), if released.is_some() { "5" } else { "3" }, "-{command}");
        place.set_right(&command, true);
        place.server.cmd(&["FLUSHALL"]);
    }
}
