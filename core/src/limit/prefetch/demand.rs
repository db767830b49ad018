//! How much of a limiter a client needs, by what its callers used of it a moment ago.

use std::time::Duration;

use super::super::rate::Rate;
use super::super::step::Wanted;
use crate::time::Tick;

/// For how long a fetch is to last. The next one comes when half of it is over: 25 scripts a second.
const FOR: Duration = Duration::from_millis(80);

/// How many calls in the last 50 to 100 ms make it worth to fetch ahead: fewer ask for each.
const HOT: u32 = 4;
const WINDOW: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
pub(super) struct Demand {
    /// The calls of this window and of the one before.
    window: Tick,
    calls: u32,
    before: u32,
    /// When the last call came.
    called_at: Tick,
    /// What was used since the last fetch, in parts, and when that was.
    used: u128,
    fetched_at: Tick,
    /// What the last fetch wanted.
    wanted: u128,
    /// A call has found less than it wanted since.
    dry: bool,
}

impl Demand {
    /// Somebody asks.
    pub(super) fn call(&mut self, now: Tick) {
        self.called_at = now;
        let since = now.since(self.window);
        if since >= WINDOW {
            self.before = if since < 2 * WINDOW { self.calls } else { 0 };
            (self.window, self.calls) = (now, 0);
        }
        self.calls = self.calls.saturating_add(1);
    }

    pub(super) fn used(&mut self, work: u64) {
        self.used += u128::from(work);
    }

    pub(super) fn ran_dry(&mut self) {
        self.dry = true;
    }

    pub(super) fn called_at(&self) -> Tick {
        self.called_at
    }

    pub(super) fn is_hot(&self) -> bool {
        self.calls.saturating_add(self.before) >= HOT
    }

    /// What to fetch where `left` parts are left of the `most` that there may be, for a call of `work` if there is one; begins
    /// to count anew.
    pub(super) fn plan(&mut self, work: u64, left: u64, most: u64, now: Tick) -> Wanted {
        let elapsed = now.since(self.fetched_at).clamp(Duration::from_millis(1), 2 * WINDOW);
        let used = self.used + u128::from(work);
        // A short burst does not say what comes after it.
        let lately = (used * FOR.as_nanos() / elapsed.as_nanos()).min(used.max(self.wanted) * 8);
        let need = if self.dry { lately.max(self.wanted * 2) } else { lately };
        let hot = self.is_hot();
        (self.used, self.fetched_at, self.dry) = (0, now, false);
        let [work, left, most] = [work, left, most].map(u128::from);
        if !hot {
            self.wanted = work;
            return Wanted { work, lasting_us: 0, most: work };
        }
        self.wanted = need.min(most);
        let most = most.saturating_sub(left).max(work);
        let lasting_us = FOR.as_micros() as u64;
        Wanted { work: self.wanted.saturating_sub(left).clamp(work, most), lasting_us, most }
    }

    /// With how much left it is time to fetch more.
    pub(super) fn low(&self) -> u64 {
        u64::try_from(self.wanted / 2).unwrap_or(u64::MAX)
    }
}

/// The most that a client may have, in parts: this share of the burst, and no more than comes in nine tenths of a second, so
/// that what a dead process had is back within one. `None` where that is not worth it.
pub(super) fn most(rate: Rate, share: f64) -> Option<u64> {
    let second = rate.unit().checked_mul(900_000)?;
    // As exact as it has to be: nothing is counted by it.
    let most = (rate.work(rate.limit()) as f64 * share).min(second as f64) as u64;
    (rate.tokens() > 0 && u128::from(most) >= 2 * rate.work(1)).then_some(most)
}
