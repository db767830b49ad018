//! How many permits there are: what every call makes of the number, and which numbers are refused.

use super::*;
use crate::counting_semaphore::MAX_PERMITS;

#[tokio::test]
async fn only_the_first_sets_how_many_permits_there_are() {
    for place in Place::both() {
        let slots = &place.slots(2, 3).await;
        assert!(!slots[1].try_set_permits(5).await.unwrap());
        assert!(!slots[0].try_set_permits(3).await.unwrap(), "it was there already");
        let seen = slots[1].inspect().await.unwrap();
        assert_eq!((seen.exists, seen.available, seen.queued), (true, 3, 0));
    }
}

#[tokio::test]
async fn a_semaphore_that_is_not_there_has_no_permits() {
    for place in Place::both() {
        let slots = place.client().await.counting_semaphore("slots").unwrap();
        assert_eq!(slots.available().await.unwrap(), 0);
        assert!(!slots.try_acquire().await.unwrap());
        assert_eq!(slots.drain().await.unwrap(), 0);
        assert!(!slots.inspect().await.unwrap().exists, "asking makes none");
        let waiter = waits(&slots, 2);
        queued(&slots, 1).await;
        assert!(slots.try_set_permits(2).await.unwrap());
        granted(waiter).await;
        assert_eq!(slots.available().await.unwrap(), 0);
    }
}

#[tokio::test]
async fn a_release_of_what_nobody_acquired_adds_permits() {
    for place in Place::both() {
        let slots = place.client().await.counting_semaphore("slots").unwrap();
        slots.release_many(3).await.unwrap();
        assert_eq!(slots.available().await.unwrap(), 3, "as Redisson, which makes a semaphore by it");
        slots.release().await.unwrap();
        assert!(slots.try_acquire_many(4).await.unwrap());
        let CountingSemaphoreStats { acquired, released, .. } = counts(&slots);
        assert_eq!((acquired, released), (1, 2));
    }
}

#[tokio::test]
async fn permits_are_added_and_taken_away_below_zero() {
    for place in Place::both() {
        let slots = &place.slots(1, 2).await[0];
        slots.add_permits(-5).await.unwrap();
        assert_eq!(slots.available().await.unwrap(), -3);
        assert!(!slots.try_acquire().await.unwrap());
        slots.release_many(3).await.unwrap();
        assert!(!slots.try_acquire().await.unwrap(), "there are none yet");
        slots.add_permits(1).await.unwrap();
        assert!(slots.try_acquire().await.unwrap());
    }
}

#[tokio::test]
async fn draining_says_how_many_there_were() {
    for place in Place::both() {
        let slots = &place.slots(1, 7).await[0];
        assert_eq!(slots.drain().await.unwrap(), 7);
        assert_eq!(slots.drain().await.unwrap(), 0);
        slots.add_permits(-4).await.unwrap();
        assert_eq!(slots.drain().await.unwrap(), -4);
        assert_eq!(slots.available().await.unwrap(), 0, "Redisson makes it 0, too");
    }
}

#[tokio::test]
async fn numbers_that_are_out_of_range_are_refused() {
    for place in Place::both() {
        let slots = &place.slots(1, 1).await[0];
        let over = MAX_PERMITS + 1;
        let errors = [
            slots.acquire_many(0).await.unwrap_err(),
            slots.try_acquire_many(0).await.unwrap_err(),
            slots.acquire_many(over).await.unwrap_err(),
            slots.acquire_within(u32::MAX, Wait::Try).await.unwrap_err(),
            slots.release_many(0).await.unwrap_err(),
            slots.release_many(over).await.unwrap_err(),
            slots.release_many(u32::MAX).await.unwrap_err(),
            slots.try_set_permits(over).await.unwrap_err(),
            slots.add_permits(0).await.unwrap_err(),
            slots.add_permits(i32::MIN).await.unwrap_err(),
            // The server refuses these.
            slots.release_many(MAX_PERMITS).await.unwrap_err(),
            slots.add_permits(i32::MAX).await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("slots")), "{error}");
        }
        assert_eq!(slots.available().await.unwrap(), 1);
        slots.release_many(MAX_PERMITS - 1).await.unwrap();
        assert!(slots.try_acquire_many(MAX_PERMITS).await.unwrap());
        slots.add_permits(-i32::MAX).await.unwrap();
        assert_eq!(slots.add_permits(-1).await.unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert_eq!(slots.available().await.unwrap(), -i64::from(MAX_PERMITS));
    }
}

/// What a process does on its own store must not grow with what it did before.
#[tokio::test]
async fn nothing_is_remembered_where_no_reply_is_lost() {
    let slots = &Place::memory().slots(1, 1).await[0];
    for _ in 0..100 {
        slots.acquire().await.unwrap();
        slots.release().await.unwrap();
    }
    // One that gives up with its permit on the way has it undone all the same.
    for polls in 0..50 {
        if crate::contended::place::dropped_after(polls, slots.acquire()).await {
            slots.release().await.unwrap();
        }
        all_are_back(slots, 1).await;
    }
}
