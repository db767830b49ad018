use super::super::super::rate::Algorithm;
use super::super::Standing;
use super::super::numbers::{LARGEST, Numbers};
use super::{Asked, LONGEST};
use crate::step::WrongType;

/// The last window that tokens were taken of, and how many.
#[derive(Clone, Debug)]
pub(in super::super) struct Window {
    pub(super) start: u64,
    pub(super) taken: u64,
}

impl Window {
    pub(super) fn read(text: Option<&str>, asked: Asked<'_>) -> Result<(Window, bool), WrongType> {
        let (per, now) = (asked.numbers.per_us, asked.now);
        let fresh = Window::fresh(asked);
        let Some(text) = text else { return Ok((fresh, false)) };
        let [begun, taken, written] = numbers(text).ok_or(WrongType)?;
        let moved = written > now;
        // The clock stepped back: the window is as far ahead as it was.
        let back = if moved { begin(asked.numbers, written).saturating_sub(fresh.start) } else { 0 };
        let start = begun.saturating_sub(back).min(now + LONGEST);
        Ok((if start + per > now { Window { start, taken } } else { fresh }, moved))
    }

    pub(super) fn due(&self, asked: Asked<'_>) -> u64 {
        let fits = self.taken + asked.tokens() <= asked.numbers.tokens;
        if fits { self.start } else { self.start + asked.numbers.per_us }
    }

    pub(super) fn charge(&mut self, asked: Asked<'_>, at: u64) {
        if self.taken == 0 || at >= self.start + asked.numbers.per_us {
            *self = Window { start: begin(asked.numbers, at), taken: 0 };
        }
        self.taken += asked.cost;
    }

    pub(super) fn take_back(&mut self, asked: Asked<'_>) {
        let rest = asked.cost.saturating_sub(self.taken);
        self.taken = self.taken.saturating_sub(asked.cost);
        if self.taken == 0 && self.start > asked.now {
            // The window before a reserved one counts as full: that something did not fit is all that is known of it.
            let Numbers { tokens, per_us, .. } = *asked.numbers;
            *self = Window { start: self.start.saturating_sub(per_us), taken: tokens.saturating_sub(rest) };
        }
    }

    pub(super) fn restore(&mut self, asked: Asked<'_>, [start, taken, _]: Standing) {
        let is_over = start + asked.numbers.per_us <= asked.now;
        *self = if is_over { Window::fresh(asked) } else { Window { start, taken } };
    }

    fn fresh(asked: Asked<'_>) -> Window {
        Window { start: begin(asked.numbers, asked.now), taken: 0 }
    }

    pub(super) fn text(&self, asked: Asked<'_>) -> String {
        format!("{}:{}:{}", self.start, self.taken, asked.now)
    }

    /// For how long it matters.
    pub(super) fn ahead(&self, asked: Asked<'_>) -> u64 {
        let end = self.start + asked.numbers.per_us;
        if self.taken > 0 { end.saturating_sub(asked.now) } else { 0 }
    }
}

/// Where a window begins of which this is in, or the first of.
fn begin(numbers: &Numbers, at: u64) -> u64 {
    if numbers.algorithm == Algorithm::AlignedWindow { at - at % numbers.per_us } else { at }
}

/// So many numbers between colons.
pub(super) fn numbers<const N: usize>(text: &str) -> Option<[u64; N]> {
    let all: Option<Vec<u64>> =
        text.split(':').map(|digits| number(digits).map(|number| number.min(LARGEST))).collect();
    all?.try_into().ok()
}

/// A number of any length; one that is too large for us is as good as endless.
pub(super) fn number(digits: &str) -> Option<u64> {
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| digits.parse().unwrap_or(u64::MAX))
}

pub(super) fn outlook(numbers: &Numbers, [start, taken, _]: Standing, at: u64) -> (u64, u64) {
    let end = start + numbers.per_us;
    match (start > at, end > at) {
        (true, _) => (0, end - at),
        (false, true) if taken > 0 => (numbers.tokens.saturating_sub(taken), end - at),
        _ => (numbers.tokens, 0),
    }
}
