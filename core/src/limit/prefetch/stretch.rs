//! A stretch of a limiter's theoretical time: tokens that were charged on the server and are still to be used.

use std::collections::VecDeque;
use std::time::Duration;

use super::super::rate::Rate;
use super::super::step::Fetched;
use super::super::tat::Span;
use crate::time::Tick;

/// After this time nothing of a stretch is used any more, by the client's clock from when it was asked for. It bounds what a
/// reset or a step of the server's clock, of which the client does not know, can add.
pub(super) const LASTS: Duration = Duration::from_secs(1);

/// Each part of the stretch is a time on the server's clock, and is used no later than that: the same algorithm as on the
/// server, on a piece of its axis. Whatever is used at an instant so lies between then and the horizon, also when it was
/// fetched here, and no two uses share a part. So no interval t holds more than fits into the horizon and t: the burst and
/// what the rate brings.
#[derive(Debug)]
pub(super) struct Stretch {
    /// When it was asked for: no later than the server's `now`.
    sent: Tick,
    /// From the server's `now` to where it begins.
    ahead_ns: u64,
    /// In parts of the rate's unit, as all that follows.
    length: u64,
    /// Up to where it is used.
    used: u64,
    from: Span,
    /// The theoretical arrival time that it left on the server.
    tat: Span,
}

impl Stretch {
    /// What the server answered to a request of `sent`. `None` for what is no stretch.
    fn new(rate: Rate, fetched: &Fetched, sent: Tick) -> Option<Stretch> {
        let unit = rate.unit();
        let length = fetched.tat.work(unit).checked_sub(fetched.from.work(unit))?;
        // Rounded down: the sooner it begins, the sooner it is over.
        let ahead_ns = fetched.from.us.saturating_sub(Span::at(fetched.now).us).saturating_mul(1_000);
        let length = u64::try_from(length).ok()?;
        Some(Stretch { sent, ahead_ns, length, used: 0, from: fetched.from, tat: fetched.tat })
    }

    /// How much of it has passed without being used, whatever the clocks say: they may differ in rate by a tenth.
    fn passed(&self, rate: Rate, now: Tick) -> u64 {
        let since = now.0.saturating_sub(self.sent.0);
        if since >= LASTS.as_nanos() as u64 {
            return self.length;
        }
        let Some(into) = (since + since / 10).checked_sub(self.ahead_ns) else { return 0 };
        let parts = (u128::from(into) * u128::from(rate.unit())).div_ceil(1_000);
        u64::try_from(parts).map_or(self.length, |parts| parts.min(self.length))
    }

    /// Uses so much of it, if there is as much.
    fn take(&mut self, rate: Rate, work: u64, now: Tick) -> bool {
        let from = self.used.max(self.passed(rate, now));
        let taken = work <= self.length - from;
        if taken {
            self.used = from + work;
        }
        taken
    }

    /// Uses so much of it for the call that it was fetched for: at the server's `now`, when nothing of it had passed.
    fn spend(&mut self, work: u64) {
        self.used = self.used.saturating_add(work).min(self.length);
    }

    /// How much there is to use.
    pub(super) fn left(&self, rate: Rate, now: Tick) -> u64 {
        self.length - self.used.max(self.passed(rate, now))
    }

    /// The part that was not used, for the server, which knows by its own clock what of it has passed: here it ages from
    /// before it was granted, and by a tenth faster.
    pub(super) fn unused(&self) -> u64 {
        self.length - self.used
    }

    /// When the last of it has passed, at the soonest.
    fn over_at(&self, rate: Rate) -> Tick {
        let length_ns = u128::from(self.length) * 1_000 / u128::from(rate.unit());
        let whole = u64::try_from(length_ns).unwrap_or(u64::MAX).saturating_add(self.ahead_ns);
        self.sent.plus(Duration::from_nanos(whole / 11 * 10)).min(self.sent.plus(LASTS))
    }

    pub(super) fn tat(&self) -> Span {
        self.tat
    }

    /// Makes one of this stretch, of which nothing has been used, and what is left of the one that lies in front of it, if
    /// nothing lies between them. What is left there lies behind the server's `now` too.
    fn prepend(&mut self, front: &Stretch, rate: Rate, now: Tick) -> bool {
        let (left, unit) = (front.left(rate, now), rate.unit());
        let sooner_ns = (u128::from(left) * 1_000).div_ceil(u128::from(unit));
        let ahead_ns = u64::try_from(sooner_ns).ok().and_then(|sooner| self.ahead_ns.checked_sub(sooner));
        let (Some(ahead_ns), Some(length), true) = (ahead_ns, self.length.checked_add(left), front.tat == self.from)
        else {
            return false;
        };
        (self.ahead_ns, self.length) = (ahead_ns, length);
        self.from = Span::of(self.tat.work(unit) - u128::from(length), unit);
        true
    }
}

/// What a client has of one limiter, in the order of its times.
#[derive(Debug, Default)]
pub(super) struct Stretches(VecDeque<Stretch>);

impl Stretches {
    /// Takes in what the server answered at `heard` to a request of `sent`, of which `work` is used at once. When half of its
    /// time is over.
    pub(super) fn put(&mut self, rate: Rate, fetched: &Fetched, work: u64, sent: Tick, heard: Tick) -> Tick {
        let Some(mut stretch) = Stretch::new(rate, fetched, sent) else { return heard };
        if self.0.back().is_some_and(|front| stretch.prepend(front, rate, heard)) {
            self.0.pop_back();
        }
        stretch.spend(work);
        let half = stretch.over_at(rate).since(heard) / 2;
        self.put_again(stretch);
        heard.plus(half)
    }

    /// Takes in what came out by [`Stretches::take_last`], in front of what was fetched since.
    pub(super) fn put_again(&mut self, last: Stretch) {
        if last.used < last.length {
            let at = self.0.partition_point(|stretch| stretch.tat <= last.tat);
            self.0.insert(at, last);
        }
    }

    pub(super) fn take_last(&mut self) -> Option<Stretch> {
        self.0.pop_back()
    }

    /// Uses so much, if a stretch has as much.
    pub(super) fn take(&mut self, rate: Rate, work: u64, now: Tick) -> bool {
        let taken = self.0.iter_mut().any(|stretch| stretch.take(rate, work, now));
        while self.0.front().is_some_and(|first| first.left(rate, now) == 0) {
            self.0.pop_front();
        }
        taken
    }

    /// How much there is to use.
    pub(super) fn left(&self, rate: Rate, now: Tick) -> u64 {
        self.0.iter().map(|stretch| stretch.left(rate, now)).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
