use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::{Lease, margin, warning};
use crate::name::ObjectName;
use crate::time::{Clock, Tick};

/// Why a hold was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LossReason {
    /// The lease ran out: it was given and is over, or the server could not be reached to renew it.
    Expired,
    /// Somebody else holds it now.
    Taken,
    /// The key is gone: deleted, flushed or force-released.
    Deleted,
    /// The key is gone, and so is the server that had it: a restart or a failover.
    ServerChanged,
    /// The client was closed; the lease runs out by itself.
    Closed,
    /// A defect in libdlock ended the renewals.
    Internal,
}

impl LossReason {
    /// One word in lower case, the same in every language.
    pub const fn as_str(self) -> &'static str {
        match self {
            LossReason::Expired => "expired",
            LossReason::Taken => "taken",
            LossReason::Deleted => "deleted",
            LossReason::ServerChanged => "server_changed",
            LossReason::Closed => "closed",
            LossReason::Internal => "internal",
        }
    }
}

impl fmt::Display for LossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LossReason::Expired => "its lease ran out",
            LossReason::Taken => "somebody else holds it now",
            LossReason::Deleted => "its key was removed on the server",
            LossReason::ServerChanged => "the server was restarted or replaced and no longer knows it",
            LossReason::Closed => "the client was closed",
            LossReason::Internal => "a defect in libdlock ended its renewal",
        })
    }
}

/// The life of a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HoldState {
    /// Held, and the renewals succeed.
    Held,
    /// Still valid, but more than half the lease has passed without a renewal that the server confirmed.
    Suspended,
    /// Lost for good.
    Lost(LossReason),
    /// Ended by a release.
    Released,
}

/// How a grant stands; the order of the stages is the only one possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Held,
    Lost(LossReason),
    Released,
}

/// One grant of a lease: its fencing token, how long it is valid, and whether it was lost.
///
/// Clones are views of the same grant. Nothing here does any I/O.
#[derive(Clone)]
pub struct Grant(Arc<Inner>);

/// What a grant is made from.
pub(crate) struct GrantSpec {
    pub(crate) name: ObjectName,
    pub(crate) owner: String,
    pub(crate) token: u64,
    pub(crate) lease: Duration,
    pub(crate) renewed: bool,
    /// When the request that was granted was sent.
    pub(crate) sent: Tick,
    /// Until when bytes of an unanswered attempt of the same owner may still take effect.
    pub(crate) echo_until: Option<Tick>,
    pub(crate) server_generation: u64,
}

struct Inner {
    name: ObjectName,
    owner: String,
    token: u64,
    clock: Clock,
    echo_until: Option<Tick>,
    server_generation: u64,
    renewed: AtomicBool,
    term: Mutex<Term>,
    stage: watch::Sender<Stage>,
    /// What is to happen once, when the hold is over for any reason.
    on_end: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

/// What the server last confirmed. Both parts change together: an instant of one renewal with the lease of another would
/// promise too much.
#[derive(Clone, Copy)]
struct Term {
    lease: Duration,
    /// When the request was sent.
    sent: Tick,
}

impl Term {
    fn valid_until(self) -> Tick {
        self.sent.plus(self.lease).minus(margin(self.lease))
    }
}

/// What the keeper of leases has to do next for a grant.
pub(crate) enum Watch {
    /// Nothing more: it is over.
    Over,
    Renew {
        at: Tick,
        lose_at: Tick,
    },
    Expire {
        lose_at: Tick,
    },
}

impl Grant {
    pub(crate) fn new(spec: GrantSpec, clock: Clock, on_end: Box<dyn FnOnce() + Send>) -> Grant {
        Grant(Arc::new(Inner {
            name: spec.name,
            owner: spec.owner,
            token: spec.token,
            clock,
            echo_until: spec.echo_until,
            server_generation: spec.server_generation,
            renewed: AtomicBool::new(spec.renewed),
            term: Mutex::new(Term { lease: spec.lease, sent: spec.sent }),
            stage: watch::Sender::new(Stage::Held),
            on_end: Mutex::new(Some(on_end)),
        }))
    }

