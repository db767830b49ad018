//! How long callers waited for a lock that many want: gathered while it is measured, and told as a histogram.

use std::fmt::Write;
use std::time::{Duration, Instant};

/// Before a window is counted, all processes are at work; it begins so long after the start.
pub const WARM_UP: Duration = Duration::from_millis(500);

/// One caller's share of a run: holds that began within the window count, all others only keep the lock wanted.
pub struct Waits {
    from: Instant,
    to: Instant,
    counted: Vec<u64>, // ns
    all: u64,
}

impl Waits {
    /// A window of that length, counted from the start of all.
    pub fn new(begun: Instant, length: Duration) -> Waits {
        let from = begun + WARM_UP;
        Waits { from, to: from + length, counted: Vec::new(), all: 0 }
    }

    /// Whether there is time for another hold that was asked for now.
    pub fn goes_on(&self, asked: Instant) -> bool {
        asked < self.to
    }

    /// A hold was asked for then, and granted now.
    pub fn granted(&mut self, asked: Instant) {
        let now = Instant::now();
        self.all += 1;
        if self.from <= now && now < self.to {
            self.counted.push((now - asked).as_nanos() as u64);
        }
    }
}

/// What all callers of the process have gathered, as JSON: how many holds there were in the window and in all, and their waits
/// in buckets of which 32 double the time (bucket n is 2^(n/32) ns).
pub fn told(callers: &[Waits], length: Duration) -> String {
    let mut buckets = std::collections::BTreeMap::<i64, u64>::new();
    let mut sum = 0;
    for &wait in callers.iter().flat_map(|caller| &caller.counted) {
        *buckets.entry((32.0 * (wait.max(1) as f64).log2()).round() as i64).or_default() += 1;
        sum += wait;
    }
    let done: u64 = buckets.values().sum();
    let all: u64 = callers.iter().map(|caller| caller.all).sum();
    let mut list = String::new();
    for (bucket, count) in buckets {
        let comma = if list.is_empty() { "" } else { ", " };
        write!(list, "{comma}[{bucket}, {count}]").expect("a String takes everything");
    }
    let (seconds, waited) = (length.as_secs_f64(), sum as f64 * 1e-9);
    format!(r#"{{"done": {done}, "seconds": {seconds}, "all": {all}, "waited": {waited}, "waits": [{list}]}}"#)
}
