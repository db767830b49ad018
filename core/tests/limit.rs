//! What a rate limiter does, seen from outside, on `memory://` with a clock that the test moves.

use std::time::Duration;

use crate::common::{client, settle};
use libdlock::limit::{Absent, LimiterOptions};
use libdlock::{Client, Decision, ErrorKind, ManualClock, Rate, RateLimiter, Wait};
use tokio::sync::mpsc;

const SECOND: Duration = Duration::from_secs(1);

async fn limiter(rate: Rate) -> (RateLimiter, ManualClock) {
    let (client, clock) = client().await;
    (client.rate_limiter("api", rate).unwrap(), clock)
}

/// Starts to wait for `cost` tokens; what comes of it is sent with `id`.
async fn waiting(limiter: &RateLimiter, id: u32, cost: u64, wait: Wait, done: &mpsc::UnboundedSender<(u32, Decision)>) {
    let (limiter, done) = (limiter.clone(), done.clone());
    tokio::spawn(async move { done.send((id, limiter.acquire(cost, wait).await.unwrap())) });
    settle().await;
}

#[tokio::test]
async fn odd_periods_and_costs_are_refused_with_what_is_allowed() {
    let (client, _clock) = client().await;
    let refused = |rate: Rate| client.rate_limiter("api", rate).unwrap_err();
    for rate in [
        Rate::new(1, Duration::from_nanos(1_500)),
        Rate::new(1, Duration::MAX),
        Rate::new(u64::MAX, SECOND),
        Rate::new(1, SECOND).burst(u64::MAX),
    ] {
        assert_eq!(refused(rate).kind(), ErrorKind::InvalidArgument, "{rate:?}");
    }
    assert!(client.rate_limiter("api", Rate::new(1, Duration::from_micros(1))).is_ok());
    assert!(client.rate_limiter("api", Rate::new(1, Duration::from_secs(100 * 31_557_600))).is_ok());
    let api = client.rate_limiter("api", Rate::new(1, SECOND)).unwrap();
    for cost in [2, u64::MAX] {
        for never in [api.try_acquire(cost).await.unwrap(), api.acquire(cost, Wait::Forever).await.unwrap()] {
            assert_eq!((never.allowed, never.retry_after, never.refused_by), (false, None, Some(0)));
            assert_eq!((never.limit, never.remaining), (1, 1));
        }
    }
    let share = |of| LimiterOptions::new(Rate::new(1, SECOND)).absent(Absent::LocalShare { of });
    assert_eq!(client.rate_limiter_with("api", share(0)).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert!(client.rate_limiter_with("api", share(1_000_000)).is_ok());
    assert_eq!(client.rate_limiter("a{", Rate::new(1, SECOND)).unwrap_err().kind(), ErrorKind::InvalidName);
}

#[tokio::test]
async fn a_lock_and_a_limiter_of_one_name_do_not_meet() {
    let (client, _clock) = client().await;
    let held = client.lock("both").unwrap().acquire().await.unwrap();
    assert!(client.rate_limiter("both", Rate::new(1, SECOND)).unwrap().try_acquire(1).await.unwrap().allowed);
    held.release().await.unwrap();
}

#[tokio::test]
async fn those_who_wait_are_served_in_the_order_in_which_they_came() {
    let (limiter, clock) = limiter(Rate::new(10, SECOND).burst(5)).await;
    assert!(limiter.try_acquire(5).await.unwrap().allowed);
    let (done, mut served) = mpsc::unbounded_channel();
    // The second would be content with less, and sooner.
    for (id, cost) in [(1, 5), (2, 1), (3, 2)] {
        waiting(&limiter, id, cost, Wait::Forever, &done).await;
    }
    for (ms, expected) in [(499, None), (1, Some(1)), (99, None), (1, Some(2)), (199, None), (1, Some(3))] {
        clock.advance(Duration::from_millis(ms));
        settle().await;
        assert_eq!(served.try_recv().ok().map(|(id, decision)| (id, decision.allowed)), expected.map(|id| (id, true)));
    }
}

#[tokio::test]
async fn a_wait_that_is_too_short_is_refused_at_once() {
    let (limiter, clock) = limiter(Rate::new(1, SECOND)).await;
    assert!(limiter.try_acquire(1).await.unwrap().allowed);
    let refused = limiter.acquire(1, Wait::For(SECOND / 2)).await.unwrap();
    assert!(!refused.allowed && refused.granted == 0);
    assert_eq!(refused.retry_after, Some(SECOND));
    clock.advance(SECOND);
    assert!(limiter.acquire(1, Wait::For(SECOND / 2)).await.unwrap().allowed);
}

#[tokio::test]
async fn a_wait_behind_others_that_is_too_short_is_refused_at_once() {
    let (limiter, clock) = limiter(Rate::new(1, SECOND).burst(10)).await;
    assert!(limiter.try_acquire(10).await.unwrap().allowed);
    let (done, mut served) = mpsc::unbounded_channel();
    waiting(&limiter, 1, 10, Wait::Forever, &done).await;
    // Ten seconds for the one in front, and one more.
    let refused = limiter.acquire(1, Wait::For(10 * SECOND)).await.unwrap();
    assert_eq!((refused.allowed, refused.remaining, refused.retry_after), (false, 0, Some(11 * SECOND)));
    assert!(refused.server_time.is_some());
    assert!(!limiter.try_acquire(1).await.unwrap().allowed);
    waiting(&limiter, 2, 1, Wait::For(11 * SECOND), &done).await;
    for expected in [1, 2] {
        clock.advance(if expected == 1 { 10 * SECOND } else { SECOND });
        settle().await;
        let (id, decision) = served.try_recv().unwrap();
        assert_eq!((id, decision.allowed, decision.retry_after), (expected, true, Some(Duration::ZERO)));
    }
}

#[tokio::test]
async fn what_a_waiter_gives_up_goes_to_others() {
    let (limiter, clock) = limiter(Rate::new(1, SECOND).burst(2)).await;
    assert!(limiter.try_acquire(2).await.unwrap().allowed);
    let waiters: Vec<_> = (0..5)
        .map(|_| {
            let limiter = limiter.clone();
            tokio::spawn(async move { limiter.acquire(1, Wait::Forever).await })
        })
        .collect();
    settle().await;
    assert_eq!(limiter.peek().await.unwrap().retry_after, Some(6 * SECOND));
    // All at once: what they leave is given back one by one, the last first.
    waiters[..4].iter().for_each(tokio::task::JoinHandle::abort);
    settle().await;
    assert_eq!(limiter.peek().await.unwrap().retry_after, Some(2 * SECOND), "one waits");
    clock.advance(SECOND);
    settle().await;
    assert!(waiters.into_iter().nth(4).unwrap().await.unwrap().unwrap().allowed, "it has moved up");
}

#[tokio::test]
async fn a_dropped_waiter_gives_up_its_place_and_spends_nothing() {
    let (limiter, clock) = limiter(Rate::new(1, SECOND)).await;
    assert!(limiter.try_acquire(1).await.unwrap().allowed);
    let first = tokio::spawn({
        let limiter = limiter.clone();
        async move { limiter.acquire(1, Wait::Forever).await }
    });
    settle().await;
    let (done, mut served) = mpsc::unbounded_channel();
    waiting(&limiter, 2, 1, Wait::Forever, &done).await;
    first.abort();
    settle().await;
    clock.advance(SECOND);
    settle().await;
    assert_eq!(served.try_recv().unwrap().0, 2);
}

#[tokio::test]
async fn a_reset_fills_the_bucket_and_looking_spends_nothing() {
    let (limiter, _clock) = limiter(Rate::new(3, SECOND)).await;
    assert_eq!(limiter.try_acquire(3).await.unwrap().remaining, 0);
    assert!(!limiter.peek().await.unwrap().allowed);
    limiter.reset().await.unwrap();
    for _ in 0..3 {
        let seen = limiter.peek().await.unwrap();
        assert_eq!((seen.allowed, seen.granted, seen.remaining), (true, 0, 3));
    }
}

#[tokio::test]
async fn a_wait_after_a_reset_is_not_behind_longer_ones() {
    let (limiter, clock) = limiter(Rate::new(2, SECOND).burst(60)).await;
    assert!(limiter.try_acquire(60).await.unwrap().allowed);
    let (done, mut served) = mpsc::unbounded_channel();
    waiting(&limiter, 1, 60, Wait::Forever, &done).await;
    waiting(&limiter, 2, 1, Wait::Forever, &done).await; // in 30.5 s
    limiter.reset().await.unwrap();
    assert!(limiter.try_acquire(60).await.unwrap().allowed);
    waiting(&limiter, 3, 1, Wait::For(SECOND), &done).await; // in 0.5 s
    clock.advance(SECOND / 2);
    settle().await;
    assert_eq!(served.try_recv().ok().map(|(id, decision)| (id, decision.allowed)), Some((3, true)));
    clock.advance(30 * SECOND);
    settle().await;
    let mut rest = [served.try_recv().unwrap().0, served.try_recv().unwrap().0];
    rest.sort_unstable();
    assert_eq!(rest, [1, 2]);
}

#[tokio::test]
async fn clients_that_share_a_name_share_the_bucket() {
    let rate = Rate::new(5, 3600 * SECOND);
    let mut granted = 0;
    // The store lives as long as its clients.
    let mut clients = Vec::new();
    for _ in 0..4 {
        let client = Client::connect("memory://shared-bucket").await.unwrap();
        let limiter = client.rate_limiter("api", rate).unwrap();
        for _ in 0..2 {
            granted += limiter.try_acquire(1).await.unwrap().granted;
        }
        clients.push(client);
    }
    assert_eq!(granted, 5);
}

#[tokio::test]
async fn closing_ends_waits_and_what_comes_after() {
    let (client, _clock) = client().await;
    let limiter = client.rate_limiter("api", Rate::new(1, SECOND)).unwrap();
    assert!(limiter.try_acquire(1).await.unwrap().allowed);
    let waiter = tokio::spawn({
        let limiter = limiter.clone();
        async move { limiter.acquire(1, Wait::Forever).await }
    });
    settle().await;
    client.close().await;
    for error in [waiter.await.unwrap().unwrap_err(), limiter.try_acquire(1).await.unwrap_err()] {
        assert_eq!((error.kind(), error.name()), (ErrorKind::Closed, Some("api")));
    }
    assert_eq!(limiter.reset().await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn a_rate_of_nothing_refuses_at_once_whatever_the_wait() {
    let (limiter, _clock) = limiter(Rate::new(0, SECOND)).await;
    for cost in [1, 1_000_000] {
        let refused = limiter.acquire(cost, Wait::Forever).await.unwrap();
        assert!(!refused.allowed);
        assert_eq!((refused.limit, refused.retry_after), (0, None));
    }
}
