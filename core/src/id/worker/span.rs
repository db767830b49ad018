//! The time of one holder of a number: where its generators' time begins, how it goes on, and how far it may go.
//!
//! It begins where the server says and goes on by this client's monotonic clock, so it is nobody's wall clock. How far it may
//! go is what the server has taken down: an id beyond that could be the next holder's, and is not made.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::super::identity::Shared;
use super::super::layout::Fields;
use super::super::timeline::{Machine, NANOS_PER_MS, Timeline};
use crate::lease::believed_until;
use crate::time::{Clock, Tick};

pub(crate) struct Span {
    clock: Clock,
    /// What it shows at `begun`, in milliseconds since 1970.
    from_ms: u64,
    begun: Tick,
    /// See [`believed_until`].
    clock_drift: u8,
    /// Until when ids may be made, on the client's clock; 0 once the hold is over. What the server has taken down reaches further
    /// by the margin of the lease.
    until: AtomicU64,
}

impl Span {
    /// Shows `from_ms` when the grant arrived, at `begun`: late by its way, and never early. The request was sent at `sent`.
    pub(super) fn new(clock: Clock, clock_drift: u8, from_ms: u64, begun: Tick, sent: Tick, lease: Duration) -> Span {
        let until = AtomicU64::new(believed_until(sent, lease, clock_drift).0);
        Span { clock, from_ms, begun, clock_drift, until }
    }

    pub(super) fn now(&self) -> Tick {
        self.clock.now()
    }

    /// The last millisecond since 1970 that it may use when a renewal that is sent at `sent` is confirmed.
    pub(super) fn promise(&self, sent: Tick, lease: Duration) -> u64 {
        self.unix_ms(sent.plus(lease))
    }

    /// A renewal that was sent at `sent` is confirmed. What is over stays over.
    pub(super) fn confirm(&self, sent: Tick, lease: Duration) {
        let until = believed_until(sent, lease, self.clock_drift).0;
        let longer = |now: u64| (now > 0 && now < until).then_some(until);
        // One that changes nothing is no failure.
        let _ = self.until.fetch_update(Ordering::SeqCst, Ordering::SeqCst, longer);
    }

    /// Nothing is made any more. The last millisecond since 1970 that may have been used.
    pub(super) fn end(&self) -> u64 {
        // In this order, as all threads see it: whoever has looked at the end before has read the clock before.
        self.until.store(0, Ordering::SeqCst);
        self.unix_ms(self.now())
    }

    /// Whether what it showed until now may be used.
    pub(super) fn goes_on(&self) -> bool {
        // In this order: see `end`.
        let now = self.now();
        now < Tick(self.until.load(Ordering::SeqCst))
    }

    /// Slots of this time that nobody has used.
    pub(super) fn slots(&self, fields: &Fields) -> Shared {
        let timeline = Timeline::from(Machine::Of(self.clock.clone()), self.from_ms, self.begun);
        Shared::apart(timeline, fields.layout.sequence_bits)
    }

    /// What it shows at an instant, no sooner than when it began.
    pub(super) fn unix_ms(&self, at: Tick) -> u64 {
        self.from_ms + u64::try_from(at.since(self.begun).as_nanos()).unwrap_or(u64::MAX) / NANOS_PER_MS
    }
}
