//! One grant of a lease, as its holder sees it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::{HoldState, LossReason, margin, warning};
use crate::deadline::{Wait, by_deadline};
use crate::error::{Error, ErrorKind, Result};
use crate::name::ObjectName;
use crate::time::{Clock, Tick};

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
    /// The lease with which the watchdog renews it, if it does.
    pub(crate) watchdog: Option<Duration>,
    /// When the request that was granted was sent.
    pub(crate) sent: Tick,
    /// Until when bytes of an unanswered attempt of the same owner may still take effect.
    pub(crate) echo_until: Option<Tick>,
    pub(crate) server_generation: u64,
}

impl GrantSpec {
    /// Whether the answer took longer than the lease: then it is no grant.
    pub(crate) fn is_over(&self, now: Tick) -> bool {
        valid_until(self.sent, self.lease) <= now
    }
}

struct Inner {
    name: ObjectName,
    owner: String,
    token: u64,
    clock: Clock,
    echo_until: Option<Tick>,
    server_generation: u64,
    /// One value, so that what is read together was true together.
    standing: watch::Sender<Standing>,
    /// What is to happen once, when the hold is over for any reason.
    on_end: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

#[derive(Clone, Copy)]
struct Standing {
    stage: Stage,
    watchdog: Option<Duration>,
    /// The confirmed lease that reaches furthest, and when it was sent.
    lease: Duration,
    sent: Tick,
    /// When the server last confirmed anything: what the watchdog counts from.
    seen: Tick,
}

/// From `Held` by way of `Releasing` to `Released`, or from `Held` to `Lost`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Held,
    /// A release is on its way: the server may have freed it already.
    Releasing,
    Released,
    Lost(LossReason),
}

/// What the keeper of leases has to do next for a grant.
pub(crate) enum Watch {
    /// Nothing more: it is over.
    Over,
    Renew {
        at: Tick,
        lease: Duration,
        lose_at: Tick,
    },
    Expire {
        lose_at: Tick,
    },
}

fn valid_until(sent: Tick, lease: Duration) -> Tick {
    sent.plus(lease).minus(margin(lease))
}

impl Standing {
    fn remaining(&self, now: Tick) -> Duration {
        match self.stage {
            // Announced a little before its end, so that the word arrives in time: valid until then.
            Stage::Held | Stage::Lost(LossReason::Expired) => valid_until(self.sent, self.lease).since(now),
            Stage::Releasing | Stage::Released | Stage::Lost(_) => Duration::ZERO,
        }
    }

    fn is_overdue(&self, now: Tick) -> bool {
        self.watchdog.is_some_and(|lease| now > self.seen.plus(lease / 2))
    }
}

