//! One limiter and a great many keys, each of which is asked for once.

use std::error::Error;
use std::time::{Duration, Instant};

use libdlock::{Client, Rate};

use crate::protocol;

/// So many keys in a batch, in every language.
pub const BATCH: usize = 100;

/// One key of so many is asked for by itself.
const BY_ITSELF: usize = 10;

/// A rate by the algorithm of this name.
fn by(algorithm: &str, tokens: u64, period: Duration) -> Result<Rate, String> {
    Ok(Rate::new(tokens, period).by(algorithm.parse().map_err(|error: libdlock::Error| error.to_string())?))
}

/// So many tokens that nobody is refused.
pub fn plenty(algorithm: &str) -> Result<Rate, String> {
    by(algorithm, if algorithm == "sliding_log" { 100_000 } else { 1_000_000 }, Duration::from_secs(1))
}

/// Asks for so many keys, nine of ten in batches.
pub async fn keys(client: &Client, count: usize, algorithm: &str) -> Result<(), Box<dyn Error>> {
    let limiter = client.rate_limiter("bench", by(algorithm, 1, Duration::from_secs(24 * 3600))?)?;
    limiter.try_acquire_many(&batch("warm", 0)).await?;
    protocol::ready()?;
    let (begun, mut done) = (Instant::now(), 0);
    while done < count {
        if (done / BATCH).is_multiple_of(BY_ITSELF) {
            for (key, cost) in batch("user", done) {
                assert!(limiter.keyed(&key)?.try_acquire(cost).await?.allowed);
            }
        } else {
            for answer in limiter.try_acquire_many(&batch("user", done)).await? {
                assert!(answer?.allowed);
            }
        }
        done += BATCH;
    }
    let seconds = begun.elapsed().as_secs_f64();
    Ok(protocol::answer(&format!(r#"{{"done": {done}, "seconds": {seconds:.6}}}"#))?)
}

/// The keys from the `first` on, with a cost of one token each.
pub fn batch(prefix: &str, first: usize) -> Vec<(String, u64)> {
    (first..first + BATCH).map(|number| (format!("{prefix}:{number}"), 1)).collect()
}
