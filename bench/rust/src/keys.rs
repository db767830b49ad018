//! One limiter and a great many keys, each of which is asked for once.

use std::error::Error;
use std::time::{Duration, Instant};

use libdlock::{Client, Rate};

use crate::protocol;

/// So many keys in a batch, in every language.
pub const BATCH: usize = 100;

/// One key of so many is asked for by itself.
const BY_ITSELF: usize = 10;

/// Asks for so many keys, nine of ten in batches.
pub async fn keys(client: &Client, count: usize) -> Result<(), Box<dyn Error>> {
    let limiter = client.rate_limiter("bench", Rate::new(1, Duration::from_secs(24 * 3600)))?;
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
