//! What a rate limiter does, seen from outside, on `memory://` with a clock that the test moves.

mod common;

use std::time::Duration;

use common::{client, settle};
use libdlock::{Absent, Client, Decision, ErrorKind, LimiterOptions, ManualClock, Rate, RateLimiter, Wait};
use serde_json::Value;
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
async fn the_vectors_hold() {
    let vectors: Value = serde_json::from_str(include_str!("../../tests/vectors/gcra.json")).unwrap();
    let (client, _clock) = client().await;
    let rate = |row: &Value| -> Option<Rate> {
        let per = Duration::from_millis(row["per_ms"].as_u64()?);
        let rate = Rate::new(row["tokens"].as_u64()?, per);
        match &row["burst"] {
            Value::Null => Some(rate),
            burst => Some(rate.burst(burst.as_u64()?)),
        }
    };
    let ms = |length: Duration| length.as_micros().div_ceil(1_000) as u64;
    for (number, row) in vectors["limiters"].as_array().unwrap().iter().enumerate() {
        let limiter = client.rate_limiter(&format!("vector-{number}"), rate(row).unwrap()).unwrap();
        for call in row["calls"].as_array().unwrap() {
            let decision = limiter.try_acquire(call["cost"].as_u64().unwrap()).await.unwrap();
            let what = format!("{}: {call}", row["why"]);
            assert_eq!(decision.allowed, call["allowed"].as_bool().unwrap(), "{what}");
            assert_eq!(decision.granted, call["granted"].as_u64().unwrap(), "{what}");
            assert_eq!(decision.remaining, call["remaining"].as_u64().unwrap(), "{what}");
            assert_eq!(decision.retry_after.map(ms), call["retry_after_ms"].as_u64(), "{what}");
            assert_eq!(Some(ms(decision.reset_after)), call["reset_after_ms"].as_u64(), "{what}");
            assert_eq!(decision.limit, row["limit"].as_u64().unwrap(), "{what}");
        }
    }
    // Numbers below zero cannot be said in Rust.
    for row in vectors["invalid_rates"].as_array().unwrap() {
        if let Some(rate) = rate(row) {
            let error = client.rate_limiter("api", rate).unwrap_err();
            assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("api")), "{row}");
        }
    }
    for row in vectors["invalid_costs"].as_array().unwrap() {
        if let Some(cost) = row["cost"].as_u64() {
            let error = client.rate_limiter("api", rate(row).unwrap()).unwrap().try_acquire(cost).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{row}");
            assert!(error.message().contains(&cost.to_string()), "{error}");
        }
    }
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
        assert_eq!(api.try_acquire(cost).await.unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert_eq!(api.acquire(cost, Wait::Forever).await.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    let share = |of| LimiterOptions { rate: Rate::new(1, SECOND), absent: Absent::LocalShare { of } };
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
async fn a_wait_that_cannot_be_long_enough_is_refused_at_once_and_spends_nothing() {
    let (limiter, clock) = limiter(Rate::new(1, SECOND)).await;
    assert!(limiter.try_acquire(1).await.unwrap().allowed);
    let refused = limiter.acquire(1, Wait::For(SECOND / 2)).await.unwrap();
    assert!(!refused.allowed && refused.granted == 0);
    assert_eq!(refused.retry_after, Some(SECOND));
    clock.advance(SECOND);
    assert!(limiter.acquire(1, Wait::For(SECOND / 2)).await.unwrap().allowed);
}

#[tokio::test]
async fn a_wait_that_ends_in_the_line_is_refused_with_what_is_known() {
    let (limiter, clock) = limiter(Rate::new(1, SECOND).burst(10)).await;
    assert!(limiter.try_acquire(10).await.unwrap().allowed);
    let (done, mut served) = mpsc::unbounded_channel();
    waiting(&limiter, 1, 10, Wait::Forever, &done).await;
    waiting(&limiter, 2, 10, Wait::For(2 * SECOND), &done).await;
    clock.advance(2 * SECOND);
    settle().await;
    let (id, decision) = served.try_recv().unwrap();
    assert_eq!((id, decision.allowed, decision.remaining, decision.server_time), (2, false, 2, None));
    assert_eq!(decision.retry_after, Some(8 * SECOND));
}

#[tokio::test]
async fn one_behind_a_larger_cost_is_not_told_to_come_back_at_once() {
    let (limiter, clock) = limiter(Rate::new(1, SECOND).burst(10)).await;
    assert!(limiter.try_acquire(10).await.unwrap().allowed);
    let (done, mut served) = mpsc::unbounded_channel();
    waiting(&limiter, 1, 10, Wait::Forever, &done).await;
    waiting(&limiter, 2, 1, Wait::For(3 * SECOND), &done).await;
    clock.advance(3 * SECOND);
    settle().await;
    let (id, decision) = served.try_recv().unwrap();
    // Three tokens are there, and the one in front waits seven seconds more for ten of them.
    assert_eq!((id, decision.allowed, decision.remaining), (2, false, 3));
    assert_eq!(decision.retry_after, Some(7 * SECOND));
}

#[tokio::test]
async fn a_waiter_that_is_dropped_gives_its_place_up_and_spends_nothing() {
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
async fn a_rate_of_nothing_refuses_at_once_however_long_one_would_wait() {
    let (limiter, _clock) = limiter(Rate::new(0, SECOND)).await;
    for cost in [1, 1_000_000] {
        let refused = limiter.acquire(cost, Wait::Forever).await.unwrap();
        assert!(!refused.allowed);
        assert_eq!((refused.limit, refused.retry_after), (0, None));
    }
}
