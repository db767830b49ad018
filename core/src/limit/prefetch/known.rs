//! What a client knows of the bucket from the server's last answer, and what its own decisions say by that.

use std::time::{Duration, SystemTime};

use super::super::decision::Decision;
use super::super::rate::Rate;
use super::super::step::Fetched;
use super::super::tat::Span;
use crate::time::Tick;

#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// The server's clock when it answered, in us of Unix time.
    unix_us: u64,
    /// How far ahead the theoretical arrival time was then, in parts.
    ahead: u128,
    /// When the question was sent: the server's clock showed no more than `unix_us` then.
    sent: Tick,
    /// When the answer came: the server's clock showed no less.
    heard: Tick,
}

impl Known {
    pub(super) fn new(rate: Rate, fetched: &Fetched, sent: Tick, heard: Tick) -> Known {
        let unit = rate.unit();
        let ahead = fetched.tat.work(unit).saturating_sub(Span::at(fetched.now).work(unit));
        Known { unix_us: fetched.now.0, ahead, sent, heard }
    }

    /// How far ahead it is now, if nobody has charged since.
    fn ahead_at(&self, rate: Rate, now: Tick) -> u128 {
        let since_ns = now.0.saturating_sub(self.heard.0);
        self.ahead.saturating_sub(u128::from(since_ns) * u128::from(rate.unit()) / 1_000)
    }

    /// A grant of what had been fetched, of which `left` parts are left in the pocket: they count as remaining.
    pub(super) fn granted(&self, rate: Rate, cost: u64, left: u64, now: Tick) -> Decision {
        let used = self.ahead_at(rate, now).saturating_sub(u128::from(left));
        Decision { server_time: Some(self.server_time(now)), ..Decision::from_used(rate, cost, true, used) }
    }

    /// A refusal of what the server would have refused as well when it answered; it is asked again in `again_in`.
    pub(super) fn refused(&self, rate: Rate, cost: u64, left: u64, again_in: Duration, now: Tick) -> Decision {
        let ahead = self.ahead_at(rate, now);
        let refused = Decision::from_used(rate, cost, false, ahead);
        let again_in = Duration::from_micros(u64::try_from(again_in.as_nanos().div_ceil(1_000)).unwrap_or(u64::MAX));
        let retry_after = refused.retry_after.map(|after| after.max(again_in));
        let remaining = match left {
            0 => refused.remaining,
            left => Decision::from_used(rate, cost, false, ahead.saturating_sub(u128::from(left))).remaining,
        };
        Decision { retry_after, remaining, server_time: Some(self.server_time(now)), ..refused }
    }

    /// When the server answered, by its own clock.
    pub(super) fn answered_at(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_micros(self.unix_us)
    }

    /// No sooner than it is there, if the two clocks go at one rate.
    fn server_time(&self, now: Tick) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_micros(self.unix_us + now.0.saturating_sub(self.sent.0) / 1_000)
    }
}