    /// The fencing token: larger than that of every grant of this name before it, below 2^53 until 2255.
    ///
    /// Send it with every write to the protected resource, which should refuse a token lower than the highest it has seen.
    pub fn token(&self) -> u64 {
        self.0.token
    }

    /// The owner's field on the server, `<client uuid>:<n>`: for logs and for looking at the server.
    pub fn owner(&self) -> &str {
        &self.0.owner
    }

    /// The lease as it was last set.
    pub fn lease(&self) -> Duration {
        self.term().lease
    }

    /// Whether the holder may act: false exactly from the end of validity on, and once the hold is released or taken away.
    ///
    /// The end of validity is when the last confirmed acquire or renewal was sent, plus the lease, less 10 ms and 1 %.
    pub fn is_valid(&self) -> bool {
        !self.remaining().is_zero()
    }

    /// How long the hold stays valid if nothing is renewed; zero when it is not valid.
    pub fn remaining(&self) -> Duration {
        match *self.0.stage.borrow() {
            // Announced a little before its end, so that the word arrives in time: valid until then.
            Stage::Held | Stage::Lost(LossReason::Expired) => self.valid_until().since(self.0.clock.now()),
            Stage::Lost(_) | Stage::Released => Duration::ZERO,
        }
    }

    /// How the hold stands.
    pub fn state(&self) -> HoldState {
        match *self.0.stage.borrow() {
            Stage::Released => HoldState::Released,
            Stage::Lost(reason) => HoldState::Lost(reason),
            Stage::Held if self.remaining().is_zero() => HoldState::Lost(LossReason::Expired),
            Stage::Held if self.is_renewed() && self.is_overdue() => HoldState::Suspended,
            Stage::Held => HoldState::Held,
        }
    }

    /// Why the hold was lost, if it was.
    pub fn loss(&self) -> Option<LossReason> {
        match self.state() {
            HoldState::Lost(reason) => Some(reason),
            _ => None,
        }
    }

    /// Completes when the hold is over: with the reason when it was lost, with `None` when it was released.
    ///
    /// A loss is told once and for good; by a timer that needs no server, 25 ms before the end of validity (an eighth of
    /// the lease if that is less).
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn lost(&self) -> Option<LossReason> {
        let mut stage = self.0.stage.subscribe();
        // The sender lives in `self`.
        match stage.wait_for(|stage| *stage != Stage::Held).await.as_deref() {
            Ok(Stage::Lost(reason)) => Some(*reason),
            _ => None,
        }
    }

    pub(crate) fn name(&self) -> &ObjectName {
        &self.0.name
    }

    pub(crate) fn echo_until(&self) -> Option<Tick> {
        self.0.echo_until
    }

    pub(crate) fn server_generation(&self) -> u64 {
        self.0.server_generation
    }

    pub(crate) fn is_renewed(&self) -> bool {
        self.0.renewed.load(Ordering::Acquire)
    }

    /// Hands the hold to the watchdog from now on.
    pub(crate) fn renew_from_now(&self) {
        self.0.renewed.store(true, Ordering::Release);
    }

    /// More than half the lease has passed since the last confirmation.
    fn is_overdue(&self) -> bool {
        let term = self.term();
        self.0.clock.now() > term.sent.plus(term.lease / 2)
    }

