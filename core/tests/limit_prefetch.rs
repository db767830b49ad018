//! What a limiter does that fetches tokens ahead, seen from outside, on `memory://` with a clock that the test moves.

use std::time::Duration;

use crate::common::{client, settle};
use libdlock::limit::LimiterOptions;
use libdlock::{Client, ErrorKind, Rate, RateLimiter, Wait};

const SECOND: Duration = Duration::from_secs(1);

/// 1,000 tokens a second, 10,000 at once.
fn rate() -> Rate {
    Rate::new(1_000, SECOND).burst(10_000)
}

fn prefetching(client: &Client, share: f64) -> RateLimiter {
    client.rate_limiter_with("api", LimiterOptions::new(rate()).prefetch(share)).unwrap()
}

/// Takes tokens one by one: how many decisions needed no server.
async fn take(limiter: &RateLimiter, tokens: u64) -> u64 {
    let mut at_once = 0;
    for _ in 0..tokens {
        match limiter.try_acquire_now(1) {
            Some(decision) => {
                assert!(decision.allowed, "{decision:?}");
                at_once += 1;
            }
            None => assert!(limiter.try_acquire(1).await.unwrap().allowed),
        }
    }
    settle().await;
    at_once
}

/// What others could have now.
async fn remaining(client: &Client) -> u64 {
    client.rate_limiter("api", rate()).unwrap().peek().await.unwrap().remaining
}

