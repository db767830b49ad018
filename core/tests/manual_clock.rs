//! A clock that stands still, and a program that waits for it: the call ends with an error that says what to do.

use std::time::{Duration, Instant};

use crate::common::client;
use libdlock::{Error, ErrorKind, Rate, Wait};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_wait_for_a_clock_that_nobody_moves_is_refused() {
    let (client, _clock) = client().await;
    let stock = client.lock("stock").unwrap();
    let held = stock.acquire().await.unwrap();
    let limiter = client.rate_limiter("api", Rate::new(1, SECOND)).unwrap();
    assert!(limiter.try_acquire(1).await.unwrap().allowed);
    let latch = client.latch("ready").unwrap();
    latch.try_set_count(1).await.unwrap();
    let begun = Instant::now();
    let (locked, limited, opened, lost) = tokio::join!(
        stock.acquire_timeout(SECOND),
        limiter.acquire(1, Wait::Forever),
        latch.wait_timeout(SECOND),
        held.lost_within(Wait::For(SECOND)),
    );
    let refused: [Error; 4] =
        [locked.map(drop).unwrap_err(), limited.unwrap_err(), opened.unwrap_err(), lost.map(drop).unwrap_err()];
    for error in refused {
        assert_eq!(error.kind(), ErrorKind::Clock, "{error}");
        assert!(error.message().contains("ManualClock that has not moved for 10s"), "{error}");
    }
    assert!(begun.elapsed() >= 10 * SECOND, "{:?}", begun.elapsed());
    // Nothing waits any more, and what the limiter had reserved is free again.
    assert_eq!(client.stats().lock.waiting, 0);
    held.release().await.unwrap();
    stock.try_acquire().await.unwrap().expect("it is free").release().await.unwrap();
}

/// Waits without an end hear of a release, whatever the clock does.
#[tokio::test]
async fn a_clock_that_moves_now_and_then_is_waited_for() {
    let (client, clock) = client().await;
    let stock = client.lock("stock").unwrap();
    let held = stock.acquire().await.unwrap();
    let waiting = tokio::spawn({
        let stock = stock.clone();
        async move { stock.acquire_timeout(60 * SECOND).await }
    });
    for _ in 0..3 {
        tokio::time::sleep(4 * SECOND).await;
        clock.advance(SECOND);
        assert!(!waiting.is_finished());
    }
    held.release().await.unwrap();
    waiting.await.unwrap().unwrap().release().await.unwrap();
}
