//! What has to hold, and what must be seen to happen.

use stateright::Property;

use super::{Config, Owner, POLL, Phase, Reply, Request, State, Way};

/// The names of the properties.
pub mod name {
    /// The keys.
    pub const ONE_PLACE: &str = "a job is in exactly one place";
    /// At least once.
    pub const KEPT: &str = "no job is lost";
    /// The put.
    pub const ONCE: &str = "no put is carried out twice";
    /// The delivery.
    pub const OWN: &str = "nobody ends a job that another one holds";
    /// What a worker is told.
    pub const TOLD: &str = "a worker that is told so has acknowledged the job";
    /// The lease.
    pub const ALONE: &str = "nobody else gets a job while its worker may rely on it";
    /// The order.
    pub const ORDER: &str = "jobs come in their order";
    /// The due time.
    pub const EARLY: &str = "no job comes before its time by more than the clock was set";
    /// What is lost comes back.
    pub const RETURNS: &str = "no take misses a job whose delivery is over";
    /// The dead list.
    pub const ATTEMPTS: &str = "no job is delivered more often than it may be";
    /// What a worker has seen.
    pub const COUNTED: &str = "each delivery that a worker has seen counts";
    /// Waiting.
    pub const PROMPT: &str = "nobody sleeps while a job is due";
    /// The same when a message was lost.
    pub const BOUND: &str = "a job that is due is taken within two polls";
}

/// What must be seen to happen.
pub mod event {
    /// All jobs are done.
    pub const DONE: &str = "all jobs are done";
    /// A job is delivered twice.
    pub const AGAIN: &str = "a lost job is delivered again";
    /// A job is dead.
    pub const DEAD: &str = "a job is dead";
    /// A job is cancelled.
    pub const CANCELLED: &str = "a job is cancelled";
    /// A put is repeated.
    pub const REPEATED: &str = "a repeated put meets the first";
    /// An acknowledgement is refused.
    pub const REFUSED: &str = "a worker that lost its job is refused";
    /// Two have waited.
    pub const HANDED: &str = "two waiters have a job each";
    /// A job waits for its time.
    pub const LATE: &str = "a job is taken when it is due";
}

pub(super) fn all(config: &Config) -> Vec<Property<Config>> {
    let mut properties = vec![
        Property::always(name::ONE_PLACE, |config: &Config, state: &State| {
            (0..config.delays.len() as u8)
                .all(|id| state.keys.places(id) == usize::from(state.keys.jobs.contains_key(&id)))
                && state.keys.holds.keys().eq(state.keys.leases.keys())
        }),
        Property::always(name::KEPT, |config: &Config, state: &State| {
            let places = |id: u8| state.keys.places(id) + usize::from(state.keys.between.contains(&id));
            (0..config.delays.len() as u8).all(|id| !state.fates[usize::from(id)].alive || places(id) > 0)
        }),
        Property::always(name::ONCE, |_, state: &State| state.producers.iter().all(|by| by.carried <= 1)),
        Property::always(name::OWN, |_, state: &State| !state.broken.stolen),
        Property::always(name::TOLD, |_, state: &State| {
            let was_acked = |(owner, id): (Owner, u8)| state.fates[usize::from(id)].acked_by.contains(&owner);
            state.workers.iter().filter_map(|worker| worker.told_done).all(was_acked)
        }),
        Property::always(name::ALONE, |config: &Config, state: &State| {
            let relies = |at: usize| match state.workers[at].phase {
                Phase::Holds { id, valid_until } if state.now < valid_until => Some(id),
                _ => None,
            };
            let owns = |at: usize, id: u8| {
                let owner = (at, state.workers[at].take);
                state.keys.holds.iter().all(|(other, held)| *held != id || *other == owner)
            };
            config.jumps > 0 || (0..state.workers.len()).all(|at| relies(at).is_none_or(|id| owns(at, id)))
        }),
        Property::always(name::ORDER, |_, state: &State| !state.broken.order),
        Property::always(name::EARLY, |_, state: &State| !state.broken.early),
        Property::always(name::RETURNS, |_, state: &State| !state.broken.missed),
        Property::always(name::ATTEMPTS, |config: &Config, state: &State| {
            state.keys.jobs.values().all(|job| job.attempts <= config.max_attempts)
        }),
        Property::always(name::COUNTED, |_, state: &State| {
            state.keys.jobs.iter().all(|(id, job)| state.fates[usize::from(*id)].seen <= job.attempts)
        }),
        Property::always(name::PROMPT, |config: &Config, state: &State| {
            // A head that is slow costs the others a poll.
            let slow = state.workers.iter().any(|worker| worker.slow);
            let excused = state.message_lost || slow || config.jumps > 0;
            excused || !(state.is_quiet() && state.somebody_oversleeps())
        }),
        Property::always(name::BOUND, |_, state: &State| i8::try_from(state.overdue).is_ok_and(|for_| for_ <= POLL)),
    ];
    if !config.looks_for_events {
        return properties;
    }
    properties.extend([
        Property::sometimes(event::DONE, |_, state: &State| state.fates.iter().all(|fate| !fate.acked_by.is_empty())),
        Property::sometimes(event::AGAIN, |_, state: &State| {
            state.keys.holds.values().any(|id| state.keys.jobs.get(id).is_some_and(|job| job.attempts == 2))
        }),
        Property::sometimes(event::DEAD, |_, state: &State| !state.keys.dead.is_empty()),
        Property::sometimes(event::CANCELLED, |config: &Config, state: &State| {
            state.cancels < config.cancels && state.fates.iter().any(|fate| !fate.alive && fate.acked_by.is_empty())
        }),
        Property::sometimes(event::REPEATED, |config: &Config, state: &State| {
            state.lost < config.lost && state.producers.iter().all(|by| by.done && by.carried == 1)
        }),
        Property::sometimes(event::REFUSED, |_, state: &State| {
            state.workers.iter().any(|worker| matches!(worker.way, Way::Reply(Request::Ack(..), Reply::NotHeld)))
        }),
        Property::sometimes(event::HANDED, |_, state: &State| {
            state.workers.iter().all(|worker| matches!(worker.phase, Phase::Holds { .. }))
        }),
        Property::sometimes(event::LATE, |_, state: &State| {
            state.now > 0 && state.workers.iter().any(|worker| matches!(worker.phase, Phase::Holds { .. }))
        }),
    ]);
    properties
}
