//! What stands on the server: other kinds under the same name, foreign data, and a full server's rules.

use super::*;

/// Every call says WrongType.
async fn is_refused(slots: &CountingSemaphore) {
    let errors = [
        slots.acquire().await.unwrap_err(),
        slots.try_acquire_many(2).await.unwrap_err(),
        slots.acquire_timeout(SOON).await.unwrap_err(),
        slots.release().await.unwrap_err(),
        slots.add_permits(-1).await.unwrap_err(),
        slots.try_set_permits(5).await.unwrap_err(),
        slots.drain().await.unwrap_err(),
        slots.available().await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!((error.kind(), error.name()), (ErrorKind::WrongType, Some("slots")), "{error}");
    }
}

#[tokio::test]
async fn a_lock_and_a_counting_semaphore_refuse_each_other() {
    for place in Place::both() {
        let slots = &place.slots(1, 3).await[0];
        let client = place.client().await;
        assert_eq!(client.lock("slots").unwrap().acquire().await.map(drop).unwrap_err().kind(), ErrorKind::WrongType);
        slots.acquire_many(3).await.expect("it was left alone");
        let held = client.lock("other").unwrap().acquire().await.unwrap();
        let other = client.counting_semaphore("other").unwrap();
        assert_eq!(other.release().await.unwrap_err().kind(), ErrorKind::WrongType);
        held.release().await.expect("the lock was left alone");
    }
}

/// What this would add, the other would give out without a lease.
#[tokio::test]
async fn a_semaphore_with_leased_permits_is_refused() {
    for place in Place::both() {
        let client = place.client().await;
        let (slots, pool) = (client.counting_semaphore("slots").unwrap(), client.semaphore("slots", 3).unwrap());
        let held = pool.acquire().await.unwrap();
        is_refused(&slots).await;
        assert_eq!(pool.inspect().await.unwrap().available, 2);
        held.release().await.unwrap();
        assert_eq!(pool.inspect().await.unwrap().available, 3);
    }
}

#[tokio::test]
async fn foreign_data_under_the_name_is_left_alone() {
    let place = Place::server();
    let server = place.server.as_ref().unwrap();
    let slots = place.client().await.counting_semaphore("slots").unwrap();
    let written: [&[&str]; 7] = [
        &["HSET", "slots", "field", "1"],
        &["RPUSH", "slots", "x"],
        &["SET", "slots", "many"],
        &["SET", "slots", ""],
        &["SET", "slots", "1.5"],
        &["SET", "slots", "007"],
        &["ZADD", "{slots}:timeout", "1", "a permit"],
    ];
    for write in written {
        server.cmd(write);
        let dump = server.cmd(&["DUMP", write[1]]);
        is_refused(&slots).await;
        assert_eq!(server.cmd(&["DUMP", write[1]]), dump, "{write:?}");
        assert_eq!(server.keys(), [write[1]], "{write:?}");
        server.cmd(&["DEL", write[1]]);
    }
    slots.release().await.unwrap();
    slots.acquire().await.unwrap();
}

/// An error to the caller must have taken and brought nothing.
#[tokio::test]
async fn foreign_keys_beside_the_number_cost_no_permit() {
    let place = Place::server();
    let server = place.server.as_ref().unwrap();
    for key in [DONE, "dlock_counting_seen:{slots}", QUEUE] {
        server.cmd(&["FLUSHALL"]);
        let slots = place.slots(2, 1).await;
        slots[0].acquire().await.unwrap();
        let waiter = waits(&slots[1], 1);
        queued(&slots[0], 1).await;
        server.cmd(&["SET", key, "x"]);
        let released = slots[0].release().await;
        let error = soon("the refusal", waiter).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WrongType, "{key}: {error}");
        let expected = if key == DONE { "0" } else { "1" };
        assert_eq!(released.is_err(), key == DONE, "{key}: a release that is done is no error");
        assert_eq!(server.cmd(&["GET", "slots"]).text(), expected, "{key}");
        server.cmd(&["DEL", key]);
        slots.iter().for_each(|slots| drop(slots.clone()));
    }
}

#[tokio::test]
async fn the_number_has_no_end_and_keeps_one_that_it_was_given() {
    let place = Place::server();
    let server = place.server.as_ref().unwrap();
    let slots = &place.slots(1, 3).await[0];
    let calls = async || {
        slots.acquire_many(2).await.unwrap();
        slots.release().await.unwrap();
        slots.add_permits(2).await.unwrap();
        slots.drain().await.unwrap();
        slots.add_permits(3).await.unwrap();
    };
    calls().await;
    assert_eq!(server.cmd(&["PTTL", "slots"]).int(), -1);
    server.cmd(&["PEXPIRE", "slots", "60000"]);
    calls().await;
    assert!((1..=60_000).contains(&server.cmd(&["PTTL", "slots"]).int()));
    // What is remembered lasts for a minute, and its key for at most one more.
    assert!((1..=120_002).contains(&server.cmd(&["PTTL", DONE]).int()));
    assert_eq!(server.keys(), [DONE, "slots"]);
    // A request has the server forget those before it that were answered.
    for _ in 0..50 {
        slots.acquire().await.unwrap();
        slots.release().await.unwrap();
    }
    let remembered = server.cmd(&["ZCARD", DONE]).int();
    assert!(remembered <= 4, "{remembered} ids");
}

#[tokio::test]
async fn the_number_is_announced_only_when_permits_came() {
    let place = Place::server();
    let server = place.server.as_ref().unwrap();
    let mut redisson = server.connect();
    redisson.cmd(&["SUBSCRIBE", "redisson_sc:{slots}"]).unwrap();
    let slots = &place.slots(1, 2).await[0];
    slots.acquire_many(2).await.unwrap();
    slots.add_permits(-3).await.unwrap();
    slots.release_many(3).await.unwrap();
    slots.add_permits(4).await.unwrap();
    slots.drain().await.unwrap();
    slots.release().await.unwrap();
    // The numbers that are available then; the 0 in front says that it is libdlock's.
    for expected in ["02", "04", "01"] {
        assert_eq!(redisson.read().unwrap().array()[2].text(), expected);
    }
}
