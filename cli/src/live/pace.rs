//! Rests between requests, so that the server is never busy with them for more than a small share of its time.

use std::time::{Duration, Instant};

use tokio::time::sleep;

/// The part of one of the server's processors that reading takes at most.
pub const SHARE: f64 = 0.03;

/// What the server does for a request besides what is measured: it reads it and writes the answers.
const UNSEEN: f64 = 1.5;

/// No rest is longer: a server that was slow once is not slow for ever.
const LONGEST: Duration = Duration::from_secs(5);

pub struct Pace {
    /// How long the server has been busy since [`Pace::begin`], as estimated.
    busy: Duration,
    began: Instant,
}

impl Pace {
    pub fn new() -> Pace {
        Pace { busy: Duration::ZERO, began: Instant::now() }
    }

    /// From now on the work is counted anew.
    pub fn begin(&mut self) {
        (self.busy, self.began) = (Duration::ZERO, Instant::now());
    }

    /// The share of a processor since [`Pace::begin`], over `every` at least.
    pub fn share(&self, every: Duration) -> f64 {
        self.busy.as_secs_f64() / self.began.elapsed().max(every).as_secs_f64()
    }

    pub fn took(&self) -> Duration {
        self.began.elapsed()
    }

    /// Rests after requests on which the server has spent so much processor time.
    pub async fn rest_after(&mut self, busy: Duration) {
        let busy = busy.mul_f64(UNSEEN);
        self.busy += busy;
        sleep(rest(busy)).await;
    }
}

/// So long that `busy` is [`SHARE`] of it all.
fn rest(busy: Duration) -> Duration {
    busy.mul_f64(1.0 / SHARE - 1.0).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_leaves_the_server_its_time() {
        let busy = Duration::from_millis(3);
        let all = (busy + rest(busy)).as_secs_f64();
        assert!((busy.as_secs_f64() / all - SHARE).abs() < 1e-6, "{all}");
        assert_eq!(rest(Duration::from_secs(60)), LONGEST);
    }
}
