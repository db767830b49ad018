//! How long a job waits that failed.

use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};

/// How long a job waits that failed: twice as long each time, and by chance up to half of that less, so that those that failed
/// together do not come back together.
///
/// ```
/// # use std::time::Duration;
/// # use libdlock::queue::Backoff;
/// let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(600))?;
/// let third = backoff.delay(3);
/// assert!((Duration::from_secs(2)..=Duration::from_secs(4)).contains(&third));
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    base: Duration,
    most: Duration,
}

impl Default for Backoff {
    /// From 1 s to 10 min.
    fn default() -> Backoff {
        Backoff { base: Duration::from_secs(1), most: Duration::from_secs(600) }
    }
}

impl Backoff {
    /// After the first failure `base` at most, and never more than `most`. A `base` of 0 does not wait.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when `base` is longer than `most`.
    pub fn new(base: Duration, most: Duration) -> Result<Backoff> {
        if base > most {
            let given = format_args!("a back-off from {base:?} to {most:?} is out of range");
            return Err(Error::refused(
                ErrorKind::InvalidArgument,
                "back-off",
                given,
                "a base of at most the longest one",
            ));
        }
        Ok(Backoff { base, most })
    }

    /// How long a job waits whose delivery of this number, from 1 on, has failed.
    pub fn delay(&self, attempt: u32) -> Duration {
        let doubled = 1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
        let full = self.base.saturating_mul(doubled).min(self.most);
        full.mul_f64(0.5 + fastrand::f64() / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn each_failure_doubles_the_delay_up_to_the_longest() {
        let backoff = Backoff::new(SECOND, 60 * SECOND).unwrap();
        for (attempt, full) in [(0, 1), (1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (33, 60), (u32::MAX, 60)] {
            let full = full * SECOND;
            let delays: Vec<Duration> = (0..100).map(|_| backoff.delay(attempt)).collect();
            assert!(delays.iter().all(|delay| (full / 2..=full).contains(delay)), "{attempt}: {delays:?}");
            assert!(delays.iter().any(|delay| *delay != delays[0]));
        }
        assert_eq!(Backoff::new(Duration::ZERO, SECOND).unwrap().delay(9), Duration::ZERO);
        assert_eq!(Backoff::new(2 * SECOND, SECOND).unwrap_err().kind(), ErrorKind::InvalidArgument);
        let longest = Backoff::new(Duration::ZERO, Duration::MAX).unwrap();
        assert_eq!(longest.delay(u32::MAX), Duration::ZERO);
    }
}