    fn term(&self) -> Term {
        *self.0.term.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn valid_until(&self) -> Tick {
        self.term().valid_until()
    }

    /// The server confirmed a renewal that was sent at `sent` for `lease`. Never shortens the hold.
    pub(crate) fn confirm(&self, sent: Tick, lease: Duration) {
        let confirmed = Term { lease, sent };
        let mut term = self.0.term.lock().unwrap_or_else(PoisonError::into_inner);
        if confirmed.valid_until() > term.valid_until() {
            *term = confirmed;
        }
    }

    /// Ends the hold by a release; false when it was over before.
    pub(crate) fn release(&self) -> bool {
        self.end(Stage::Released)
    }

    /// Ends the hold as lost; false when it was over before.
    pub(crate) fn lose(&self, reason: LossReason) -> bool {
        self.end(Stage::Lost(reason))
    }

    fn end(&self, stage: Stage) -> bool {
        let ended = self.0.stage.send_if_modified(|now| {
            let held = *now == Stage::Held;
            if held {
                *now = stage;
            }
            held
        });
        if ended && let Some(on_end) = self.0.on_end.lock().unwrap_or_else(PoisonError::into_inner).take() {
            on_end();
        }
        ended
    }

    /// What comes next in the life of the hold.
    pub(crate) fn watch(&self) -> Watch {
        if *self.0.stage.borrow() != Stage::Held {
            return Watch::Over;
        }
        let term = self.term();
        let lose_at = term.valid_until().minus(warning(term.lease));
        match self.is_renewed() {
            true => Watch::Renew { at: term.sent.plus(term.lease / 3), lose_at },
            false => Watch::Expire { lose_at },
        }
    }

    /// Tells one living grant from another.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

impl Lease {
    /// The duration on the wire, given the watchdog's.
    pub(crate) fn duration(self, watchdog: Duration) -> Duration {
        match self {
            Lease::Watchdog => watchdog,
            Lease::Fixed(lease) => lease,
        }
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant")
            .field("name", &self.0.name)
            .field("token", &self.0.token)
            .field("state", &self.state())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::ManualClock;

    fn grant(clock: &ManualClock, lease: Duration) -> Grant {
        let clock = Clock::Manual(clock.clone());
        let spec = GrantSpec {
            name: ObjectName::new("", "jobs").unwrap(),
            owner: "o:1".to_owned(),
            token: 7,
            lease,
            renewed: true,
            sent: clock.now(),
            echo_until: None,
            server_generation: 0,
        };
        Grant::new(spec, clock, Box::new(|| ()))
    }

    #[test]
    fn validity_ends_at_sent_plus_lease_less_the_margin_exactly() {
        let clock = ManualClock::new();
        let grant = grant(&clock, Duration::from_secs(1));
        assert_eq!(grant.remaining(), Duration::from_millis(980));
        clock.advance(Duration::from_millis(980) - Duration::from_nanos(1));
        assert!(grant.is_valid());
        assert_eq!(grant.state(), HoldState::Suspended);
        clock.advance(Duration::from_nanos(1));
        assert!(!grant.is_valid());
        assert_eq!(grant.state(), HoldState::Lost(LossReason::Expired));
    }

    #[test]
    fn a_confirmation_prolongs_and_never_shortens() {
        let clock = ManualClock::new();
        let grant = grant(&clock, Duration::from_secs(10));
        let start = Clock::Manual(clock.clone()).now();
        grant.confirm(start.plus(Duration::from_secs(1)), Duration::from_secs(1));
        assert_eq!(grant.remaining(), Duration::from_millis(9_890));
        clock.advance(Duration::from_secs(5));
        grant.confirm(start.plus(Duration::from_secs(5)), Duration::from_secs(10));
        assert_eq!(grant.remaining(), Duration::from_millis(9_890));
    }

    #[tokio::test]
    async fn the_end_comes_once_and_is_told() {
        let clock = ManualClock::new();
        let lost = grant(&clock, Duration::from_secs(1));
        assert!(lost.lose(LossReason::Taken));
        assert!(!lost.lose(LossReason::Expired) && !lost.release());
        assert_eq!(lost.lost().await, Some(LossReason::Taken));
        assert!(!lost.is_valid());
        let released = grant(&clock, Duration::from_secs(1));
        assert!(released.release());
        assert_eq!((released.lost().await, released.loss()), (None, None));
    }
}
