//! One grant of a lease, as its holder sees it.

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::tenure::{Stage, Standing, Tenure, valid_until};
use super::{HoldState, Lease, LossReason, Watch};
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

/// What is to happen when a hold is lost.
pub(crate) type OnLost = Box<dyn FnOnce() + Send>;

struct Inner {
    tenure: Arc<Tenure>,
    /// Which of its tenure's grants it is.
    turn: u64,
    token: u64,
    since: Tick,
    /// Told when the hold is over.
    over: Notify,
    on_lost: Mutex<Option<OnLost>>,
}

impl Grant {
    pub(crate) fn new(spec: GrantSpec, clock: Clock, on_lost: OnLost) -> Grant {
        let (token, since) = (spec.token, clock.now());
        Grant::of(Arc::new(Tenure::new(spec, clock)), 0, token, since, on_lost)
    }

    fn of(tenure: Arc<Tenure>, turn: u64, token: u64, since: Tick, on_lost: OnLost) -> Grant {
        Grant(Arc::new(Inner { tenure, turn, token, since, over: Notify::new(), on_lost: Mutex::new(Some(on_lost)) }))
    }

    /// The fencing token: larger than that of every grant of this name before it, below 2^53 until 2255.
    ///
    /// Send it with every write to the protected resource, which should refuse a token lower than the highest it has seen.
    pub fn token(&self) -> u64 {
        self.0.token
    }

    /// The owner's field on the server, `<client uuid>:<n>`: for logs and for looking at the server.
    pub fn owner(&self) -> &str {
        &self.0.tenure.owner
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
        self.standing().remaining(self.0.tenure.clock.now())
    }

    /// How the hold stands.
    pub fn state(&self) -> HoldState {
        let (standing, now) = (self.standing(), self.0.tenure.clock.now());
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
        loop {
            let mut over = pin!(self.0.over.notified());
            // From here on no end is missed.
            over.as_mut().enable();
            match self.standing().stage {
                Stage::Held => over.await,
                Stage::Lost(reason) => return Some(reason),
                Stage::Releasing | Stage::Released => return None,
            }
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
        let on = |error: Error| error.on(self.name().as_str());
        let clock = &self.0.tenure.clock;
        let until = wait.until(OP, clock).map_err(on)?.unwrap_or_else(|| clock.now());
        let over = by_deadline(clock, until, self.lost()).await;
        over.ok_or_else(|| on(Error::new(ErrorKind::Busy, OP, "the hold was not over within the wait")))
    }

    pub(crate) fn name(&self) -> &ObjectName {
        &self.0.tenure.name
    }

    pub(crate) fn echo_until(&self) -> Option<Tick> {
        self.0.tenure.echo_until
    }

    pub(crate) fn server_generation(&self) -> u64 {
        self.0.tenure.server_generation
    }

    /// What it shares with those that it was handed over from and to.
    pub(super) fn tenure(&self) -> &Arc<Tenure> {
        &self.0.tenure
    }

    /// How long ago it was granted, or handed over.
    pub(crate) fn held_for(&self) -> Duration {
        self.0.tenure.clock.now().since(self.0.since)
    }

    pub(crate) fn is_renewed(&self) -> bool {
        self.standing().watchdog.is_some()
    }

    /// Takes note that `lease` is asked for, before it is. Returns to what the server is to cut what is left, when the last
    /// renewal showed that its clock was set back and added to it.
    pub(crate) fn asks_for(&self, lease: Duration) -> Option<Duration> {
        self.0.tenure.asks_for(lease)
    }

    /// Whether it is valid, and a re-entry that asks for `lease` leaves it as it is.
    pub(crate) fn covers(&self, lease: Lease) -> bool {
        let standing = self.standing();
        let long_enough = match lease {
            Lease::Watchdog => true,
            Lease::Fixed(lease) => lease <= standing.lease,
        };
        let now = self.0.tenure.clock.now();
        let held = standing.stage == Stage::Held && !standing.remaining(now).is_zero();
        held && long_enough && standing.watchdog.is_some()
    }

    /// Hands the hold to the watchdog from now on.
    pub(crate) fn renew_from_now(&self, lease: Duration) {
        self.0.tenure.standing().watchdog = Some(lease);
    }

    fn standing(&self) -> Standing {
        self.0.tenure.standing().of_turn(self.0.turn)
    }

    pub(crate) fn valid_until(&self) -> Tick {
        self.standing().valid_until()
    }

    /// The half of [`Keeper::hand_over`](super::Keeper::hand_over) that concerns the grant.
    pub(super) fn hand_over(&self, token: u64, on_lost: OnLost) -> Option<Grant> {
        let tenure = &self.0.tenure;
        let now = tenure.clock.now();
        let mut standing = tenure.standing();
        let seen = standing.of_turn(self.0.turn);
        if seen.stage != Stage::Held || seen.remaining(now).is_zero() {
            return None;
        }
        standing.turn += 1;
        Some(Grant::of(tenure.clone(), standing.turn, token, now, on_lost))
    }

    /// Tells those who wait for the end of this grant that it was handed over.
    pub(super) fn was_handed_over(&self) {
        self.0.over.notify_waiters();
        drop(self.take_on_lost());
    }

    /// A release begins: from here on the hold is not valid, not renewed, and cannot be lost. False when it was over before.
    pub(crate) fn begin_release(&self) -> bool {
        self.advance(Stage::Releasing, |stage| stage == Stage::Held)
    }

    /// Ends the hold by a release; false when it was over before.
    pub(crate) fn release(&self) -> bool {
        let released = self.advance(Stage::Released, |stage| matches!(stage, Stage::Held | Stage::Releasing));
        if released {
            drop(self.take_on_lost());
        }
        released
    }

    /// Ends the hold as lost; false when it was over before, or is being released.
    pub(crate) fn lose(&self, reason: LossReason) -> bool {
        let lost = self.advance(Stage::Lost(reason), |stage| stage == Stage::Held);
        if lost {
            self.take_on_lost().into_iter().for_each(|on_lost| on_lost());
        }
        lost
    }

    fn take_on_lost(&self) -> Option<OnLost> {
        self.0.on_lost.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn advance(&self, to: Stage, from: impl FnOnce(Stage) -> bool) -> bool {
        let mut standing = self.0.tenure.standing();
        let may = standing.turn == self.0.turn && from(standing.stage);
        if may {
            standing.stage = to;
            drop(standing);
            self.0.over.notify_waiters();
        }
        may
    }

    /// What comes next in the life of the hold, whichever grant holds it now.
    pub(super) fn watch(&self) -> Watch {
        self.0.tenure.watch()
    }

    /// Of two grants of one tenure, the one that came later.
    pub(super) fn later(self, other: Grant) -> Grant {
        if other.0.turn > self.0.turn { other } else { self }
    }

    /// Tells one living grant from another.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant")
            .field("name", self.name())
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
        grant.tenure().confirm(start.plus(Duration::from_secs(1)), Duration::from_secs(1), Duration::ZERO);
        assert_eq!(grant.remaining(), Duration::from_millis(9_890));
        clock.advance(Duration::from_secs(5));
        grant.tenure().confirm(start.plus(Duration::from_secs(5)), Duration::from_secs(10), Duration::ZERO);
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
        assert!(
            !lost.tenure().confirm(Clock::Manual(clock.clone()).now(), Duration::from_secs(60), Duration::ZERO),
            "what is lost stays lost"
        );
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
                    grant.tenure().confirm(Tick(2_000_000_000), Duration::from_secs(1), Duration::ZERO);
                    grant.lose(LossReason::Taken)
                });
            });
        }
    }
}
