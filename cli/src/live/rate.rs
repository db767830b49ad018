//! How often a lock is granted, from looks at its fencing token that are seconds apart.
//!
//! A token is the server's time at the grant and counts nothing, so that a lock that was granted a hundred times between two looks
//! shows one new token. But its age tells: of a lock that is granted at random times the last grant is on average one interval
//! old. So of a lock with a new token at most looks, the rate is the number of looks over the sum of those ages (the estimate of
//! largest likelihood for a Poisson process); of any other it is the number of new tokens over the time.

use std::time::Duration;

/// How fast old looks are forgotten.
const MEMORY: Duration = Duration::from_secs(15);

/// An age is known to this at best, so that no rate is larger than its inverse.
const FINEST: f64 = 20e-6;

#[derive(Clone, Debug, Default)]
pub struct Rate {
    token: Option<u64>,
    /// Looks, those with a new token, the time of all, and the sum of the ages; older ones weigh less.
    looks: f64,
    changes: f64,
    time: f64,
    ages: f64,
}

impl Rate {
    /// Counts a look `since` after the one before. True when the token is a new one.
    pub fn look(&mut self, token: Option<u64>, since: Option<Duration>, granted_ago: Option<Duration>) -> bool {
        let before = std::mem::replace(&mut self.token, token);
        let Some(since) = since else { return false };
        let is_new = token.is_some() && token != before;
        let weight = (-since.as_secs_f64() / MEMORY.as_secs_f64()).exp();
        for sum in [&mut self.looks, &mut self.changes, &mut self.time, &mut self.ages] {
            *sum *= weight;
        }
        let age = granted_ago.filter(|_| is_new).unwrap_or(since).min(since).as_secs_f64();
        self.looks += 1.0;
        self.changes += if is_new { 1.0 } else { 0.0 };
        self.time += since.as_secs_f64();
        self.ages += age.max(FINEST);
        is_new
    }

    /// Grants per second.
    pub fn per_second(&self) -> f64 {
        if self.changes > self.looks / 2.0 && self.changes > 2.5 {
            // One less, as the last one ended what was looked at.
            (self.changes - 1.0) / self.ages
        } else if self.time > 0.0 {
            self.changes / self.time
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean estimate for locks that are granted at random, so often a second, looked at each second for a minute.
    fn estimate(rate: f64) -> f64 {
        fastrand::seed(7);
        let locks = 200;
        let mut sum = 0.0;
        for _ in 0..locks {
            let (mut seen, mut now, mut last, mut next) = (Rate::default(), 0.0, 0.0, 0.0);
            for look in 0..60 {
                now += 1.0;
                while next <= now {
                    last = next;
                    next += -(1.0 - fastrand::f64()).ln() / rate;
                }
                let since = (look > 0).then_some(Duration::from_secs(1));
                let token = (last * 1e6) as u64;
                seen.look(Some(token), since, Some(Duration::from_secs_f64(now - last)));
            }
            sum += seen.per_second();
        }
        sum / f64::from(locks)
    }

    #[test]
    fn seldom_and_frequent_grants_are_told_about_right() {
        for rate in [0.05, 0.3, 1.0, 5.0, 50.0, 1_000.0] {
            let told = estimate(rate);
            assert!((0.6..1.5).contains(&(told / rate)), "{rate} per second is told as {told}");
        }
    }

    #[test]
    fn a_lock_that_is_not_granted_comes_to_nothing() {
        let mut rate = Rate::default();
        assert!(!rate.look(Some(1), None, None), "the first look tells nothing");
        assert!(rate.look(Some(2), Some(Duration::from_secs(1)), Some(Duration::from_millis(500))));
        for _ in 0..120 {
            assert!(!rate.look(Some(2), Some(Duration::from_secs(1)), Some(Duration::from_secs(9))));
        }
        assert!(rate.per_second() < 0.01, "{rate:?}");
    }
}
