//! One grant of a lease, as its holder sees it.

use std::any::Any;
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use libdlock_fork::generation;
use tokio::sync::Notify;

use super::parcel::Parcel;
use super::part::Part;
use super::renewal::{GrantKind, RenewedBy};
use super::tenure::{Stage, Standing, Tenure, valid_until};
use super::{HoldState, LossReason, Term, Watch};
use crate::backend::Reached;
use crate::ended::while_moving;
use crate::error::{Error, ErrorKind, Result};
use crate::event::OfHold;
use crate::name::ObjectName;
use crate::stats::{Counters, HoldCounts};
use crate::time::{Clock, Tick};
use crate::wait::{Wait, by_deadline};

/// One grant of a lease: its fencing token, how long it is valid, and whether it was lost.
///
/// Clones are views of the same grant. Nothing here does any I/O.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// use libdlock::lease::Grant;
///
/// let held = client.lock("orders/42")?.acquire().await?;
/// let watched: Grant = Grant::clone(&held); // for another task
/// held.release().await?;
/// assert_eq!(watched.lost().await, None, "released, not lost");
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone)]
pub struct Grant {
    pub(super) inner: Arc<Inner>,
}

/// What a grant is made from.
pub(crate) struct GrantSpec {
    pub(crate) name: ObjectName,
    pub(crate) owner: String,
    pub(crate) token: u64,
    pub(crate) lease: Duration,
    /// See [`GrantKind::LEASED`].
    pub(crate) leased: bool,
    /// The lease with which the watchdog renews it, if it does.
    pub(crate) watchdog: Option<Duration>,
    /// The option of this name.
    pub(crate) clock_drift: u8,
    /// When the request that was granted was sent.
    pub(crate) sent: Tick,
    /// When the answer came.
    pub(crate) granted: Tick,
    /// Until when bytes of an unanswered attempt of the same owner may still take effect.
    pub(crate) echo_until: Option<Tick>,
    /// The server that granted it.
    pub(crate) reached: Reached,
    /// What came with it, of a kind whose grants bring something.
    pub(crate) parcel: Option<Arc<Parcel>>,
}

impl GrantSpec {
    /// Whether the answer took longer than the lease: then it is no grant.
    pub(crate) fn is_over(&self) -> bool {
        self.leased && valid_until(self.sent, self.lease, self.watchdog.is_some(), self.clock_drift) <= self.granted
    }

    /// Why it is over, for an error.
    pub(crate) fn too_slow(&self, target: &str) -> String {
        let (took, lease) = (self.granted.since(self.sent), self.lease);
        format!("{target} took {took:?} to answer, too long for a lease of {lease:?}")
    }
}

/// The object whose grants these are, which has to know when one of them is lost.
pub(crate) trait Source: Send + Sync {
    /// The grant was lost. Called once, without a lock of the keeper or the grant.
    fn lost(self: Arc<Self>, grant: &Grant, reason: LossReason);

    /// What the step that renews its grants needs beyond them.
    fn renewal_data(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        None
    }
}

pub(super) struct Inner {
    pub(super) tenure: Arc<Tenure>,
    /// Which of its tenure's grants it is.
    pub(super) turn: u32,
    pub(super) token: u64,
    pub(super) since: Tick,
    /// Told when it is over for its holder.
    pub(super) over: Notify,
    /// Where several have one hold together: what this one has of it. In a box, because few grants have one.
    pub(super) part: Option<Box<Part>>,
    pub(super) parcel: Option<Arc<Parcel>>,
}

impl Grant {
    /// One of the kind `K`.
    pub(crate) fn new<K: GrantKind>(spec: GrantSpec, clock: Clock, source: Weak<dyn Source>) -> Grant {
        let (token, since, parcel) = (spec.token, spec.granted, spec.parcel.clone());
        let tenure = Arc::new(Tenure::new(spec, K::renewed_by(), clock, source));
        Grant { inner: Arc::new(Inner { tenure, turn: 0, token, since, over: Notify::new(), part: None, parcel }) }
    }

