//! What the kinds of limiters do together: keys, batches, prefetch and Redisson's algorithm.

use std::time::Duration;

use libdlock::limit::{Algorithm, LimiterOptions};
use libdlock::{Client, ErrorKind, Rate};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn keys_and_batches_work_with_the_algorithm_of_redisson() {
    let client = Client::connect("memory://").await.unwrap();
    let rate = Rate::new(2, MINUTE).by(Algorithm::Redisson { per_client: false });
    let api = client.rate_limiter("api", rate).unwrap();
    assert!(api.keyed("a").unwrap().try_acquire(2).await.unwrap().allowed);
    let answers = api.try_acquire_many(&[("a", 1), ("b", 2), ("b", 1), ("", 1), ("c", 3)]).await.unwrap();
    let allowed: Vec<Option<bool>> =
        answers.iter().map(|answer| answer.as_ref().ok().map(|decision| decision.allowed)).collect();
    assert_eq!(allowed, [Some(false), Some(true), Some(false), None, Some(false)]);
    assert_eq!(answers[3].as_ref().unwrap_err().kind(), ErrorKind::InvalidName);
    assert_eq!(answers[4].as_ref().unwrap().retry_after, None, "more than the rate");
}

#[tokio::test]
async fn a_prefetch_is_for_the_own_algorithm_alone() {
    let client = Client::connect("memory://").await.unwrap();
    let rate = Rate::new(1_000, MINUTE).by(Algorithm::Redisson { per_client: false });
    let refused = client.rate_limiter_with("api", LimiterOptions::new(rate).prefetch(0.5)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    assert!(refused.to_string().contains("gcra"), "{refused}");
}

#[tokio::test]
async fn a_key_of_a_limiter_that_fetches_ahead_asks_the_server() {
    let client = Client::connect("memory://").await.unwrap();
    let rate = Rate::new(1_000_000, Duration::from_secs(1));
    let api = client.rate_limiter_with("api", LimiterOptions::new(rate).prefetch(0.5)).unwrap();
    let key = api.keyed("a").unwrap();
    for _ in 0..10 {
        assert!(key.try_acquire(1).await.unwrap().server_time.is_some());
        assert!(key.try_acquire_now(1).is_none());
    }
}
