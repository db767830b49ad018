//! What it costs to count: core's own counters, without anything to count.

// Core keeps them to itself; they stand on nothing but std.
#[allow(dead_code, unused_imports, reason = "only the dearest events are measured")]
#[path = "../../../core/src/stats/mod.rs"]
mod stats;

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::protocol;
use stats::{HoldCounts, Way};

/// So many between two looks at the clock.
const BATCH: u32 = 1000;

/// A hold's two events again and again: that it was granted after a wait, and that it was released.
pub fn counting(length: Duration) -> Result<(), Box<dyn Error>> {
    let counters = HoldCounts::default();
    protocol::ready()?;
    let begun = Instant::now();
    let mut done = 0_u64;
    while begun.elapsed() < length {
        for each in 0..BATCH {
            let counters = black_box(&counters);
            counters.acquired(Duration::from_micros(each.into()), Way::Local);
            counters.released(Duration::from_micros(each.into()));
        }
        done += 2 * u64::from(BATCH);
    }
    let seconds = begun.elapsed().as_secs_f64();
    Ok(protocol::answer(&format!(r#"{{"done": {done}, "seconds": {seconds:.6}}}"#))?)
}
