//! What stands on the server: Redisson's layout, foreign data, and what Redisson itself writes there.

use libdlock_testkit::{Reply, Server};

use super::super::step::{Acquire, Release, field_of};
use super::*;
use crate::contended::Acquired;
use crate::error::ErrorKind;

const REDISSON: &str = "6e3814a1-e847-452b-a982-45baf93a1df2:1";

/// The fields of the lock, sorted by name.
fn fields(server: &Server) -> Vec<(String, String)> {
    let all = server.cmd(&["HGETALL", "prices"]);
    let all: Vec<&str> = all.array().iter().map(Reply::text).collect();
    let mut fields: Vec<_> = all.chunks(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect();
    fields.sort();
    fields
}

fn pairs(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut fields: Vec<_> = fields.iter().map(|(field, text)| ((*field).to_owned(), (*text).to_owned())).collect();
    fields.sort();
    fields
}

fn timeout_of(owner: &str, n: u64) -> String {
    format!("{{prices}}:{owner}:rwlock_timeout:{n}")
}

#[tokio::test]
async fn the_keys_are_those_of_redisson() {
    let place = Place::server();
    let (server, lock) = (place.server.as_ref().unwrap(), &place.prices(1).await[0]);
    let me = HolderId::fresh();
    let writes = lock.write().acquire_as(me, AcquireOptions::default()).await.unwrap();
    assert!(writes.owner().ends_with(":write"));
    assert_eq!(fields(server), pairs(&[("mode", "write"), (writes.owner(), "1")]));
    let reads = lock.read().acquire_as(me, AcquireOptions::default()).await.unwrap();
    assert_eq!(fields(server), pairs(&[("mode", "write"), (writes.owner(), "1"), (reads.owner(), "1")]));
    for (held, key) in [(&writes, timeout_of(writes.owner(), 1)), (&reads, timeout_of(reads.owner(), 1))] {
        assert_eq!(server.cmd(&["GET", &key]).text(), held.token().to_string());
        assert!((25_000..=30_000).contains(&server.cmd(&["PTTL", &key]).int()));
    }
    writes.release().await.unwrap();
    assert_eq!(fields(server), pairs(&[("mode", "read"), (reads.owner(), "1")]));
    assert!((25_000..=30_000).contains(&server.cmd(&["PTTL", "prices"]).int()));
    reads.release().await.unwrap();
    assert_eq!(server.keys(), ["redisson_lock_token:{prices}"]);
}

#[tokio::test]
async fn redisson_is_told_what_it_waits_for() {
    let place = Place::server();
    let (server, lock) = (place.server.as_ref().unwrap(), &place.prices(1).await[0]);
    let mut listener = server.connect();
    listener.cmd(&["SUBSCRIBE", "redisson_rwlock:{prices}"]).unwrap();
    let mut heard = || listener.read().unwrap().array()[2].text().to_owned();
    lock.read().acquire().await.unwrap().release().await.unwrap();
    assert_eq!(heard(), "0", "the last reader has gone");
    lock.write().acquire().await.unwrap().release().await.unwrap();
    assert_eq!([heard(), heard()], ["1", "0"], "the writer has gone");
    let reads = lock.write().acquire().await.unwrap().downgrade().await.unwrap();
    assert_eq!([heard(), heard()], ["1", "0"], "Redisson's own downgrade says nothing");
    reads.release().await.unwrap();
    assert_eq!(heard(), "0");
}

/// As Redisson does it: it changes the keys and says so on its channel.
#[tokio::test]
async fn a_release_of_redisson_wakes_those_that_wait() {
    for (mode, field) in [("read", REDISSON.to_owned()), ("write", format!("{REDISSON}:write"))] {
        let place = Place::server();
        let (server, lock) = (place.server.as_ref().unwrap(), &place.prices(1).await[0]);
        server.cmd(&["HSET", "prices", "mode", mode, &field, "1"]);
        server.cmd(&["PEXPIRE", "prices", "30000"]);
        server.cmd(&["SET", &timeout_of(REDISSON, 1), "1", "PX", "30000"]);
        let waiter = waits(&lock.write());
        queued(lock, 1).await;
        soon("the head listens for it", async {
            while server.cmd(&["PUBSUB", "NUMSUB", "redisson_rwlock:{prices}"]).array()[1].int() == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        server.cmd(&["DEL", "prices", &timeout_of(REDISSON, 1)]);
        let told = std::time::Instant::now();
        server.cmd(&["PUBLISH", "redisson_rwlock:{prices}", if mode == "read" { "0" } else { "1" }]);
        granted(waiter).await.release().await.unwrap();
        assert!(told.elapsed() < TOLD, "{:?}", told.elapsed());
        nothing_is_left(lock).await;
    }
}

#[tokio::test]
async fn a_reader_of_redisson_reads_beside_ours() {
    let place = Place::server();
    let (server, lock) = (place.server.as_ref().unwrap(), &place.prices(1).await[0]);
    let reads = lock.read().acquire().await.unwrap();
    server.cmd(&["HSET", "prices", REDISSON, "2"]);
    for n in 1..=2 {
        server.cmd(&["SET", &timeout_of(REDISSON, n), "1", "PX", "5000"]);
    }
    assert_eq!(lock.inspect().await.unwrap().readers, 2);
    reads.release().await.unwrap();
    assert_eq!(fields(server), pairs(&[("mode", "read"), (REDISSON, "2")]));
    assert!((1..=5_000).contains(&server.cmd(&["PTTL", "prices"]).int()), "for as long as Redisson's lease");
    assert!(lock.write().try_acquire().await.unwrap().is_none());
    lock.read().acquire().await.unwrap().release().await.unwrap();
    // Its lease runs out, beside a hold of ours.
    let reads = lock.read().acquire().await.unwrap();
    server.cmd(&["DEL", &timeout_of(REDISSON, 1), &timeout_of(REDISSON, 2)]);
    reads.release().await.unwrap();
    nothing_is_left(lock).await;
    assert_eq!(server.cmd(&["EXISTS", "prices"]).int(), 0);
}

/// Redisson's own forced release leaves the keys that end with its readers.
#[tokio::test]
async fn a_forced_release_leaves_no_key_of_a_hold() {
    let place = Place::server();
    let (server, lock) = (place.server.as_ref().unwrap(), &place.prices(1).await[0]);
    let mut listener = server.connect();
    listener.cmd(&["SUBSCRIBE", "redisson_rwlock:{prices}"]).unwrap();
    let mut heard = || listener.read().unwrap().array()[2].text().to_owned();
    let reads = lock.read().acquire().await.unwrap();
    server.cmd(&["HSET", "prices", REDISSON, "2"]);
    for n in 1..=2 {
        server.cmd(&["SET", &timeout_of(REDISSON, n), "1", "PX", "30000"]);
    }
    assert!(lock.force_release().await.unwrap());
    assert_eq!(server.keys(), ["redisson_lock_token:{prices}"]);
    assert_eq!([heard(), heard()], ["1", "0"]);
    assert_eq!(reads.loss(), Some(crate::lease::LossReason::Deleted));
    server.cmd(&["HSET", "prices", "mode", "write", &format!("{REDISSON}:write"), "2"]);
    assert!(lock.force_release().await.unwrap());
    assert_eq!(server.keys(), ["redisson_lock_token:{prices}"]);
    server.cmd(&["HSET", "prices", "other", "1"]);
    assert_eq!(lock.force_release().await.unwrap_err().kind(), ErrorKind::WrongType);
    assert_eq!(fields(server), pairs(&[("other", "1")]));
}

/// Every call says WrongType.
async fn is_refused(lock: &RwLock) {
    for side in [lock.read(), lock.write()] {
        let errors = [
            side.acquire().await.map(drop).unwrap_err(),
            side.try_acquire().await.map(drop).unwrap_err(),
            side.acquire_timeout(SOON).await.map(drop).unwrap_err(),
        ];
        for error in errors {
            assert_eq!((error.kind(), error.name()), (ErrorKind::WrongType, Some("prices")), "{error}");
        }
    }
    assert_eq!(lock.inspect().await.map(drop).unwrap_err().kind(), ErrorKind::WrongType);
}

#[tokio::test]
async fn foreign_data_under_the_name_is_left_alone() {
    let place = Place::server();
    let (server, lock) = (place.server.as_ref().unwrap(), &place.prices(1).await[0]);
    let written: [&[&str]; 5] = [
        &["HSET", "prices", "field", "1"],
        &["HSET", "prices", "mode", "shared"],
        &["RPUSH", "prices", "x"],
        &["SET", "prices", "many"],
        &["ZADD", "prices", "1", "x"],
    ];
    for write in written {
        server.cmd(write);
        let dump = server.cmd(&["DUMP", "prices"]);
        is_refused(lock).await;
        assert_eq!(server.cmd(&["DUMP", "prices"]), dump, "{write:?}");
        assert_eq!(server.cmd(&["PTTL", "prices"]).int(), -1, "{write:?}");
        assert_eq!(server.keys(), ["prices"], "{write:?}");
        server.cmd(&["DEL", "prices"]);
    }
    lock.read().acquire().await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_token_key_with_something_else_refuses_every_grant() {
    let place = Place::server();
    let (server, lock) = (place.server.as_ref().unwrap(), &place.prices(1).await[0]);
    server.cmd(&["SET", "redisson_lock_token:{prices}", "many"]);
    for side in [lock.read(), lock.write()] {
        assert_eq!(side.acquire().await.map(drop).unwrap_err().kind(), ErrorKind::WrongType);
    }
    assert_eq!(server.keys(), ["redisson_lock_token:{prices}"]);
    assert_eq!(server.cmd(&["GET", "redisson_lock_token:{prices}"]).text(), "many");
}

#[tokio::test]
async fn locks_of_two_kinds_with_one_name_refuse_each_other() {
    for place in Place::both() {
        let client = place.client().await;
        let held = client.lock("prices").unwrap().acquire().await.unwrap();
        is_refused(&client.rw_lock("prices").unwrap()).await;
        held.release().await.expect("the lock was left alone");
        let (lock, rw) = (client.lock("stock").unwrap(), client.rw_lock("stock").unwrap());
        for side in [rw.read(), rw.write()] {
            let held = side.acquire().await.unwrap();
            assert_eq!(lock.try_acquire().await.map(drop).unwrap_err().kind(), ErrorKind::WrongType);
            assert_eq!(lock.acquire().await.map(drop).unwrap_err().kind(), ErrorKind::WrongType);
            held.release().await.expect("the read-write lock was left alone");
        }
    }
}

/// Else it would hold up the next lock of this name until it is dropped as silent.
#[tokio::test]
async fn a_waiter_whose_key_was_replaced_leaves_the_queue() {
    let place = Place::server();
    let server = place.server.as_ref().unwrap();
    let locks = place.prices(2).await;
    let held = locks[0].read().acquire().await.unwrap();
    let waiter = waits(&locks[1].write());
    queued(&locks[0], 1).await;
    server.cmd(&["DEL", "prices"]);
    server.cmd(&["RPUSH", "prices", "x"]);
    assert_eq!(soon("the refusal", waiter).await.unwrap().unwrap_err().kind(), ErrorKind::WrongType);
    soon("it leaves", async {
        while server.cmd(&["EXISTS", "dlock_rw_queue:{prices}"]).int() == 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    // A look at the holds of the client may have come first, and found it gone.
    let kind = held.release().await.unwrap_err().kind();
    assert!(matches!(kind, ErrorKind::WrongType | ErrorKind::NotHeld), "{kind:?}");
}

/// As after a lost reply: the second finds what the first did, though other readers have come since.
#[tokio::test]
async fn a_repeat_gets_the_token_that_it_was_given_before() {
    for place in Place::both() {
        let lock = &place.prices(1).await[0];
        let context = lock.shared.client();
        for side in [Side::Read, Side::Write] {
            let field = field_of(context.next_owner(), side);
            let lease = Duration::from_secs(5);
            let step =
                Acquire { field: field.clone(), lease, token_ttl: None, waits: true, under: None, steals: false };
            let again = async || context.operate(lock.shared.name(), &step).await.unwrap().reply;
            let Acquired::Granted { token, .. } = again().await else { panic!("it is free") };
            let other = lock.read().try_acquire().await.unwrap();
            assert_eq!(other.is_some(), side == Side::Read);
            let repeated = again().await;
            assert!(matches!(repeated, Acquired::Granted { token: same, .. } if same == token), "{repeated:?}");
            drop(other);
            shows(lock, "one is left", |seen| seen.readers + u64::from(seen.writer.is_some()) == 1).await;
            context.operate(lock.shared.name(), &Release { field }).await.unwrap();
            nothing_is_left(lock).await;
        }
    }
}
