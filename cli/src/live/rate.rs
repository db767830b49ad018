//! Grants of a lock per second, at least, from looks at its fencing token that are seconds apart.
//!
//! A token is the server's time at the grant and counts nothing: a lock that was granted a hundred times between two looks
//! shows one new token. So a new token is one grant, and more may have been. The age of the last grant would tell of them only
//! for a lock that is granted at random times: one that is held for half a second, again and again, has the same age at each
//! look.

use std::time::Duration;

/// How fast old looks are forgotten.
const MEMORY: Duration = Duration::from_secs(15);

#[derive(Clone, Debug, Default)]
pub struct Rate {
    token: Option<u64>,
    /// Looks with a new token, and the time of all looks; older ones weigh less.
    changes: f64,
    time: f64,
}

impl Rate {
    /// Counts a look `since` after the one before. True when the token is a new one.
    pub fn look(&mut self, token: Option<u64>, since: Option<Duration>) -> bool {
        let before = std::mem::replace(&mut self.token, token);
        let Some(since) = since else { return false };
        let is_new = token.is_some() && token != before;
        let weight = (-since.as_secs_f64() / MEMORY.as_secs_f64()).exp();
        self.changes = self.changes * weight + if is_new { 1.0 } else { 0.0 };
        self.time = self.time * weight + since.as_secs_f64();
        is_new
    }

    /// Grants per second that were seen: there were no fewer, and no more of them are seen than looks.
    pub fn per_second(&self) -> f64 {
        if self.time > 0.0 { self.changes / self.time } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// The rate shown of a lock that is granted once in a period, looked at each second for a minute.
    fn told(period: f64) -> f64 {
        let mut rate = Rate::default();
        for look in 0..60 {
            rate.look(Some((f64::from(look) / period) as u64), (look > 0).then_some(SECOND));
        }
        rate.per_second()
    }

    #[test]
    fn no_more_grants_are_told_than_there_were() {
        for period in [0.02, 0.2, 0.5, 0.7, 1.0, 3.0, 10.0] {
            let (truth, told) = (1.0 / period, told(period));
            // The latest looks weigh more.
            assert!(told < truth * 1.4, "{truth} per second, told {told}");
            assert!(told > truth.min(1.0) * 0.6, "{truth} per second, told {told}");
        }
    }

    #[test]
    fn a_lock_that_is_not_granted_comes_to_nothing() {
        let mut rate = Rate::default();
        assert!(!rate.look(Some(1), None), "the first look tells nothing");
        assert!(rate.look(Some(2), Some(SECOND)));
        for _ in 0..120 {
            assert!(!rate.look(Some(2), Some(SECOND)));
        }
        assert!(rate.per_second() < 0.01, "{rate:?}");
    }
}
