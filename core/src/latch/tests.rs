//! What a latch does, on `memory://` and on a real server.

use std::pin::pin;
use std::time::{Duration, Instant};

use libdlock_testkit::Server;
use tokio::task::JoinHandle;

use super::step::{DONE, channel};
use super::{Latch, MAX_COUNT};
use crate::contended::place::{Place, SOON, dropped_after, settle, soon, still_client};
use crate::error::{ErrorKind, Result};
use crate::stats::{Held, LatchStats};
use crate::{Client, Wait};

impl Place {
    /// The latch `ready` of so many clients, each of its own, which look by themselves every `poll` ms.
    async fn latches(&self, clients: usize, poll: u32) -> Vec<Latch> {
        let mut latches = Vec::new();
        for _ in 0..clients {
            let client = Client::connect(&format!("{}?poll_interval={poll}ms", self.url)).await.unwrap();
            latches.push(client.latch("ready").unwrap());
        }
        latches
    }
}

/// Never in a test.
const HOUR: u32 = 3_600_000;

/// Waits in a task.
fn waits(latch: &Latch) -> JoinHandle<Result<()>> {
    let latch = latch.clone();
    tokio::spawn(async move { latch.wait().await })
}

fn counts(latch: &Latch) -> LatchStats {
    latch.client().counters.snapshot(Held::default()).latch
}

