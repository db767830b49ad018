//! What stands on the server: other kinds under the same name, foreign data, and another number than the program's.

use std::sync::{Arc, Mutex};

use super::super::step::{Acquire, Release};
use super::*;
use crate::contended::Acquired;
use crate::error::ErrorKind;
use crate::event::Level;

/// Every call says WrongType.
async fn is_refused(pool: &Semaphore) {
    let errors = [
        pool.acquire().await.map(drop).unwrap_err(),
        pool.try_acquire_many(2).await.map(drop).unwrap_err(),
        pool.acquire_timeout(SOON).await.map(drop).unwrap_err(),
        pool.set_permits(5).await.unwrap_err(),
        pool.inspect().await.map(drop).unwrap_err(),
    ];
    for error in errors {
        assert_eq!((error.kind(), error.name()), (ErrorKind::WrongType, Some("pool")), "{error}");
    }
}

#[tokio::test]
async fn a_lock_and_a_semaphore_of_one_name_refuse_each_other() {
    for place in Place::both() {
        let client = place.client().await;
        let (lock, pool) = (client.lock("pool").unwrap(), client.semaphore("pool", 3).unwrap());
        let held = lock.acquire().await.unwrap();
        is_refused(&pool).await;
        assert!(held.is_valid());
        held.release().await.expect("the lock was left alone");
        let (lock, pool) = (client.lock("other").unwrap(), client.semaphore("other", 3).unwrap());
        let held = pool.acquire_many(2).await.unwrap();
        assert_eq!(lock.acquire().await.map(drop).unwrap_err().kind(), ErrorKind::WrongType);
        assert_eq!(lock.try_acquire().await.map(drop).unwrap_err().kind(), ErrorKind::WrongType);
        assert_eq!(pool.inspect().await.unwrap().available, 1);
        held.release().await.expect("the semaphore was left alone");
    }
}

#[tokio::test]
async fn foreign_data_under_the_name_is_left_alone() {
    let place = Place::server();
    let (server, pool) = (place.server.as_ref().unwrap(), &place.pools(1, 3).await[0]);
    let written: [&[&str]; 7] = [
        &["HSET", "pool", "field", "1"],
        &["RPUSH", "pool", "x"],
        &["SET", "pool", "many"],
        &["SET", "pool", ""],
        &["SET", "pool", "1.5"],
        &["SET", "pool", "007"],
        &["SET", "{pool}:timeout", "x"],
    ];
    for write in written {
        server.cmd(write);
        let dump = server.cmd(&["DUMP", write[1]]);
        is_refused(pool).await;
        assert_eq!(server.cmd(&["DUMP", write[1]]), dump, "{write:?}");
        assert_eq!(server.cmd(&["PTTL", write[1]]).int(), -1, "{write:?}");
        assert_eq!(server.keys(), [write[1]], "{write:?}");
        server.cmd(&["DEL", write[1]]);
    }
    pool.acquire().await.unwrap().release().await.unwrap();
}

