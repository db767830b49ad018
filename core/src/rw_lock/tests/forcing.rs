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