    fn of(tenure: Arc<Tenure>, turn: u32, token: u64, since: Tick) -> Grant {
        Grant { inner: Arc::new(Inner { tenure, turn, token, since, over: Notify::new(), part: None, parcel: None }) }
    }

    /// The fencing token: larger than that of every grant of this name before it, below 2^53 until 2255.
    ///
    /// Send it with every write to the protected resource, which should refuse a token lower than the highest it has seen.
    pub fn token(&self) -> u64 {
        self.inner.token
    }

    /// The owner's field on the server, `<client uuid>:<n>`: for logs and for looking at the server.
    pub fn owner(&self) -> &str {
        &self.inner.tenure.owner
    }

    /// The lease as it was last set.
    pub fn lease(&self) -> Duration {
        self.seen(|standing| standing.lease)
    }

    /// Whether the holder may act: false exactly from the end of validity on, from the moment a release begins, and once
    /// the hold was taken away.
    ///
    /// The end of validity is when the last confirmed acquire or renewal was sent, plus the lease, less a margin: 10 ms and 10
    /// % of the lease that the watchdog renews, 10 ms and the option `clock_drift` (1 %) for a lease that the caller set.
    ///
    /// This holds as long as the clocks of client and server do not differ in rate by more than the margin, and as long as the
    /// client's clock goes on: one in a virtual machine that was paused or restored from a snapshot may have stood still, and
    /// then only the fencing token protects the resource.
    pub fn is_valid(&self) -> bool {
        !self.remaining().is_zero()
    }

    /// How long the hold stays valid if nothing is renewed; zero when it is not valid.
    pub fn remaining(&self) -> Duration {
        let now = self.inner.tenure.clock.now();
        self.seen(|standing| standing.remaining(now))
    }

    /// How the hold stands. In a forked child: lost with its client.
    pub fn state(&self) -> HoldState {
        let now = self.inner.tenure.clock.now();
        self.seen(|standing| match (standing.stage, standing.loss_at(now)) {
            (Stage::Releasing | Stage::Released, _) => HoldState::Released,
            (_, Some(reason)) => HoldState::Lost(reason),
            _ if standing.is_overdue(now) => HoldState::Suspended,
            _ => HoldState::Held,
        })
    }

    /// Why the hold was lost, if it was.
    pub fn loss(&self) -> Option<LossReason> {
        self.loss_at(self.inner.tenure.clock.now())
    }

