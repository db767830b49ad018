//! A forced release: it ends every hold, whoever has it.

use super::*;
use crate::error::ErrorKind;
use crate::lease::LossReason;

#[tokio::test]
async fn a_forced_release_ends_holds_of_both_sides() {
    for place in Place::both() {
        let locks = place.prices(3).await;
        assert!(!locks[2].force_release().await.unwrap());
        let me = HolderId::fresh();
        let writes = locks[0].write().acquire_as(me, AcquireOptions::default()).await.unwrap();
        let reads = locks[0].read().acquire_as(me, AcquireOptions::default()).await.unwrap();
        assert!(locks[2].force_release().await.unwrap());
        for held in [writes, reads] {
            assert_eq!(soon("the loss", held.lost()).await, Some(LossReason::Deleted));
            assert_eq!(held.release().await.unwrap_err().kind(), ErrorKind::NotHeld);
        }
        let readers = [locks[0].read().acquire().await.unwrap(), locks[1].read().acquire().await.unwrap()];
        assert!(locks[2].force_release().await.unwrap());
        for held in readers {
            assert_eq!(soon("the loss", held.lost()).await, Some(LossReason::Deleted));
        }
        nothing_is_left(&locks[2]).await;
    }
}

#[tokio::test]
async fn ones_own_forced_release_ends_ones_own_holds_at_once() {
    for place in Place::both() {
        let lock = &place.prices(1).await[0];
        for side in [lock.read(), lock.write()] {
            let held = side.acquire().await.unwrap();
            assert!(lock.force_release().await.unwrap());
            assert_eq!((held.is_valid(), held.loss()), (false, Some(LossReason::Deleted)));
            // A reader would join a young hold that is valid.
            let next = side.try_acquire().await.unwrap().expect("it is free");
            assert!(next.token() > held.token() && next.is_valid());
            next.release().await.unwrap();
        }
        nothing_is_left(lock).await;
    }
}

#[tokio::test]
async fn waiters_get_it_at_once_by_a_forced_release() {
    for place in Place::both() {
        let locks = place.prices(5).await;
        for (held, waiting) in [(Side::Write, Side::Read), (Side::Read, Side::Write)] {
            let of = |lock: &RwLock, side| if side == Side::Read { lock.read() } else { lock.write() };
            let lost = of(&locks[0], held).acquire().await.unwrap();
            let waiter = waits(&of(&locks[1], waiting));
            queued(&locks[0], 1).await;
            let behind = waits(&of(&locks[2], waiting));
            queued(&locks[0], 2).await;
            let forced = std::time::Instant::now();
            assert!(locks[3].force_release().await.unwrap());
            let first = granted(waiter).await;
            assert!(forced.elapsed() < TOLD, "{:?}", forced.elapsed());
            // The next holder may be there when the server is asked.
            let loss = soon("the loss", lost.lost()).await;
            assert!(matches!(loss, Some(LossReason::Deleted | LossReason::Taken)), "{loss:?}");
            first.release().await.unwrap();
            granted(behind).await.release().await.unwrap();
        }
        nothing_is_left(&locks[0]).await;
    }
}

#[tokio::test]
async fn a_lock_that_is_stolen_has_its_new_writer_at_once() {
    for place in Place::both() {
        let locks = place.prices(3).await;
        let free = locks[0].write().steal().await.unwrap();
        let writes = locks[1].write().steal().await.unwrap();
        assert!(writes.token() > free.token());
        assert_eq!(soon("the loss", free.lost()).await, Some(LossReason::Taken));
        assert_eq!(free.release().await.unwrap_err().kind(), ErrorKind::NotHeld);
        assert!(writes.is_valid() && locks[1].inspect().await.unwrap().ours);
        writes.release().await.unwrap();
        let readers = [locks[0].read().acquire().await.unwrap(), locks[1].read().acquire().await.unwrap()];
        let held = locks[2].write().steal().await.unwrap();
        for reads in readers {
            assert_eq!(soon("the loss", reads.lost()).await, Some(LossReason::Taken));
        }
        held.extend(Duration::from_secs(40)).await.unwrap();
        held.release().await.unwrap();
        nothing_is_left(&locks[2]).await;
    }
}

#[tokio::test]
async fn those_that_wait_keep_their_places_when_a_lock_is_stolen() {
    for place in Place::both() {
        let locks = place.prices(4).await;
        let held = locks[0].write().acquire().await.unwrap();
        let (first, second) = (waits(&locks[1].write()), {
            queued(&locks[0], 1).await;
            waits(&locks[2].read())
        });
        queued(&locks[0], 2).await;
        let stolen = locks[3].write().steal().await.unwrap();
        assert_eq!(soon("the loss", held.lost()).await, Some(LossReason::Taken));
        assert_eq!(locks[0].inspect().await.unwrap().queued, 2);
        let token = stolen.token();
        stolen.release().await.unwrap();
        let first = granted(first).await;
        assert!(first.token() > token);
        first.release().await.unwrap();
        granted(second).await.release().await.unwrap();
        nothing_is_left(&locks[3]).await;
    }
}

#[tokio::test]
async fn ones_own_holds_are_lost_at_once_when_one_steals() {
    for place in Place::both() {
        let lock = &place.prices(1).await[0];
        for side in [lock.read(), lock.write()] {
            let held = side.acquire().await.unwrap();
            let waiter = waits(&lock.write());
            settle().await;
            let stolen = lock.write().steal().await.unwrap();
            assert_eq!((held.is_valid(), held.loss()), (false, Some(LossReason::Taken)));
            assert!(stolen.is_valid() && stolen.loss().is_none());
            stolen.release().await.unwrap();
            granted(waiter).await.release().await.unwrap();
        }
        nothing_is_left(lock).await;
    }
}

#[tokio::test]
async fn what_cannot_be_stolen_is_refused() {
    for place in Place::both() {
        let lock = &place.prices(1).await[0];
        assert_eq!(lock.read().steal().await.unwrap_err().kind(), ErrorKind::InvalidArgument);
        let me = HolderId::fresh();
        let reads = lock.read().acquire_as(me, AcquireOptions::default()).await.unwrap();
        let error = lock.write().steal_as(me, AcquireOptions::default()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Deadlock);
        assert!(reads.is_valid());
        let too_short = AcquireOptions::default().lease(crate::lease::Lease::Fixed(Duration::from_millis(1)));
        let error = lock.write().steal_as(HolderId::fresh(), too_short).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        reads.release().await.unwrap();
        nothing_is_left(lock).await;
    }
}
