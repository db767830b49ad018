//! Which charges were made by one clock, so that their times can be compared: a server's clock may be set, and another server may
//! take its place.

use super::reservations::By;
use crate::time::Tick;

/// Most by which clocks of one rate drift apart, as a part of the time: twice what `adjtime` slews.
const DRIFT: i128 = 1_000;

/// A server reads its clock once for several commands.
const READING_NS: i128 = 5_000_000;

/// When tokens were charged and from when on they may be used, on the clock of the one who charged them, in us since 2025.
#[derive(Clone, Copy, Debug)]
pub(super) struct Charged {
    pub(super) now: u64,
    pub(super) at: u64,
    /// That was after this, and no later than the answer came.
    pub(super) sent: Tick,
    pub(super) heard: Tick,
}

/// The number of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClockId(u32);

impl ClockId {
    /// This client's, by which a local share is judged.
    const OWN: ClockId = ClockId(0);
}

/// The clocks that a client has met, of which it knows the last.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    last: Option<Offset>,
    met: u32,
}

/// Bounds of how far this client's clock is ahead of another one, in ns, and when they were found.
#[derive(Clone, Copy, Debug)]
struct Offset {
    least: i128,
    most: i128,
    found: Tick,
}

impl Offset {
    fn of(charged: &Charged) -> Offset {
        let now = i128::from(charged.now) * 1_000;
        Offset {
            least: i128::from(charged.sent.0) - now - READING_NS,
            most: i128::from(charged.heard.0) - now + READING_NS,
            found: charged.heard,
        }
    }

    /// Intersects both, if they can be of one clock.
    fn and(self, other: Offset) -> Option<Offset> {
        let drift = i128::from(other.found.0.abs_diff(self.found.0)) / DRIFT;
        let (least, most) = (other.least.max(self.least - drift), other.most.min(self.most + drift));
        (least <= most).then_some(Offset { least, most, found: self.found.max(other.found) })
    }
}

impl Clocks {
    /// The clock by which this was charged: another one than the last where the times do not fit.
    pub(super) fn of(&mut self, by: By, charged: &Charged) -> ClockId {
        if by == By::Share {
            return ClockId::OWN;
        }
        let offset = Offset::of(charged);
        let same = self.last.and_then(|last| last.and(offset));
        if same.is_none() {
            self.met += 1;
        }
        self.last = Some(same.unwrap_or(offset));
        ClockId(self.met)
    }

    /// Takes what is charged from now on for another clock's: a limiter that was reset has no order with what was charged before.
    pub(super) fn begin_anew(&mut self) {
        self.last = None;
        self.met += 1;
    }

    /// Whether this is the clock of the server, as far as is known.
    pub(super) fn is_last(&self, clock: ClockId) -> bool {
        clock == ClockId(self.met)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Charged at `now_us` by a clock that was 0 when the client's was; the client hears of it at `heard_us`.
    fn charged(now_us: u64, sent_us: u64, heard_us: u64) -> Charged {
        Charged { now: now_us, at: now_us, sent: Tick(sent_us * 1_000), heard: Tick(heard_us * 1_000) }
    }

    #[test]
    fn late_answers_and_a_slow_clock_are_of_one_clock() {
        let mut clocks = Clocks::default();
        let first = clocks.of(By::Server, &charged(1_000, 900, 1_100));
        for (now, sent, heard) in
            [(2_000, 1_900, 900_000), (1_500, 1_400, 1_600), (3_600_000_000, 3_601_000_000, 3_601_000_100)]
        {
            assert_eq!(clocks.of(By::Server, &charged(now, sent, heard)), first, "{now}");
        }
        assert_ne!(clocks.of(By::Share, &charged(1_000, 1_000, 1_000)), first);
    }

    #[test]
    fn a_clock_that_was_set_is_another_one() {
        let mut clocks = Clocks::default();
        let of = |clocks: &mut Clocks, now: u64, real: u64| clocks.of(By::Server, &charged(now, real - 50, real + 50));
        let first = of(&mut clocks, 10_000_000, 10_000_000);
        let back = of(&mut clocks, 9_900_000, 10_010_000);
        assert_ne!(first, back);
        assert_eq!(of(&mut clocks, 9_910_000, 10_020_000), back);
        assert_ne!(of(&mut clocks, 10_100_000, 10_030_000), back);
    }
}