#[tokio::test]
async fn a_share_out_of_range_is_refused() {
    let (client, _clock) = client().await;
    for share in [0.0, -0.1, 1.1, f64::NAN, f64::INFINITY] {
        let options = LimiterOptions::new(rate()).prefetch(share);
        assert_eq!(client.rate_limiter_with("api", options).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    let nothing = client.rate_limiter_with("api", LimiterOptions::new(rate()).prefetch(-0.0)).unwrap_err();
    assert!(nothing.message().starts_with("a prefetch of 0 of the burst"), "{nothing}");
    assert!(client.rate_limiter_with("api", LimiterOptions::new(rate()).prefetch(1.0)).is_ok());
}

#[tokio::test]
async fn most_of_many_calls_need_no_server_and_few_all_do() {
    let (client, clock) = client().await;
    let limiter = prefetching(&client, 0.05);
    assert!(limiter.try_acquire_now(1).is_none());
    for _ in 0..5 {
        clock.advance(SECOND);
        assert_eq!(take(&limiter, 1).await, 0);
    }
    assert!(take(&limiter, 2_000).await > 1_950);
    let stats = client.stats().limiter;
    assert_eq!((stats.granted, stats.tokens, stats.by_policy), (2_005, 2_005, 0));
}

#[tokio::test]
async fn what_remains_counts_what_was_fetched() {
    let (client, _clock) = client().await;
    let limiter = prefetching(&client, 0.05);
    for taken in 1..=1_000 {
        let decision = limiter.try_acquire(1).await.unwrap();
        assert_eq!((decision.allowed, decision.remaining), (true, 10_000 - taken));
        assert!(decision.server_time.is_some());
    }
}

#[tokio::test]
async fn a_client_never_has_more_than_its_share() {
    let (client, _clock) = client().await;
    let limiter = prefetching(&client, 0.05);
    for taken in 1..=2_000 {
        assert!(limiter.try_acquire(1).await.unwrap().allowed);
        settle().await;
        let fetched = 10_000 - taken - remaining(&client).await;
        assert!(fetched <= 500, "{fetched} tokens that were not used, after {taken}");
    }
}

#[tokio::test]
async fn what_is_not_used_is_given_back_when_the_calls_end() {
    let (client, clock) = client().await;
    let limiter = prefetching(&client, 0.05);
    take(&limiter, 1_000).await;
    assert!(remaining(&client).await < 9_000);
    for _ in 0..3 {
        clock.advance(Duration::from_millis(60));
        settle().await;
    }
    assert_eq!(remaining(&client).await, 9_000 + 180);
}

#[tokio::test]
async fn what_is_not_used_is_given_back_with_the_last_limiter() {
    let (client, _clock) = client().await;
    let (limiter, same) = (prefetching(&client, 0.05), prefetching(&client, 0.05));
    take(&limiter, 1_000).await;
    drop(limiter);
    settle().await;
    assert!(remaining(&client).await < 9_000, "the other one goes on with it");
    drop(same);
    settle().await;
    assert_eq!(remaining(&client).await, 9_000);
}

#[tokio::test]
async fn a_client_that_closes_gives_back_what_is_not_used() {
    for releasing in [false, true] {
        // Of one store: on the machine's clock, since nothing else is shared.
        let url = format!("memory://closed-{releasing}");
        let (one, other) = (Client::connect(&url).await.unwrap(), Client::connect(&url).await.unwrap());
        let limiter = prefetching(&one, 0.05);
        take(&limiter, 1_000).await;
        let kept = remaining(&other).await;
        match releasing {
            false => one.close().await,
            true => one.close_releasing().await.unwrap(),
        }
        // More than the rate brings meanwhile.
        let now = remaining(&other).await;
        assert!(now >= 9_000 && now > kept + 100, "{now} after {kept}");
        assert!(limiter.try_acquire_now(1).is_none());
        assert_eq!(limiter.try_acquire(1).await.unwrap_err().kind(), ErrorKind::Closed);
    }
}

#[tokio::test]
async fn a_refusal_holds_for_a_moment_and_no_longer() {
    let (client, clock) = client().await;
    let limiter = prefetching(&client, 0.05);
    take(&limiter, 10_000).await;
    let refused = limiter.try_acquire(1).await.unwrap();
    assert!(!refused.allowed && refused.remaining == 0, "{refused:?}");
    let refused = limiter.try_acquire_now(1).expect("known without the server");
    let after = refused.retry_after.unwrap();
    assert!(!refused.allowed && after <= Duration::from_millis(34) && after >= Duration::from_millis(1), "{refused:?}");
    clock.advance(after);
    assert!(limiter.try_acquire(1).await.unwrap().allowed);
}

#[tokio::test]
async fn a_large_cost_gets_what_is_here_and_there_together() {
    let (client, _clock) = client().await;
    let limiter = prefetching(&client, 1.0);
    let mut left = 10_000;
    loop {
        take(&limiter, 1).await;
        left -= 1;
        if left <= 300 {
            break;
        }
    }
    assert!(limiter.try_acquire(300).await.unwrap().allowed);
    assert!(!limiter.try_acquire(1).await.unwrap().allowed);
}

#[tokio::test]
async fn who_waits_gets_tokens_at_once_or_in_time() {
    let (client, clock) = client().await;
    let limiter = prefetching(&client, 0.05);
    for _ in 0..10_000 {
        assert!(limiter.acquire(1, Wait::For(SECOND)).await.unwrap().allowed);
    }
    let waiting = tokio::spawn({
        let limiter = limiter.clone();
        async move { limiter.acquire(1, Wait::For(SECOND)).await.unwrap() }
    });
    settle().await;
    assert!(!waiting.is_finished());
    clock.advance(Duration::from_millis(1));
    settle().await;
    assert!(waiting.is_finished() && waiting.await.unwrap().allowed);
    assert_eq!(client.stats().limiter.refused, 0);
}

#[tokio::test]
async fn a_reset_fills_the_bucket_and_no_more() {
    let (client, _clock) = client().await;
    let limiter = prefetching(&client, 0.05);
    take(&limiter, 1_000).await;
    limiter.reset().await.unwrap();
    assert_eq!(limiter.peek().await.unwrap().remaining, 10_000);
    take(&limiter, 10_000).await;
    assert!(!limiter.try_acquire(1).await.unwrap().allowed);
}

#[tokio::test]
async fn a_block_holds_for_what_was_fetched_before() {
    let (client, clock) = client().await;
    let (limiter, of_another_share) = (prefetching(&client, 0.05), prefetching(&client, 0.1));
    for limiter in [&limiter, &of_another_share] {
        take(limiter, 1_000).await;
    }
    limiter.block(SECOND).await.unwrap();
    settle().await;
    for limiter in [&limiter, &of_another_share] {
        let refused = limiter.try_acquire(1).await.unwrap();
        assert!(!refused.allowed && refused.retry_after == Some(SECOND), "{refused:?}");
        assert_eq!((refused.refused_by, refused.remaining), (None, 0), "{refused:?}");
    }
    clock.advance(SECOND);
    assert!(limiter.try_acquire(1).await.unwrap().allowed);
    // What was fetched and not used is not lost.
    limiter.reset().await.unwrap();
    take(&limiter, 1_000).await;
    assert!(remaining(&client).await < 9_000);
    limiter.block(SECOND).await.unwrap();
    settle().await;
    limiter.block(Duration::ZERO).await.unwrap();
    assert_eq!(remaining(&client).await, 9_000);
}

#[tokio::test]
async fn a_limiter_that_is_too_slow_asks_for_each() {
    let (client, _clock) = client().await;
    let hourly = LimiterOptions::new(Rate::new(100, 3600 * SECOND)).prefetch(0.5);
    let limiter = client.rate_limiter_with("slow", hourly).unwrap();
    for left in (0..100).rev() {
        assert!(limiter.try_acquire_now(1).is_none());
        assert_eq!(limiter.try_acquire(1).await.unwrap().remaining, left);
    }
}
