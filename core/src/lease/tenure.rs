//! One owner's field on the server, over time: what its grants, which follow one another within the process, have in common.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use libdlock_fork::generation;

use super::renewal::RenewedBy;
use super::{GrantSpec, LossReason, RENEWED_MARGIN, Source, Watch, margin, warning};
use crate::name::ObjectName;
use crate::time::{Clock, Tick};

/// Small on purpose: a process may hold 100,000.
pub(super) struct Tenure {
    pub(super) name: ObjectName,
    pub(super) owner: Box<str>,
    pub(super) clock: Clock,
    /// When the server granted it.
    pub(super) granted: Tick,
    /// The object that has to know when a grant is lost.
    pub(super) source: Weak<dyn Source>,
    pub(super) renewed_by: &'static RenewedBy,
    /// 0 when no attempt of this owner went unanswered.
    echo_until: Tick,
    pub(super) server_generation: u64,
    /// The fork generation that it belongs to.
    pub(super) born: u32,
    /// When it is due in the keeper's schedule, whose lock guards this too.
    scheduled_at: AtomicU64,
    /// One value, so that what is read together was true together.
    standing: Mutex<Standing>,
}

#[derive(Clone, Copy)]
pub(super) struct Standing {
    /// How often it was handed over: the grant with this number is the one that holds.
    pub(super) turn: u32,
    /// That grant's.
    pub(super) stage: Stage,
    pub(super) watchdog: Option<Duration>,
    /// The confirmed lease that reaches furthest, and when its validity ends. Kept, because every question about a hold needs
    /// it.
    pub(super) lease: Duration,
    pub(super) valid_until: Tick,
    /// The margin is the 10 % of a lease that the watchdog renews, also if `clock_drift` is less.
    wide_margin: bool,
    /// The option `clock_drift`.
    clock_drift: u8,
    /// When the server last confirmed a lease at least as long as the watchdog's, or any if there is none: what the
    /// watchdog counts from.
    seen: Tick,
    /// The longest lease that was ever asked for.
    longest: Duration,
    /// The server's key was seen to last longer than that.
    too_long: bool,
    /// When something last made the hold doubtful; [`Tick::NEVER`] once a renewal that was sent after that is confirmed.
    doubted: Tick,
}

/// What a key may last longer than the longest lease before the server's clock is to blame.
const CLOCK_ERROR: Duration = Duration::from_secs(1);
/// The shortest pause from one confirmation to a renewal that comes out of turn.
const OUT_OF_TURN: Duration = Duration::from_millis(20);
/// What it asks for to verify a lease that the watchdog does not renew: the server shortens nothing, so this changes nothing.
const NO_LONGER: Duration = Duration::from_millis(1);

/// From `Held` by way of `Releasing` to `Released`, or from `Held` to `Lost`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Held,
    /// A release is on its way: the server may have freed it already.
    Releasing,
    Released,
    Lost(LossReason),
}

/// The end of validity of a lease that was asked for at `sent`.
pub(super) fn valid_until(sent: Tick, lease: Duration, renewed: bool, clock_drift: u8) -> Tick {
    sent.plus(lease).minus(margin_of(lease, renewed, clock_drift))
}

fn margin_of(lease: Duration, renewed: bool, clock_drift: u8) -> Duration {
    margin(lease, if renewed { clock_drift.max(RENEWED_MARGIN) } else { clock_drift })
}

impl Standing {
    /// How a hold of its parent stands in a forked child.
    pub(super) const FORKED: Standing = Standing {
        turn: 0,
        stage: Stage::Lost(LossReason::Closed),
        watchdog: None,
        lease: Duration::ZERO,
        valid_until: Tick(0),
        wide_margin: false,
        clock_drift: 0,
        seen: Tick(0),
        longest: Duration::ZERO,
        too_long: false,
        doubted: Tick::NEVER,
    };

    fn margin(&self) -> Duration {
        margin_of(self.lease, self.wide_margin, self.clock_drift)
    }

    /// As [`super::Grant::renew_from_now`].
    pub(super) fn renew_from_now(&mut self, lease: Duration) {
        self.watchdog = self.watchdog.max(Some(lease));
        let end = self.lease_end();
        self.wide_margin |= self.watchdog == Some(self.lease);
        self.valid_until = end.minus(self.margin());
    }

    pub(super) fn lease_end(&self) -> Tick {
        self.valid_until.plus(self.margin())
    }

    pub(super) fn remaining(&self, now: Tick) -> Duration {
        match self.stage {
            // Announced a little before its end, so that the word arrives in time: valid until then.
            Stage::Held | Stage::Lost(LossReason::Expired) => self.valid_until.since(now),
            Stage::Releasing | Stage::Released | Stage::Lost(_) => Duration::ZERO,
        }
    }

    pub(super) fn loss_at(&self, now: Tick) -> Option<LossReason> {
        match self.stage {
            Stage::Lost(reason) => Some(reason),
            Stage::Held if self.valid_until <= now => Some(LossReason::Expired),
            Stage::Held | Stage::Releasing | Stage::Released => None,
        }
    }