impl Grant {
    pub(crate) fn new(spec: GrantSpec, clock: Clock, on_end: Box<dyn FnOnce() + Send>) -> Grant {
        let GrantSpec { watchdog, lease, sent, .. } = spec;
        Grant(Arc::new(Inner {
            name: spec.name,
            owner: spec.owner,
            token: spec.token,
            clock,
            echo_until: spec.echo_until,
            server_generation: spec.server_generation,
            standing: watch::Sender::new(Standing { stage: Stage::Held, watchdog, lease, sent, seen: sent }),
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
        self.standing().lease
    }

    /// Whether the holder may act: false exactly from the end of validity on, from the moment a release begins, and once
    /// the hold was taken away.
    ///
    /// The end of validity is when the last confirmed acquire or renewal was sent, plus the lease, less 10 ms and 1 %.
    pub fn is_valid(&self) -> bool {
        !self.remaining().is_zero()
    }

    /// How long the hold stays valid if nothing is renewed; zero when it is not valid.
    pub fn remaining(&self) -> Duration {
        self.standing().remaining(self.0.clock.now())
    }

    /// How the hold stands.
    pub fn state(&self) -> HoldState {
        let (standing, now) = (self.standing(), self.0.clock.now());
        match standing.stage {
            Stage::Releasing | Stage::Released => HoldState::Released,
            Stage::Lost(reason) => HoldState::Lost(reason),
            Stage::Held if standing.remaining(now).is_zero() => HoldState::Lost(LossReason::Expired),
            Stage::Held if standing.is_overdue(now) => HoldState::Suspended,
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

    /// Completes when the hold is over: with the reason when it was lost, with `None` when its release began.
    ///
    /// A loss is told once and for good; by a timer that needs no server, 25 ms before the end of validity (an eighth of
    /// the lease if that is less).
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn lost(&self) -> Option<LossReason> {
        let mut standing = self.0.standing.subscribe();
        // The sender lives in `self`.
        match standing.wait_for(|standing| standing.stage != Stage::Held).await.map(|standing| standing.stage) {
            Ok(Stage::Lost(reason)) => Some(reason),
            _ => None,
        }
    }

    /// As [`Grant::lost`], waiting no longer than `wait`; one that does not wait says how things stand.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when the hold was not over by then; [`ErrorKind::InvalidArgument`] for the wait.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn lost_within(&self, wait: Wait) -> Result<Option<LossReason>> {
        const OP: &str = "lost";
        let on = |error: Error| error.on(self.0.name.as_str());
        let until = wait.until(OP, &self.0.clock).map_err(on)?.unwrap_or_else(|| self.0.clock.now());
        let over = by_deadline(&self.0.clock, until, self.lost()).await;
        over.ok_or_else(|| on(Error::new(ErrorKind::Busy, OP, "the hold was not over within the wait")))
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
        self.standing().watchdog.is_some()
    }

    /// Hands the hold to the watchdog from now on.
    pub(crate) fn renew_from_now(&self, lease: Duration) {
        self.0.standing.send_modify(|standing| standing.watchdog = Some(lease));
    }

    fn standing(&self) -> Standing {
        *self.0.standing.borrow()
    }

    pub(crate) fn valid_until(&self) -> Tick {
        let standing = self.standing();
        valid_until(standing.sent, standing.lease)
    }

    /// The server confirmed a renewal that was sent at `sent` for `lease`. Never shortens the hold. False when the hold is
    /// over: what is lost stays lost.
    pub(crate) fn confirm(&self, sent: Tick, lease: Duration) -> bool {
        let mut held = false;
        self.0.standing.send_if_modified(|standing| {
            held = standing.stage == Stage::Held;
            if held {
                standing.seen = standing.seen.max(sent);
                if valid_until(sent, lease) > valid_until(standing.sent, standing.lease) {
                    (standing.sent, standing.lease) = (sent, lease);
                }
            }
            // Nobody waits for this.
            false
        });
        held
    }

    /// A release begins: from here on the hold is not valid, not renewed, and cannot be lost. False when it was over before.
    pub(crate) fn begin_release(&self) -> bool {
        self.advance(Stage::Releasing, |stage| stage == Stage::Held)
    }

    /// Ends the hold by a release; false when it was over before.
    pub(crate) fn release(&self) -> bool {
        self.end(Stage::Released, |stage| matches!(stage, Stage::Held | Stage::Releasing))
    }

    /// Ends the hold as lost; false when it was over before, or is being released.
    pub(crate) fn lose(&self, reason: LossReason) -> bool {
        self.end(Stage::Lost(reason), |stage| stage == Stage::Held)
    }

    fn end(&self, to: Stage, from: impl FnOnce(Stage) -> bool) -> bool {
        let ended = self.advance(to, from);
        if ended {
            let on_end = self.0.on_end.lock().unwrap_or_else(PoisonError::into_inner).take();
            on_end.into_iter().for_each(|on_end| on_end());
        }
        ended
    }

    fn advance(&self, to: Stage, from: impl FnOnce(Stage) -> bool) -> bool {
        self.0.standing.send_if_modified(|standing| {
            let may = from(standing.stage);
            if may {
                standing.stage = to;
            }
            may
        })
    }

    /// What comes next in the life of the hold.
    pub(crate) fn watch(&self) -> Watch {
        let standing = self.standing();
        if standing.stage != Stage::Held {
            return Watch::Over;
        }
        let lose_at = valid_until(standing.sent, standing.lease).minus(warning(standing.lease));
        match standing.watchdog {
            Some(lease) => Watch::Renew { at: standing.seen.plus(lease / 3), lease, lose_at },
            None => Watch::Expire { lose_at },
        }
    }

    /// Tells one living grant from another.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
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
            watchdog: Some(lease),
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
        assert!(!lost.confirm(Clock::Manual(clock.clone()).now(), Duration::from_secs(60)), "what is lost stays lost");
        let released = grant(&clock, Duration::from_secs(1));
        assert!(released.begin_release());
        assert!(!released.is_valid() && !released.lose(LossReason::Deleted), "a release on its way is no loss");
        assert!(released.release());
        assert_eq!((released.lost().await, released.loss()), (None, None));
    }

    #[test]
    fn looking_at_a_grant_while_it_ends_blocks_nobody() {
        let clock = ManualClock::new();
        for _ in 0..200 {
            let grant = grant(&clock, Duration::from_secs(1));
            std::thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| while grant.state() == HoldState::Held {});
                }
                scope.spawn(|| {
                    grant.confirm(Tick(2_000_000_000), Duration::from_secs(1));
                    grant.lose(LossReason::Taken)
                });
            });
        }
    }
}