/// Else it would hold up the next semaphore of this name until it is dropped as silent.
#[tokio::test]
async fn a_waiter_whose_key_was_replaced_leaves_the_queue() {
    for overwritten in ["pool", "{pool}:timeout"] {
        let place = Place::server();
        let server = place.server.as_ref().unwrap();
        let pools = place.pools(2, 1).await;
        let held = pools[0].acquire().await.unwrap();
        let waiter = waits(&pools[1], 1);
        queued(&pools[0], 1).await;
        server.cmd(&["DEL", overwritten]);
        server.cmd(&["RPUSH", overwritten, "x"]);
        assert_eq!(soon("the refusal", waiter).await.unwrap().unwrap_err().kind(), ErrorKind::WrongType);
        soon("it leaves", async {
            while server.cmd(&["EXISTS", "dlock_semaphore_queue:{pool}"]).int() == 1 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        // A look at the holds of the client may have come first, and found it gone.
        let kind = held.release().await.unwrap_err().kind();
        assert!(matches!(kind, ErrorKind::WrongType | ErrorKind::NotHeld), "{kind:?}");
    }
}

/// A grant that is an error to its caller must not have taken anything.
#[tokio::test]
async fn a_foreign_key_of_the_queue_costs_no_permit() {
    let place = Place::server();
    let server = place.server.as_ref().unwrap();
    let pools = place.pools(2, 1).await;
    let held = pools[0].acquire().await.unwrap();
    let waiter = waits(&pools[1], 1);
    queued(&pools[0], 1).await;
    server.cmd(&["SET", "dlock_semaphore_seen:{pool}", "x"]);
    held.release().await.expect("a release that is done is no error");
    let error = soon("the refusal", waiter).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongType, "{error}");
    assert_eq!(server.cmd(&["GET", "pool"]).text(), "1");
    assert_eq!(server.cmd(&["ZCARD", "{pool}:timeout"]).int(), 0);
}

/// The number of those that are available grows first, for where the server is full.
#[tokio::test]
async fn a_release_that_finds_foreign_permits_changes_nothing() {
    let place = Place::server();
    let (server, pool) = (place.server.as_ref().unwrap(), &place.pools(1, 9).await[0]);
    for permits in [1, 3] {
        let held = pool.acquire_many(permits).await.unwrap();
        let before = server.cmd(&["GET", "pool"]);
        server.cmd(&["SET", "{pool}:timeout", "x"]);
        assert_eq!(held.release().await.unwrap_err().kind(), ErrorKind::WrongType);
        assert_eq!(server.cmd(&["GET", "pool"]), before, "{permits} permits");
        server.cmd(&["DEL", "pool", "{pool}:timeout"]);
    }
}

#[tokio::test]
async fn another_number_on_the_server_is_warned_of_once() {
    for place in Place::both() {
        let pool = &place.pools(1, 3).await[0];
        pool.acquire().await.unwrap().release().await.unwrap();
        let events = Arc::<Mutex<Vec<String>>>::default();
        let (seen, mut config) = (events.clone(), Config::from_url(&place.url).unwrap());
        config.on_event(Arc::new(move |event| {
            if event.level == Level::Warn && event.name.as_deref() == Some("pool") {
                seen.lock().unwrap().push(event.message.clone());
            }
        }));
        let client = Client::connect_with(config).await.unwrap();
        let (same, other) = (client.semaphore("pool", 3).unwrap(), client.semaphore("pool", 5).unwrap());
        for _ in 0..3 {
            other.acquire().await.unwrap().release().await.unwrap();
            same.acquire().await.unwrap().release().await.unwrap();
        }
        soon("the warning", async {
            while events.lock().unwrap().is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        let told = events.lock().unwrap().clone();
        assert!(told[0].contains("has 3 permits on the server, and this program was told 5"), "{told:?}");
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(other.inspect().await.unwrap().permits, Some(3), "the server's number counts");
    }
}

#[tokio::test]
async fn the_same_number_on_the_server_is_no_warning() {
    let place = Place::memory();
    let events = Arc::<Mutex<Vec<String>>>::default();
    let (seen, mut config) = (events.clone(), Config::from_url(&place.url).unwrap());
    config.on_event(Arc::new(move |event| seen.lock().unwrap().push(event.message.clone())));
    let pool = Client::connect_with(config).await.unwrap().semaphore("pool", 3).unwrap();
    pool.acquire().await.unwrap().release().await.unwrap();
    settle().await;
    assert_eq!(*events.lock().unwrap(), [""; 0]);
}

/// Redisson takes and gives back permits by the same keys, and tells of it on the same channel.
#[tokio::test]
async fn a_permit_of_another_library_counts_and_wakes() {
    let place = Place::server();
    let server = place.server.as_ref().unwrap();
    let pool = &place.pools(1, 2).await[0];
    let held = pool.acquire().await.unwrap();
    server.cmd(&["ZADD", "{pool}:timeout", "922337203685477", "redisson's id 01"]);
    server.cmd(&["DECR", "pool"]);
    let waiter = waits(pool, 1);
    queued(pool, 1).await;
    soon("the head listens for it", async {
        while server.cmd(&["PUBSUB", "NUMSUB", "redisson_sc:{pool}"]).array()[1].int() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    server.cmd(&["ZREM", "{pool}:timeout", "redisson's id 01"]);
    server.cmd(&["INCR", "pool"]);
    let told = std::time::Instant::now();
    server.cmd(&["PUBLISH", "redisson_sc:{pool}", "1"]);
    let next = granted(waiter).await;
    assert!(told.elapsed() < Duration::from_millis(500));
    next.release().await.unwrap();
    held.release().await.unwrap();
    nothing_is_left(pool).await;
}

/// Of many expired permits one script takes back a part. A repeat of their acquire then finds the rest, and takes what is
/// missing.
#[tokio::test]
async fn a_repeat_that_finds_a_part_of_its_permits_loses_none() {
    for place in Place::both() {
        let pool = &place.pools(1, 2000).await[0];
        let context = pool.client();
        let lease = Duration::from_millis(100);
        let step = Acquire {
            owner: format!("{}/600", context.next_owner()),
            others: vec![],
            lease,
            waits: false,
            total: 2000,
        };
        let again = async |step: &Acquire| context.operate(pool.shared.name(), step).await.unwrap().reply;
        assert!(matches!(again(&step).await, Acquired::Granted { .. }));
        let rest = pool.acquire_many(1400).await.unwrap();
        shows(pool, "the lease is over", |seen| seen.available == 600).await;
        let reclaims = pool.try_acquire_many(100).await.unwrap().unwrap();
        rest.release().await.unwrap();
        assert!(matches!(again(&step).await, Acquired::Granted { .. }));
        assert_eq!(pool.inspect().await.unwrap().permits, Some(2000));
        context.operate(pool.shared.name(), &Release { owner: step.owner }).await.unwrap();
        reclaims.release().await.unwrap();
        assert_eq!(pool.inspect().await.unwrap().available, 2000);
    }
}
