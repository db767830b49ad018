use super::super::Standing;
use super::super::numbers::{LARGEST, Numbers};
use super::window::numbers;
use super::{Asked, LONGEST};
use crate::step::WrongType;

/// The last window that tokens were taken of: how many in the one before it, and how many in it.
#[derive(Clone, Debug)]
pub(in super::super) struct Counter {
    pub(super) start: u64,
    pub(super) before: u64,
    pub(super) taken: u64,
}

impl Counter {
    pub(super) fn read(text: Option<&str>, asked: Asked<'_>) -> Result<(Counter, bool), WrongType> {
        let (per, now) = (asked.numbers.per_us, asked.now);
        let current = now - now % per;
        let Some(text) = text else { return Ok((Counter { start: current, before: 0, taken: 0 }, false)) };
        let [begun, before, taken, written] = numbers(text).ok_or(WrongType)?;
        let moved = written > now;
        // The clock stepped back: the windows are as far ahead as they were.
        let back = if moved { (written - written % per).saturating_sub(current) } else { 0 };
        let begun = begun.saturating_sub(back).min(now + LONGEST);
        Ok((Counter { start: begun, before, taken }.aged(asked), moved))
    }

    /// As it is now.
    fn aged(self, asked: Asked<'_>) -> Counter {
        let (per, current) = (asked.numbers.per_us, asked.now - asked.now % asked.numbers.per_us);
        match self.start {
            start if start + per > current => Counter { start: start.max(current), ..self },
            start if start + 2 * per > current => Counter { start: current, before: self.taken, taken: 0 },
            _ => Counter { start: current, before: 0, taken: 0 },
        }
    }

    pub(super) fn restore(&mut self, asked: Asked<'_>, [start, before, taken]: Standing) {
        *self = Counter { start, before, taken }.aged(asked);
    }

    pub(super) fn due(&self, asked: Asked<'_>) -> u64 {
        let (tokens, per) = (asked.numbers.tokens, asked.numbers.per_us);
        let room = tokens as f64 - self.taken as f64 - asked.tokens() as f64;
        let (start, before, room) = match room < 0.0 {
            true => (self.start + per, self.taken, tokens as f64 - asked.tokens() as f64),
            false => (self.start, self.before, room),
        };
        let end = start + per;
        let mut due = start.max(asked.now);
        if weight(before, end - due, per) > room {
            // When the one before weighs so little: reckoned, and made good for what was rounded.
            let left = (room * per as f64 / before as f64).floor();
            due = due.max(end.saturating_sub(left as u64));
            for _ in 0..4 {
                if weight(before, end.saturating_sub(due), per) > room {
                    due += 1;
                }
            }
        }
        due.min(LARGEST)
    }

    pub(super) fn charge(&mut self, asked: Asked<'_>, at: u64) {
        let per = asked.numbers.per_us;
        let start = at - at % per;
        if start > self.start {
            let before = if start < self.start + 2 * per { self.taken } else { 0 };
            *self = Counter { start, before, taken: 0 };
        }
        self.taken += asked.cost;
    }

    pub(super) fn take_back(&mut self, asked: Asked<'_>) {
        let rest = asked.cost.saturating_sub(self.taken);
        self.taken = self.taken.saturating_sub(asked.cost);
        self.before = self.before.saturating_sub(rest);
        if self.taken == 0 && self.start > asked.now {
            // The window before is the last one, and the one before that counts as full: nothing is known of it.
            let Numbers { tokens, per_us, .. } = *asked.numbers;
            *self = Counter { start: self.start.saturating_sub(per_us), before: tokens, taken: self.before };
        }
    }

    pub(super) fn text(&self, asked: Asked<'_>) -> String {
        format!("{}:{}:{}:{}", self.start, self.before, self.taken, asked.now)
    }

    /// For how long it matters.
    pub(super) fn ahead(&self, asked: Asked<'_>) -> u64 {
        let Counter { start, before, taken } = *self;
        let end = match (taken, before) {
            (0, 0) if start <= asked.now => 0,
            (0, _) if start <= asked.now => start + asked.numbers.per_us,
            _ => start + 2 * asked.numbers.per_us,
        };
        end.saturating_sub(asked.now)
    }
}

/// What the tokens of the window before count for, when so much of it lies within one length before the present. As the script
/// reckons it, in doubles.
fn weight(before: u64, left: u64, per: u64) -> f64 {
    (before as f64 * left as f64 / per as f64).ceil()
}

pub(super) fn outlook(numbers: &Numbers, [start, before, taken]: Standing, at: u64) -> (u64, u64) {
    let (per, end) = (numbers.per_us, start + numbers.per_us);
    match () {
        () if start > at => (0, end + per - at),
        () if end <= at => {
            // The one before is over, and this one is the one before.
            let left = (end + per).saturating_sub(at);
            let used = weight(taken, left, per) as u64;
            (numbers.tokens.saturating_sub(used), if taken > 0 { left } else { 0 })
        }
        () => {
            let used = weight(before, end - at, per) as u64 + taken;
            let reset = match (taken > 0, before > 0) {
                (true, _) => end + per - at,
                (false, true) => end - at,
                (false, false) => 0,
            };
            (numbers.tokens.saturating_sub(used), reset)
        }
    }
}
