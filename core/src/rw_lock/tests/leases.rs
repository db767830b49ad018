//! What is held is leased: renewal, extension, loss.

use super::*;
use crate::error::ErrorKind;
use crate::lease::{HoldState, Lease, LossReason};

const SECOND: Duration = Duration::from_secs(1);

fn fixed(lease: Duration) -> AcquireOptions {
    AcquireOptions::default().lease(Lease::Fixed(lease))
}

#[tokio::test]
async fn the_lock_is_free_when_the_last_lease_has_run_out() {
    let (client, clock) = still_client().await;
    let lock = client.rw_lock("prices").unwrap();
    for side in [lock.read(), lock.write()] {
        let held = side.acquire_with(fixed(10 * SECOND)).await.unwrap();
        clock.advance(9 * SECOND);
        assert!(lock.write().try_acquire().await.unwrap().is_none());
        clock.advance(2 * SECOND);
        assert_eq!(soon("the loss", held.lost()).await, Some(LossReason::Expired));
        let next = lock.write().try_acquire().await.unwrap().unwrap();
        assert_eq!(held.release().await.unwrap_err().kind(), ErrorKind::NotHeld);
        assert!(next.is_valid() && lock.inspect().await.unwrap().writer.is_some());
        next.release().await.unwrap();
    }
    assert_eq!(counts(&lock).lost, 2);
    nothing_is_left(&lock).await;
}

#[tokio::test]
async fn the_watchdog_keeps_both_sides_over_many_leases() {
    let (client, clock) = still_client().await;
    let (prices, stock) = (client.rw_lock("prices").unwrap(), client.rw_lock("stock").unwrap());
    let held = [
        prices.read().acquire().await.unwrap(),
        prices.read().acquire_with(fixed(3600 * SECOND)).await.unwrap(),
        stock.write().acquire().await.unwrap(),
    ];
    for _ in 0..100 {
        clock.advance(SECOND);
        settle().await;
    }
    assert!(held.iter().all(|held| held.is_valid() && held.state() == HoldState::Held));
    assert_eq!(prices.inspect().await.unwrap().readers, 2);
    assert!(counts(&prices).renewals >= 2 * 20, "{:?}", counts(&prices).renewals);
    for held in held {
        held.release().await.unwrap();
    }
    nothing_is_left(&prices).await;
    nothing_is_left(&stock).await;
}

/// A reader whose lease runs out beside others leaves nothing that keeps a writer out.
#[tokio::test]
async fn a_lease_that_runs_out_beside_others_keeps_nobody_out() {
    let (client, clock) = still_client().await;
    let lock = client.rw_lock("prices").unwrap();
    let dead = lock.read().acquire_with(fixed(SECOND)).await.unwrap();
    let reads = lock.read().acquire_with(fixed(10 * SECOND)).await.unwrap();
    clock.advance(2 * SECOND);
    assert_eq!((dead.is_valid(), lock.inspect().await.unwrap().readers), (false, 1));
    reads.release().await.unwrap();
    lock.write().try_acquire().await.unwrap().unwrap().release().await.unwrap();
}

/// A writer that reads as well has leases for both: the shorter one ends alone.
#[tokio::test]
async fn a_writer_whose_lease_is_over_may_go_on_as_a_reader() {
    for place in Place::both() {
        let locks = place.prices(3).await;
        let me = HolderId::fresh();
        let writes = locks[0].write().acquire_as(me, fixed(SECOND / 2)).await.unwrap();
        let reads = locks[0].read().acquire_as(me, AcquireOptions::default()).await.unwrap();
        let waiters = [waits(&locks[1].read()), waits(&locks[2].read())];
        queued(&locks[0], 2).await;
        for waiter in waiters {
            granted(waiter).await.release().await.unwrap();
        }
        assert_eq!(writes.loss(), Some(LossReason::Expired));
        assert!(reads.is_valid());
        let seen = locks[0].inspect().await.unwrap();
        assert_eq!((seen.writer, seen.readers), (None, 1));
        assert_eq!(writes.release().await.unwrap_err().kind(), ErrorKind::NotHeld);
        reads.release().await.unwrap();
        nothing_is_left(&locks[0]).await;
    }
}

#[tokio::test]
async fn a_lease_that_runs_out_lets_waiters_through() {
    for place in Place::both() {
        let locks = place.prices(3).await;
        let asked = std::time::Instant::now();
        let held = locks[0].write().acquire_with(fixed(SECOND / 2)).await.unwrap();
        let waiters = [waits(&locks[1].read()), waits(&locks[2].read())];
        queued(&locks[0], 2).await;
        for waiter in waiters {
            let got = granted(waiter).await;
            assert!(!held.is_valid());
            assert!((SECOND / 2..3 * SECOND / 2).contains(&asked.elapsed()), "{:?}", asked.elapsed());
            got.release().await.unwrap();
        }
        nothing_is_left(&locks[0]).await;
    }
}

#[tokio::test]
async fn an_extension_prolongs_and_never_shortens() {
    for place in Place::both() {
        let lock = &place.prices(1).await[0];
        for side in [lock.read(), lock.write()] {
            let held = side.acquire_with(fixed(10 * SECOND)).await.unwrap();
            held.extend(60 * SECOND).await.unwrap();
            held.extend(20 * SECOND).await.unwrap();
            assert!(held.remaining() > 50 * SECOND);
            assert!(lock.inspect().await.unwrap().ttl > Some(50 * SECOND));
            for lease in [Duration::ZERO, Duration::from_millis(99), 25 * 3600 * SECOND] {
                assert_eq!(held.extend(lease).await.unwrap_err().kind(), ErrorKind::InvalidArgument);
            }
            held.release().await.unwrap();
        }
    }
}

#[tokio::test]
async fn keys_that_are_gone_are_a_loss_that_the_renewal_finds() {
    let place = Place::server();
    let server = place.server.as_ref().unwrap();
    let client = place.client().await;
    let lock = client.rw_lock_with("prices", RwLockOptions::default().watchdog_lease(SECOND)).unwrap();
    for (side, own_key) in [(lock.read(), false), (lock.write(), false), (lock.read(), true), (lock.write(), true)] {
        let held = side.acquire().await.unwrap();
        let key = if own_key { format!("{{prices}}:{}:rwlock_timeout:1", held.owner()) } else { "prices".to_owned() };
        assert_eq!(server.cmd(&["DEL", &key]).int(), 1, "{key}");
        assert_eq!(soon("the loss", held.lost()).await, Some(LossReason::Deleted));
        assert_eq!(held.release().await.unwrap_err().kind(), ErrorKind::NotHeld);
        server.cmd(&["DEL", "prices"]);
    }
}

#[tokio::test]
async fn an_extension_finds_out_that_it_is_lost() {
    let place = Place::server();
    let lock = &place.prices(1).await[0];
    let held = lock.read().acquire_with(fixed(10 * SECOND)).await.unwrap();
    // Others have it now. In one step: the client may look at any time.
    let script = "redis.call('DEL', 'prices') return redis.call('HSET', 'prices', 'mode', 'write', 'x:write', '1')";
    place.server.as_ref().unwrap().cmd(&["EVAL", script, "0"]);
    assert_eq!(held.extend(20 * SECOND).await.unwrap_err().kind(), ErrorKind::NotHeld);
    assert_eq!(held.loss(), Some(LossReason::Taken));
}