    pub(super) fn is_overdue(&self, now: Tick) -> bool {
        self.renewed_within().is_some_and(|lease| now > self.seen.plus(lease / 2))
    }

    /// The lease of which a renewal comes every third: the watchdog's, unless the confirmed one is shorter still.
    fn renewed_within(&self) -> Option<Duration> {
        self.watchdog.map(|lease| lease.min(self.lease))
    }

    /// With another stage, as one of several holders sees it whose part has ended.
    pub(super) fn at_stage(self, stage: Stage) -> Standing {
        Standing { stage, ..self }
    }

    /// As grant number `turn` sees it: one that was handed over is released.
    pub(super) fn of_turn(self, turn: u32) -> Standing {
        match self.turn == turn {
            true => self,
            false => Standing { stage: Stage::Released, ..self },
        }
    }
}

impl Tenure {
    pub(super) fn new(
        spec: GrantSpec,
        renewed_by: &'static RenewedBy,
        clock: Clock,
        source: Weak<dyn Source>,
    ) -> Tenure {
        let GrantSpec { watchdog, lease, sent, clock_drift, .. } = spec;
        Tenure {
            name: spec.name,
            owner: spec.owner.into_boxed_str(),
            clock,
            granted: spec.granted,
            source,
            renewed_by,
            echo_until: spec.echo_until.unwrap_or_default(),
            server_generation: spec.reached.generation,
            born: generation(),
            scheduled_at: AtomicU64::new(Tick::NEVER.0),
            standing: Mutex::new(Standing {
                turn: 0,
                stage: Stage::Held,
                watchdog,
                lease,
                valid_until: valid_until(sent, lease, watchdog.is_some(), clock_drift),
                wide_margin: watchdog.is_some(),
                clock_drift,
                seen: sent,
                longest: lease,
                too_long: false,
                doubted: Tick::NEVER,
            }),
        }
    }

    /// Until when bytes of an unanswered attempt may still take effect, if there was one.
    pub(super) fn echo_until(&self) -> Option<Tick> {
        Some(self.echo_until).filter(|until| *until != Tick::default())
    }

    pub(super) fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its time in the schedule, while it stands there.
    pub(super) fn scheduled_at(&self) -> Option<Tick> {
        Some(Tick(self.scheduled_at.load(Ordering::Relaxed))).filter(|at| *at != Tick::NEVER)
    }

    pub(super) fn set_scheduled_at(&self, at: Option<Tick>) {
        self.scheduled_at.store(at.unwrap_or(Tick::NEVER).0, Ordering::Relaxed);
    }

    /// See [`super::Grant::asks_for`].
    pub(super) fn asks_for(&self, lease: Duration) -> Option<Duration> {
        let mut standing = self.standing();
        standing.longest = standing.longest.max(lease);
        standing.too_long.then_some(standing.longest)
    }

    /// The server confirmed a renewal that was sent at `sent` for `lease`, and shows the key to last for `left`. Never shortens
    /// the hold. False when the hold is over: what is lost stays lost.
    pub(super) fn confirm(&self, sent: Tick, lease: Duration, left: Duration) -> bool {
        let mut standing = self.standing();
        if standing.stage != Stage::Held {
            return false;
        }
        // By now every extension that may have been carried out has been counted in.
        standing.too_long = left > standing.longest.saturating_add(CLOCK_ERROR);
        // A shorter extension puts off no renewal: a caller that repeats it would keep the watchdog from ever renewing.
        if standing.watchdog.is_none_or(|watchdog| lease >= watchdog) {
            standing.seen = standing.seen.max(sent);
        }
        if sent >= standing.doubted {
            standing.doubted = Tick::NEVER;
        }
        // One by which the caller has prolonged a hold that is renewed is the caller's.
        let wide_margin = standing.watchdog == Some(lease);
        let until = valid_until(sent, lease, wide_margin, standing.clock_drift);
        if until > standing.valid_until {
            (standing.valid_until, standing.lease, standing.wide_margin) = (until, lease, wide_margin);
        }
        true
    }

    /// Asks for a renewal out of turn, to learn whether the server still shows the hold.
    pub(super) fn doubt(&self) {
        let now = self.clock.now();
        self.standing().doubted = now;
    }

    /// What comes next in the life of the hold.
    pub(super) fn watch(&self) -> Watch {
        let standing = *self.standing();
        if standing.stage != Stage::Held {
            return Watch::Over;
        }
        let lose_at = standing.valid_until.minus(warning(standing.lease));
        let out_of_turn = standing.seen.plus(OUT_OF_TURN);
        let doubtful = standing.doubted != Tick::NEVER;
        match standing.watchdog.zip(standing.renewed_within()) {
            Some((lease, within)) => {
                let hurries = standing.too_long || doubtful;
                let at = if hurries { out_of_turn } else { standing.seen.plus(within / 3) };
                Watch::Renew { at, lease, lose_at }
            }
            None if doubtful => Watch::Renew { at: out_of_turn, lease: NO_LONGER, lose_at },
            None => Watch::Expire { lose_at },
        }
    }
}