    pub(crate) fn loss_at(&self, now: Tick) -> Option<LossReason> {
        self.seen(|standing| standing.loss_at(now))
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
            if self.is_forked() {
                return Some(LossReason::Closed);
            }
            let (mut over, mut own) = (pin!(self.hold().over.notified()), pin!(self.inner.over.notified()));
            // From here on no end is missed.
            over.as_mut().enable();
            own.as_mut().enable();
            match self.seen(|standing| standing.stage) {
                Stage::Held => tokio::select! {
                    () = over => {}
                    () = own => {}
                },
                Stage::Lost(reason) => return Some(reason),
                Stage::Releasing | Stage::Released => return None,
            }
        }
    }

    /// As [`Grant::lost`], waiting no longer than `wait`; one that does not wait says how things stand.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when the hold was not over by then.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn lost_within(&self, wait: Wait) -> Result<Option<LossReason>> {
        const OP: &str = "lost";
        let on = |error: Error| error.on(self.name().as_str());
        let clock = &self.inner.tenure.clock;
        let now = clock.now();
        let until = wait.until(now).unwrap_or(now);
        let lost = pin!(self.lost());
        let lost = pin!(by_deadline(clock, until, lost));
        let over = while_moving(OP, Some(clock).filter(|_| until != Tick::NEVER), lost).await.map_err(on)?;
        over.ok_or_else(|| on(Error::new(ErrorKind::Busy, OP, "the hold was not over within the wait")))
    }

    /// What an event about this hold names.
    pub(crate) fn for_event(&self) -> OfHold<'_> {
        OfHold { name: self.name().as_str(), token: self.token(), owner: self.owner() }
    }

    /// What tells it from other grants of its name, for messages.
    pub(crate) fn which(&self) -> String {
        if self.renewed_by().fenced { format!("token {}", self.token()) } else { format!("owner {}", self.owner()) }
    }

    pub(crate) fn name(&self) -> &ObjectName {
        &self.inner.tenure.name
    }

    /// See [`Source::renewal_data`]; none when the source is gone, or has other data.
    pub(crate) fn renewal_data<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.inner.tenure.source.upgrade()?.renewal_data()?.downcast().ok()
    }

    pub(crate) fn echo_until(&self) -> Option<Tick> {
        self.inner.tenure.echo_until()
    }

    pub(crate) fn server_generation(&self) -> u64 {
        self.inner.tenure.server_generation
    }

    /// What it shares with those that it was handed over from and to.
    pub(super) fn tenure(&self) -> &Arc<Tenure> {
        &self.inner.tenure
    }

    /// By what the keeper renews it.
    pub(super) fn renewed_by(&self) -> &'static RenewedBy {
        self.inner.tenure.renewed_by
    }

    /// Where holds of its kind are counted.
    pub(crate) fn counts<'a>(&self, of: &'a Counters) -> &'a HoldCounts {
        (self.renewed_by().counts)(of)
    }

    /// What came with it.
    pub(crate) fn parcel(&self) -> Option<&Arc<Parcel>> {
        self.inner.parcel.as_ref()
    }

    /// When it was granted, handed over or joined.
    pub(crate) fn since(&self) -> Tick {
        self.inner.since
    }

    /// When the server granted it, to the first of those among whom it was handed over.
    pub(crate) fn granted(&self) -> Tick {
        self.inner.tenure.granted
    }

    /// How often it was handed over before.
    pub(crate) fn turn(&self) -> u32 {
        self.inner.turn
    }

    pub(crate) fn is_renewed(&self) -> bool {
        self.seen(|standing| standing.watchdog.is_some())
    }

    /// Whether the watchdog renews it with at least this lease.
    pub(crate) fn is_renewed_for(&self, lease: Duration) -> bool {
        self.seen(|standing| standing.watchdog >= Some(lease))
    }

    /// Takes note that `lease` is asked for, before it is. Returns to what the server is to cut what is left, when the last
    /// renewal showed that its clock was set back and added to it.
    pub(crate) fn asks_for(&self, lease: Duration) -> Option<Duration> {
        self.inner.tenure.asks_for(lease)
    }

    /// Whether it is valid, and a re-entry that asks for `term` leaves it as it is.
    pub(crate) fn covers(&self, term: Term) -> bool {
        let now = self.inner.tenure.clock.now();
        self.seen(|standing| {
            let long_enough = match term {
                Term::Renewed(lease) => standing.watchdog >= Some(lease),
                Term::Fixed(lease) => lease <= standing.lease && standing.watchdog.is_some(),
            };
            long_enough && standing.stage == Stage::Held && now < standing.valid_until
        })
    }

    /// How it is held: fixed when an `extend` reaches further than the watchdog.
    pub(crate) fn term(&self) -> Term {
        self.seen(|standing| match standing.watchdog {
            Some(lease) if lease == standing.lease => Term::Renewed(lease),
            _ => Term::Fixed(standing.lease),
        })
    }

    /// Hands the hold to the watchdog from now on, with a lease that never becomes shorter.
    pub(crate) fn renew_from_now(&self, lease: Duration) {
        self.inner.tenure.standing().renew_from_now(lease);
    }

    /// Whether this is a forked child, where a thread of the parent may have left any mutex of it locked.
    fn is_forked(&self) -> bool {
        self.inner.tenure.born != generation()
    }

    /// How the hold stands for this grant. Looked at in place: a copy of it all would be most of the cost of a re-entry.
    fn seen<T>(&self, see: impl FnOnce(&Standing) -> T) -> T {
        if self.is_forked() {
            return see(&Standing::FORKED);
        }
        let ended = self.inner.part.as_ref().and_then(|part| part.ended());
        let standing = self.inner.tenure.standing();
        match ended {
            Some(stage) => see(&standing.at_stage(stage)),
            None if standing.turn == self.inner.turn => see(&standing),
            None => see(&standing.of_turn(self.inner.turn)),
        }
    }

    pub(crate) fn valid_until(&self) -> Tick {
        self.seen(|standing| standing.valid_until)
    }

    /// When the key expires on the server, at the earliest.
    pub(crate) fn lease_end(&self) -> Tick {
        self.seen(Standing::lease_end)
    }

    /// The half of [`Keeper::hand_over`](super::Keeper::hand_over) that concerns the grant.
    pub(super) fn hand_over(&self, token: u64) -> Option<Grant> {
        let tenure = &self.inner.tenure;
        let now = tenure.clock.now();
        let mut standing = tenure.standing();
        let seen = standing.of_turn(self.inner.turn);
        if seen.stage != Stage::Held || seen.remaining(now).is_zero() {
            return None;
        }
        standing.turn += 1;
        Some(Grant::of(tenure.clone(), standing.turn, token, now))
    }

    /// Tells those who wait for the end of this grant that it was handed over.
    pub(super) fn was_handed_over(&self) {
        self.hold().over.notify_waiters();
    }

    /// A release begins: from here on the hold is not valid, not renewed, and cannot be lost. False when it was over before.
    pub(crate) fn begin_release(&self) -> bool {
        self.advance(Stage::Releasing, |stage| stage == Stage::Held, || ())
    }

    /// A release begins that the holder has not asked for: to the holder the hold is lost. False when it was over before.
    pub(crate) fn take_from_holder(&self) -> bool {
        self.advance(Stage::Lost(LossReason::Closed), |stage| stage == Stage::Held, || ())
    }

    /// Ends the hold by a release; false when it was over before.
    pub(crate) fn release(&self) -> bool {
        self.advance(Stage::Released, |stage| matches!(stage, Stage::Held | Stage::Releasing), || ())
    }

    /// Ends the hold as lost; false when it was over before, or is being released. `tell` runs before anybody is woken by the
    /// loss, so that a program which ends when it hears of it has the event too.
    pub(crate) fn lose(&self, reason: LossReason, tell: impl FnOnce()) -> bool {
        // The object first: who is woken by the loss may use the object at once.
        self.advance(
            Stage::Lost(reason),
            |stage| stage == Stage::Held,
            || {
                self.inner.tenure.source.upgrade().into_iter().for_each(|source| source.lost(self, reason));
                tell();
            },
        )
    }

    fn advance(&self, to: Stage, from: impl FnOnce(Stage) -> bool, before_waking: impl FnOnce()) -> bool {
        let mut standing = self.inner.tenure.standing();
        let may = standing.turn == self.inner.turn && from(standing.stage);
        if may {
            standing.stage = to;
            drop(standing);
            before_waking();
            self.hold().over.notify_waiters();
        }
        may
    }

    /// What comes next in the life of the hold, whichever grant holds it now.
    pub(super) fn watch(&self) -> Watch {
        self.inner.tenure.watch()
    }

    /// Of two grants of one tenure, the one that came later.
    pub(super) fn later(self, other: Grant) -> Grant {
        if other.inner.turn > self.inner.turn { other } else { self }
    }

    /// Tells one living grant from another.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.inner).addr()
    }
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant")
            .field("name", self.name())
            .field("token", &self.inner.token)
            .field("state", &self.state())
            .finish()
    }
}

#[cfg(test)]
#[path = "grant_tests.rs"]
mod tests;