/// Waits until so many callers of this client wait, and until what is said on the channel reaches them and those of so many
/// clients before.
async fn waiting(place: &Place, latch: &Latch, callers: u64, clients: i64) {
    let hears = || match &place.server {
        None => latch.shared.has_looked(),
        Some(server) => numsub(server, &channel(latch.shared.name())) == clients,
    };
    soon("they wait", async {
        while counts(latch).waiting != callers || !hears() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

/// How many connections listen on a channel.
fn numsub(server: &Server, channel: &str) -> i64 {
    server.cmd(&["PUBSUB", "NUMSUB", channel]).array()[1].int()
}

/// How many connections listen on the channel of `ready`.
fn listeners(server: &Server) -> i64 {
    numsub(server, "redisson_countdownlatch__channel__{ready}")
}

/// Waits until nobody listens.
async fn nobody_listens(server: &Server) {
    soon("nobody listens", async {
        while listeners(server) > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_latch_opens_when_its_count_is_zero() {
    for place in Place::both() {
        let latches = place.latches(2, HOUR).await;
        assert!(latches[0].try_set_count(2).await.unwrap());
        assert_eq!(latches[1].count().await.unwrap(), 2);
        let waiters = [waits(&latches[0]), waits(&latches[1])];
        waiting(&place, &latches[0], 1, 2).await;
        waiting(&place, &latches[1], 1, 2).await;
        assert_eq!(latches[1].count_down().await.unwrap(), 1);
        assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
        assert_eq!(latches[0].count_down().await.unwrap(), 0);
        for waiter in waiters {
            soon("the message wakes it", waiter).await.unwrap().unwrap();
        }
        soon("an open latch", latches[0].wait()).await.unwrap();
        let seen = counts(&latches[0]);
        assert_eq!((seen.counted_down, seen.opened, seen.waiting, seen.cancelled), (1, 2, 0, 0));
    }
}

#[tokio::test]
async fn a_count_is_set_only_where_there_is_none() {
    for place in Place::both() {
        let latch = &place.latches(1, HOUR).await[0];
        assert!(latch.try_set_count(2).await.unwrap());
        assert!(!latch.try_set_count(5).await.unwrap());
        assert_eq!(latch.count_down_by(2).await.unwrap(), 0);
        assert!(latch.try_set_count(5).await.unwrap());
        assert_eq!(latch.count().await.unwrap(), 5);
        assert!(latch.delete().await.unwrap() && !latch.delete().await.unwrap());
        assert_eq!(latch.count().await.unwrap(), 0);
    }
}

#[tokio::test]
async fn more_than_is_left_opens_the_latch_too() {
    for place in Place::both() {
        let latch = &place.latches(1, HOUR).await[0];
        latch.try_set_count(3).await.unwrap();
        let waiter = waits(latch);
        waiting(&place, latch, 1, 1).await;
        assert_eq!(latch.count_down_by(MAX_COUNT).await.unwrap(), 0);
        soon("it opens", waiter).await.unwrap().unwrap();
    }
}

/// As with Redisson's: nothing on the server, and no message.
#[tokio::test]
async fn counting_an_open_latch_down_leaves_nothing() {
    let place = Place::server();
    let (server, latch) = (place.server.as_ref().unwrap(), &place.latches(1, HOUR).await[0]);
    let mut listener = server.connect();
    listener.cmd(&["SUBSCRIBE", &channel(latch.shared.name())]).unwrap();
    assert_eq!(latch.count_down().await.unwrap(), 0);
    assert_eq!(server.keys(), ["dlock_latch_done:{ready}"], "only that the request was carried out");
    assert!(server.cmd(&["PTTL", "dlock_latch_done:{ready}"]).int() > 50_000);
    assert!(latch.try_set_count(1).await.unwrap());
    assert_eq!(server.cmd(&["PTTL", "ready"]).int(), -1);
    // The first that is heard is of the setting.
    assert_eq!(listener.read().unwrap().array()[2].text(), "1");
}

#[tokio::test]
async fn counts_out_of_range_are_refused() {
    let latch = &Place::memory().latches(1, HOUR).await[0];
    for count in [0, MAX_COUNT + 1, u64::MAX] {
        for refused in [latch.try_set_count(count).await.map(drop), latch.count_down_by(count).await.map(drop)] {
            let error = refused.unwrap_err();
            assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("ready")), "{error}");
            assert_eq!(error.allowed(), Some("1 to 9007199254740991"));
        }
    }
    assert!(latch.try_set_count(MAX_COUNT).await.unwrap());
    assert_eq!(latch.count_down().await.unwrap(), MAX_COUNT - 1);
}

#[tokio::test]
async fn the_largest_count_is_counted_exactly_on_a_server() {
    let place = Place::server();
    let latch = &place.latches(1, HOUR).await[0];
    assert!(latch.try_set_count(MAX_COUNT).await.unwrap());
    assert_eq!(latch.count_down().await.unwrap(), MAX_COUNT - 1);
    assert_eq!(latch.count_down_by(MAX_COUNT - 2).await.unwrap(), 1);
}

#[tokio::test]
async fn a_wait_ends_when_its_time_is_over() {
    let (client, clock) = still_client().await;
    let latch = client.latch("ready").unwrap();
    latch.try_set_count(1).await.unwrap();
    assert!(!latch.wait_for(Wait::Try).await.unwrap());
    assert!(!latch.wait_timeout(Duration::ZERO).await.unwrap());
    let waiter = tokio::spawn({
        let latch = latch.clone();
        async move { latch.wait_timeout(Duration::from_secs(3)).await }
    });
    settle().await;
    clock.advance(Duration::from_millis(2_999));
    settle().await;
    assert!(!waiter.is_finished());
    clock.advance(Duration::from_millis(1));
    assert!(!soon("its time is over", waiter).await.unwrap().unwrap());
    assert_eq!((counts(&latch).wait_timeouts, counts(&latch).waiting), (3, 0));
}

#[tokio::test]
async fn callers_of_one_process_share_a_subscription_and_a_look() {
    const CALLERS: u64 = 200;
    let place = Place::server();
    let server = place.server.as_ref().unwrap();
    let latches = place.latches(2, HOUR).await;
    latches[0].try_set_count(1).await.unwrap();
    let waiters: Vec<_> = (0..CALLERS).map(|_| waits(&latches[0])).collect();
    waiting(&place, &latches[0], CALLERS, 1).await;
    assert_eq!(listeners(server), 1);
    let calls = || {
        let stats = server.cmd(&["INFO", "commandstats"]);
        let line = stats.text().lines().find(|line| line.starts_with("cmdstat_evalsha:")).map(str::to_owned);
        line.and_then(|line| line.split(['=', ',']).nth(1)?.parse::<u64>().ok()).unwrap_or(0)
    };
    let before = calls();
    assert_eq!(latches[1].count_down().await.unwrap(), 0);
    for waiter in waiters {
        soon("it opens", waiter).await.unwrap().unwrap();
    }
    // The count down, also as EVAL of an unknown script, and the look.
    assert!(calls() - before <= 3, "{} scripts", calls() - before);
    nobody_listens(server).await;
}

/// Its message is lost: somebody has removed the key.
#[tokio::test]
async fn a_waiter_looks_by_itself() {
    let place = Place::server();
    let (server, latch) = (place.server.as_ref().unwrap(), &place.latches(1, 100).await[0]);
    latch.try_set_count(1).await.unwrap();
    let waiter = waits(latch);
    waiting(&place, latch, 1, 1).await;
    let removed = Instant::now();
    server.cmd(&["DEL", "ready"]);
    soon("it looks", waiter).await.unwrap().unwrap();
    assert!(removed.elapsed() < Duration::from_secs(2), "{:?}", removed.elapsed());
}

/// Only what the server shows opens a latch.
#[tokio::test]
async fn a_message_alone_opens_nothing() {
    let place = Place::server();
    let (server, latch) = (place.server.as_ref().unwrap(), &place.latches(1, HOUR).await[0]);
    latch.try_set_count(1).await.unwrap();
    let waiter = waits(latch);
    waiting(&place, latch, 1, 1).await;
    for message in ["1", "", "00", "0", "0"] {
        assert_eq!(server.cmd(&["PUBLISH", &channel(latch.shared.name()), message]).int(), 1);
    }
    let looked = latch.wait_timeout(Duration::from_millis(100)).await.unwrap();
    assert!(!looked && !waiter.is_finished());
    latch.count_down().await.unwrap();
    soon("it opens", waiter).await.unwrap().unwrap();
}

/// What RCountDownLatch does.
#[tokio::test]
async fn a_redisson_client_counts_down() {
    let place = Place::server();
    let (server, latch) = (place.server.as_ref().unwrap(), &place.latches(1, HOUR).await[0]);
    server.cmd(&["SET", "ready", "2"]);
    let waiter = waits(latch);
    waiting(&place, latch, 1, 1).await;
    assert_eq!(latch.count_down().await.unwrap(), 1);
    assert_eq!(server.cmd(&["DECR", "ready"]).int(), 0);
    server.cmd(&["DEL", "ready"]);
    server.cmd(&["PUBLISH", &channel(latch.shared.name()), "0"]);
    soon("it opens", waiter).await.unwrap().unwrap();
}

/// Redisson's `trySetCount(0)` leaves a key with 0.
#[tokio::test]
async fn a_count_that_is_not_above_zero_is_an_open_latch() {
    let place = Place::server();
    let (server, latch) = (place.server.as_ref().unwrap(), &place.latches(1, HOUR).await[0]);
    for left in ["0", "-3"] {
        server.cmd(&["SET", "ready", left]);
        assert_eq!(latch.count().await.unwrap(), 0);
        soon("it is open", latch.wait()).await.unwrap();
        assert_eq!(latch.count_down().await.unwrap(), 0);
        assert!(latch.try_set_count(1).await.unwrap());
        assert_eq!(latch.count_down().await.unwrap(), 0);
    }
}

#[tokio::test]
async fn a_deleted_latch_is_open_to_those_that_look() {
    for place in Place::both() {
        let latches = place.latches(2, 100).await;
        latches[0].try_set_count(3).await.unwrap();
        let waiter = waits(&latches[1]);
        waiting(&place, &latches[1], 1, 1).await;
        assert!(latches[0].delete().await.unwrap());
        soon("it looks", waiter).await.unwrap().unwrap();
    }
}

/// As Redisson's: a waiter that has not seen it open waits for the new count.
#[tokio::test]
async fn a_latch_that_is_set_anew_keeps_its_waiters() {
    for place in Place::both() {
        let latch = &place.latches(1, HOUR).await[0];
        latch.try_set_count(3).await.unwrap();
        let waiter = waits(latch);
        waiting(&place, latch, 1, 1).await;
        assert!(latch.delete().await.unwrap());
        assert!(latch.try_set_count(1).await.unwrap());
        assert!(!latch.wait_timeout(Duration::from_millis(50)).await.unwrap());
        assert!(!waiter.is_finished());
        assert_eq!(latch.count_down().await.unwrap(), 0);
        soon("the new count is zero", waiter).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_name_with_a_hash_tag_is_heard() {
    let place = Place::server();
    let client = place.client().await;
    let latch = client.latch("{order}:42").unwrap();
    assert_eq!(channel(latch.shared.name()), "redisson_countdownlatch__channel__{{order}:42}");
    latch.try_set_count(1).await.unwrap();
    let waiter = waits(&latch);
    waiting(&place, &latch, 1, 1).await;
    latch.count_down().await.unwrap();
    soon("it opens", waiter).await.unwrap().unwrap();
    assert_eq!(place.server.as_ref().unwrap().keys(), ["dlock_latch_done:{order}:42"]);
}

/// Every call says WrongType, and the data stays.
#[tokio::test]
async fn foreign_data_under_the_name_is_left_alone() {
    let place = Place::server();
    let (server, latch) = (place.server.as_ref().unwrap(), &place.latches(1, HOUR).await[0]);
    let written: [&[&str]; 6] = [
        &["HSET", "ready", "field", "1"],
        &["RPUSH", "ready", "x"],
        &["SET", "ready", "many"],
        &["SET", "ready", "007"],
        &["SET", "ready", "9007199254740992"],
        &["SET", "dlock_latch_done:{ready}", "x"],
    ];
    for write in written {
        server.cmd(write);
        let dump = server.cmd(&["DUMP", write[1]]);
        let mut refused = vec![
            latch.try_set_count(1).await.map(drop),
            latch.count_down().await.map(drop),
            latch.delete().await.map(drop),
        ];
        if write[1] == "ready" {
            refused.push(latch.count().await.map(drop));
            refused.push(latch.wait().await);
            refused.push(latch.wait_timeout(SOON).await.map(drop));
        }
        for refused in refused {
            let error = refused.unwrap_err();
            assert_eq!((error.kind(), error.name()), (ErrorKind::WrongType, Some("ready")), "{write:?}: {error}");
        }
        assert_eq!((server.cmd(&["DUMP", write[1]]), server.keys()), (dump, vec![write[1].to_owned()]), "{write:?}");
        server.cmd(&["DEL", write[1]]);
    }
}

#[tokio::test]
async fn a_waiter_whose_key_was_replaced_is_told() {
    let place = Place::server();
    let (server, latch) = (place.server.as_ref().unwrap(), &place.latches(1, 100).await[0]);
    latch.try_set_count(1).await.unwrap();
    let waiters = [waits(latch), waits(latch)];
    waiting(&place, latch, 2, 1).await;
    server.cmd(&["DEL", "ready"]);
    server.cmd(&["RPUSH", "ready", "x"]);
    for waiter in waiters {
        let refused = soon("it looks", waiter).await.unwrap();
        // Between the two commands it was open.
        let kind = refused.map_err(|error| error.kind());
        assert!(matches!(kind, Ok(()) | Err(ErrorKind::WrongType)), "{kind:?}");
    }
    let error = latch.wait().await.unwrap_err();
    assert_eq!((error.kind(), error.op()), (ErrorKind::WrongType, "wait for latch"));
}

#[tokio::test]
async fn a_lock_and_a_latch_of_one_name_refuse_each_other() {
    for place in Place::both() {
        let client = place.client().await;
        let (lock, latch) = (client.lock("both").unwrap(), client.latch("both").unwrap());
        let held = lock.acquire().await.unwrap();
        assert_eq!(latch.try_set_count(1).await.unwrap_err().kind(), ErrorKind::WrongType);
        assert_eq!(latch.wait().await.unwrap_err().kind(), ErrorKind::WrongType);
        held.release().await.unwrap();
        let (lock, latch) = (client.lock("other").unwrap(), client.latch("other").unwrap());
        latch.try_set_count(1).await.unwrap();
        assert_eq!(lock.try_acquire().await.map(drop).unwrap_err().kind(), ErrorKind::WrongType);
    }
}

/// Wherever it gives up: before its look, while that is under way, and while it waits.
#[tokio::test]
async fn a_wait_that_is_dropped_leaves_nothing() {
    let place = Place::server();
    let (server, latch) = (place.server.as_ref().unwrap(), &place.latches(1, HOUR).await[0]);
    latch.try_set_count(1).await.unwrap();
    for polls in 0..30 {
        let both = futures_join(latch.wait(), latch.wait_timeout(SOON));
        assert!(!dropped_after(polls, both).await, "it is not open");
    }
    assert_eq!(counts(latch).waiting, 0);
    soon("nobody watches", async {
        while latch.shared.latches().watched() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    nobody_listens(server).await;
    // And it can be waited for again.
    let waiter = waits(latch);
    waiting(&place, latch, 1, 1).await;
    latch.count_down().await.unwrap();
    soon("it opens", waiter).await.unwrap().unwrap();
}

/// Both at once; done when the first is.
async fn futures_join(one: impl Future<Output = Result<()>>, other: impl Future<Output = Result<bool>>) {
    tokio::select! {
        done = one => done.unwrap(),
        done = other => assert!(done.unwrap()),
    }
}

#[tokio::test]
async fn a_client_that_closes_refuses_its_waiters() {
    for place in Place::both() {
        let client = place.client().await;
        let latch = client.latch("ready").unwrap();
        latch.try_set_count(1).await.unwrap();
        let waiters: Vec<_> = (0..3).map(|_| waits(&latch)).collect();
        waiting(&place, &latch, 3, 1).await;
        client.close().await;
        for waiter in waiters {
            let error = soon("the refusal", waiter).await.unwrap().unwrap_err();
            assert_eq!((error.kind(), error.name()), (ErrorKind::Closed, Some("ready")));
        }
        for refused in [
            latch.wait().await,
            latch.count_down().await.map(drop),
            latch.try_set_count(1).await.map(drop),
            latch.count().await.map(drop),
            latch.delete().await.map(drop),
        ] {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Closed);
        }
        assert_eq!(place.client().await.latch("ready").unwrap().count().await.unwrap(), 1);
    }
}

/// It goes on while somebody waits, and the waiter while the runtime of the client does.
#[test]
fn a_runtime_that_is_shut_down_refuses_the_waiters() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let latch = runtime.block_on(async {
        let client = Client::connect("memory://").await.unwrap();
        let latch = client.latch("ready").unwrap();
        latch.try_set_count(1).await.unwrap();
        latch
    });
    let other = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    other.block_on(async {
        let mut wait = pin!(latch.wait());
        tokio::select! {
            biased;
            _ = &mut wait => panic!("it is not open"),
            () = settle() => {}
        }
        runtime.shutdown_background();
        let error = soon("the refusal", wait).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    });
}

#[tokio::test]
async fn a_full_server_counts_down_and_sets_nothing() {
    let server = Server::options().maxmemory(0).start();
    let client = Client::connect(&server.url()).await.unwrap();
    let (latch, open) = (client.latch("ready").unwrap(), client.latch("open").unwrap());
    latch.try_set_count(2).await.unwrap();
    server.cmd(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_eq!(latch.count_down().await.unwrap(), 1);
    assert_eq!(open.try_set_count(1).await.unwrap_err().kind(), ErrorKind::OutOfMemory);
    assert_eq!(latch.count_down().await.unwrap(), 0);
    assert_eq!(open.count_down().await.unwrap(), 0);
    assert!(!latch.delete().await.unwrap());
    server.cmd(&["CONFIG", "SET", "maxmemory", "0"]);
    assert!(open.try_set_count(1).await.unwrap(), "nothing was left of the refused one");
}

/// Requests come too late at first, and are made anew.
#[tokio::test]
async fn a_clock_that_jumps_between_calls_costs_no_count() {
    let (server, clock) = Server::with_clock();
    let start = 1_767_225_600_000_000;
    clock.freeze_at(start);
    let client = Client::connect(&server.url()).await.unwrap();
    let latch = client.latch("ready").unwrap();
    latch.try_set_count(5).await.unwrap();
    for (left, at) in [(4, start + 3_600_000_000), (3, start), (2, start + 61_000_000), (1, start + 90_000_000)] {
        clock.freeze_at(at);
        assert_eq!(latch.count_down().await.unwrap(), left);
    }
    clock.freeze_at(start + 7_200_000_000);
    assert!(latch.delete().await.unwrap());
    assert_eq!(server.keys().iter().filter(|key| key.starts_with(DONE)).count(), 1);
}
