//! One owner's field on the server, over time: what its grants, which follow one another within the process, have in common.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{GrantSpec, LossReason, Watch, margin, warning};
use crate::name::ObjectName;
use crate::time::{Clock, Tick};

/// Small on purpose: a process may hold 100,000.
pub(super) struct Tenure {
    pub(super) name: ObjectName,
    pub(super) owner: Box<str>,
    pub(super) clock: Clock,
    /// Until when bytes of an unanswered attempt of this owner may still take effect.
    pub(super) echo_until: Option<Tick>,
    pub(super) server_generation: u64,
    /// Where it stands in the keeper's schedule, whose lock guards this too.
    place: AtomicU64,
    /// One value, so that what is read together was true together.
    standing: Mutex<Standing>,
}

#[derive(Clone, Copy)]
pub(super) struct Standing {
    /// How often it was handed over: the grant with this number is the one that holds.
    pub(super) turn: u64,
    /// That grant's.
    pub(super) stage: Stage,
    pub(super) watchdog: Option<Duration>,
    /// The confirmed lease that reaches furthest, and when it was sent.
    pub(super) lease: Duration,
    sent: Tick,
    /// When the server last confirmed anything: what the watchdog counts from.
    seen: Tick,
    /// The longest lease that was ever asked for.
    longest: Duration,
    /// The server's key was seen to last longer than that.
    too_long: bool,
}

/// What a key may last longer than the longest lease before the server's clock is to blame.
const CLOCK_ERROR: Duration = Duration::from_secs(1);
/// From one look at such a key to the next.
const MENDING: Duration = Duration::from_millis(20);

/// From `Held` by way of `Releasing` to `Released`, or from `Held` to `Lost`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Held,
    /// A release is on its way: the server may have freed it already.
    Releasing,
    Released,
    Lost(LossReason),
}

pub(super) fn valid_until(sent: Tick, lease: Duration) -> Tick {
    sent.plus(lease).minus(margin(lease))
}

impl Standing {
    pub(super) fn valid_until(&self) -> Tick {
        valid_until(self.sent, self.lease)
    }

    pub(super) fn remaining(&self, now: Tick) -> Duration {
        match self.stage {
            // Announced a little before its end, so that the word arrives in time: valid until then.
            Stage::Held | Stage::Lost(LossReason::Expired) => self.valid_until().since(now),
            Stage::Releasing | Stage::Released | Stage::Lost(_) => Duration::ZERO,
        }
    }

    pub(super) fn is_overdue(&self, now: Tick) -> bool {
        self.watchdog.is_some_and(|lease| now > self.seen.plus(lease / 2))
    }

    /// As grant number `turn` sees it: one that was handed over is released.
    pub(super) fn of_turn(self, turn: u64) -> Standing {
        match self.turn == turn {
            true => self,
            false => Standing { stage: Stage::Released, ..self },
        }
    }
}

impl Tenure {
    pub(super) fn new(spec: GrantSpec, clock: Clock) -> Tenure {
        let GrantSpec { watchdog, lease, sent, .. } = spec;
        Tenure {
            name: spec.name,
            owner: spec.owner.into_boxed_str(),
            clock,
            echo_until: spec.echo_until,
            server_generation: spec.server_generation,
            place: AtomicU64::new(Tick::NEVER.0),
            standing: Mutex::new(Standing {
                turn: 0,
                stage: Stage::Held,
                watchdog,
                lease,
                sent,
                seen: sent,
                longest: lease,
                too_long: false,
            }),
        }
    }

    pub(super) fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its time in the schedule, while it stands there.
    pub(super) fn place(&self) -> Option<Tick> {
        Some(Tick(self.place.load(Ordering::Relaxed))).filter(|at| *at != Tick::NEVER)
    }

    pub(super) fn set_place(&self, at: Option<Tick>) {
        self.place.store(at.unwrap_or(Tick::NEVER).0, Ordering::Relaxed);
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
        standing.seen = standing.seen.max(sent);
        if valid_until(sent, lease) > standing.valid_until() {
            (standing.sent, standing.lease) = (sent, lease);
        }
        true
    }

    /// What comes next in the life of the hold.
    pub(super) fn watch(&self) -> Watch {
        let standing = *self.standing();
        if standing.stage != Stage::Held {
            return Watch::Over;
        }
        let lose_at = standing.valid_until().minus(warning(standing.lease));
        match standing.watchdog {
            Some(lease) => {
                let pause = if standing.too_long { MENDING } else { lease / 3 };
                Watch::Renew { at: standing.seen.plus(pause), lease, lose_at }
            }
            None => Watch::Expire { lose_at },
        }
    }
}
