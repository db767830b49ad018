//! What holds in every state, and what must be seen to happen in some.

use stateright::Property;

use super::config::Config;
use super::keys::{Grant, Server};
use super::model::urgent;
use super::queue::Outcome;
use super::state::{Phase, Request, State, happened};
use crate::config::{HEAD_LIMIT, LONG, MAY_BARGE, SHORT};
use crate::state::Up;

/// No bound on the time for which permits stay unused is greater than this.
pub const WORST: u8 = LONG + HEAD_LIMIT;

/// Acquires of a process between two ticks, at most.
pub const ASKS: u8 = 10;

/// The properties by name.
pub mod name {
    #![allow(missing_docs)]
    pub const NEVER_MORE: &str = "never more taken than the total";
    pub const SUM: &str = "available and taken are the total";
    pub const BACKED: &str = "every valid hold has its permits on the server";
    pub const WRITER_ALONE: &str = "a holder of all permits is alone";
    pub const PROMPT: &str = "permits that suffice are granted at once";
    pub const TIMERS: &str = "head and next have a short timer";
    pub const BOUND: &str = "permits that suffice are granted within the bound";
    pub const REPEAT: &str = "a repeated acquire changes nothing";
    pub const NO_PERMIT_LOST: &str = "every permit belongs to somebody who minds it";
    pub const ENTRIES: &str = "every queue entry belongs to somebody who minds it";
    pub const SPIN: &str = "no process spins";
    pub const LIVE: &str = "a live waiter is not dropped as dead";
    pub const GONE: &str = "an entry that was silent for very long is dropped";
    pub const OVERTAKEN: &str = "two non-blocking attempts at most jump a head";
    pub const ORDER: &str = "no waiter is granted what one in front needs";
}

/// All properties; those of the kind *sometimes* only if the state remembers.
pub fn all(config: &Config) -> Vec<Property<Config>> {
    let mut all = vec![
        Property::always(name::NEVER_MORE, |_, s: &State| !s.ghost.overdrawn),
        Property::always(name::SUM, |_, s: &State| s.server.total() == s.ghost.total as i8),
        Property::always(name::BACKED, |_, s: &State| s.ghost.failed_over || s.ghost.taken_away || backed(s)),
        Property::always(name::WRITER_ALONE, |c: &Config, s: &State| {
            s.ghost.failed_over || s.ghost.taken_away || !c.totals.is_empty() || alone(c, s)
        }),
        Property::always(name::PROMPT, |c, s: &State| !(s.ghost.prompt && left_unused(c, s))),
        Property::always(name::TIMERS, |_, s: &State| s.ghost.disturbed || first_two_are_short(s)),
        Property::always(name::BOUND, |_, s: &State| !s.ghost.overdue),
        Property::always(name::REPEAT, |_, s: &State| !s.ghost.repeat_changed),
        Property::always(name::NO_PERMIT_LOST, |_, s: &State| s.ghost.failed_over || permits_minded(s)),
        Property::always(name::ENTRIES, |_, s: &State| s.ghost.failed_over || entries_minded(s)),
        Property::always(name::SPIN, |_, s: &State| s.processes.iter().all(|p| p.asks <= ASKS)),
        Property::always(name::LIVE, |_, s: &State| !s.ghost.dropped_live),
        Property::always(name::GONE, |_, s: &State| s.ghost.behind_dead <= LONG),
        Property::always(name::OVERTAKEN, |_, s: &State| s.ghost.failed_over || s.ghost.overtaken <= MAY_BARGE),
        Property::always(name::ORDER, |_, s: &State| !s.ghost.order_broken),
    ];
    if config.remember {
        let lists = [EVENTS, EVENTS_BESIDE, EVENTS_OF_WRITERS, EVENTS_OF_FAULTS, EVENTS_OF_THE_DEAD];
        all.extend(lists.into_iter().flatten().map(|(name, seen)| Property::sometimes(name, *seen)));
    }
    all
}

/// Whether something has happened on the way to a state.
pub type Seen = fn(&Config, &State) -> bool;

/// What must be seen to happen without faults, or the model proves nothing.
pub const EVENTS: &[(&str, Seen)] = &[
    ("several entries are told at once", seen::<{ happened::TOLD_TOGETHER }>),
    ("a waiter is granted behind others that fit", seen::<{ happened::ADMITTED_BEHIND }>),
    ("permits are kept for an entry in front", seen::<{ happened::HELD_BACK }>),
    ("expired permits are reclaimed", seen::<{ happened::RECLAIMED }>),
    ("a script that reclaims wakes others", seen::<{ happened::RECLAIM_WOKE }>),
    ("a grant of less than was wanted wakes others", seen::<{ happened::SMALLER }>),
    ("a grant that no caller wants is released", seen::<{ happened::UNWANTED }>),
    ("a caller gives up with its request in flight", seen::<{ happened::CANCELLED_IN_FLIGHT }>),
];

/// The same in spaces with several holds of a process, non-blocking attempts and a total that changes.
pub const EVENTS_BESIDE: &[(&str, Seen)] = &[
    ("a process holds twice", seen::<{ happened::HOLDS_TWICE }>),
    ("a caller wants more than the total", seen::<{ happened::TOO_MANY }>),
    ("more is taken than a lowered total", seen::<{ happened::OVER_TOTAL }>),
    ("a non-blocking attempt jumps the queue", seen::<{ happened::BARGED }>),
    ("a non-blocking attempt fits beside the queue", seen::<{ happened::TRY_BESIDE }>),
    ("a non-blocking attempt respects the queue", seen::<{ happened::TRY_REFUSED }>),
];

/// The same in spaces of readers and writers.
pub const EVENTS_OF_WRITERS: &[(&str, Seen)] = &[
    ("a writer becomes a reader and wakes another", seen::<{ happened::DOWNGRADED }>),
    ("readers are told at once", seen::<{ happened::TOLD_TOGETHER }>),
    ("a reader waits behind a waiting writer", seen::<{ happened::HELD_BACK }>),
];

/// The same with faults.
pub const EVENTS_OF_FAULTS: &[(&str, Seen)] = &[
    ("a message is lost", seen::<{ happened::MESSAGE_LOST }>),
    ("a repeated acquire finds its own permits", seen::<{ happened::REPEAT_GRANTED }>),
    ("a request is refused as too late", seen::<{ happened::TOO_LATE }>),
    ("a late grant is released", seen::<{ happened::LATE_GRANT_FREED }>),
    ("a hold is lost", seen::<{ happened::HOLD_LOST }>),
    ("a release comes too late for its hold", seen::<{ happened::STALE_RELEASE }>),
    ("a stray queue entry is cancelled", seen::<{ happened::STRAY_CANCELLED }>),
    ("a late cancel takes a place in the queue", seen::<{ happened::LATE_CANCEL }>),
    ("a failover loses a grant", seen::<{ happened::FAILOVER_LOST_GRANT }>),
];

/// The same in spaces in which processes die.
pub const EVENTS_OF_THE_DEAD: &[(&str, Seen)] = &[
    ("a dead head is dropped", seen::<{ happened::PRUNED }>),
    ("an entry without a listener is dropped", seen::<{ happened::DEAF_DROPPED }>),
    ("a dead entry is dropped by the one behind it", seen::<{ happened::ENTRY_DROPPED }>),
    ("what an entry does not hear is told to others", seen::<{ happened::PASSED_ON }>),
];

fn seen<const EVENT: u32>(_: &Config, state: &State) -> bool {
    state.ghost.happened & EVENT != 0
}

/// The processes whose callers wait and that what is available suffices for, together with the live ones in front of them.
/// `expired`: counts permits of leases that are over.
pub fn admissible(state: &State, expired: bool) -> Vec<usize> {
    let keys = &state.server;
    let mut left = keys.available + if expired { keys.grants.expired() as i8 } else { 0 };
    let mut found = Vec::new();
    let queued = keys.entries();
    let outside = (0..state.processes.len()).filter(|p| keys.queue.rank(*p).is_none());
    for p in queued.chain(outside).filter(|p| state.processes[*p].contends()) {
        let want = state.processes[p].line.first().map_or(0, |want| want as i8);
        if want > keys.total() {
            continue;
        }
        if want > left {
            break;
        }
        left -= want;
        found.push(p);
    }
    found
}

/// What those in front of a process wanted when it was granted: the live ones that did not leave by the same script. What a
/// process has not said yet does not count, nor what an unanswered request may have said.
pub fn needed_in_front(state: &State, before: &Server, out: &Outcome, p: usize) -> i8 {
    let front = before.entries().take_while(|other| *other != p).filter(|other| !out.dropped[*other]);
    let needs = |other: usize| {
        let process = &state.processes[other];
        let asleep = matches!(process.phase, Phase::Sleeping { .. }) && process.debts.is_empty();
        let said = before.wants[other] as i8;
        let wants = process.line.first().map_or(0, |want| want as i8);
        let wants = if asleep { wants } else { wants.min(said) };
        if process.contends() && wants <= before.total() { wants } else { 0 }
    };
    front.map(needs).sum()
}

/// Nothing is under way, and there is room for somebody who waits.
fn left_unused(config: &Config, state: &State) -> bool {
    let mut actions = Vec::new();
    urgent(config, state, &mut actions);
    actions.is_empty() && !admissible(state, false).is_empty()
}

/// A hold that its process believes in is on the server, with as many permits.
fn backed(state: &State) -> bool {
    state.processes.iter().enumerate().all(|(p, process)| {
        process.holds.iter().filter(|h| h.valid > 0).all(|hold| {
            let is = |g: &Grant| {
                g.owner.attempt() == Some((p, hold.attempt)) && g.permits == hold.permits && g.ttl >= hold.valid
            };
            state.server.grants.all().iter().any(is)
        })
    })
}

/// Nobody else holds beside a valid hold of all permits.
fn alone(config: &Config, state: &State) -> bool {
    let holds = || state.processes.iter().flat_map(|p| &p.holds).filter(|h| h.valid > 0);
    holds().all(|h| h.permits < config.total) || holds().count() == 1
}

/// A process that sleeps as head or next, and has no message on its way, looks within a short while.
fn first_two_are_short(state: &State) -> bool {
    (0..2).filter_map(|rank| state.server.queue.at(rank)).map(|p| &state.processes[p]).all(|p| {
        let Phase::Sleeping { timer, .. } = p.phase else { return true };
        p.up != Up::Running || p.inbox != 0 || timer <= SHORT
    })
}

/// For how many ticks permits may stay unused that suffice for somebody. Dead heads cost their time-out: together if a message
/// told the live ones, each anew otherwise. A process behind two of the latter, or that missed that it moved up, still has the
/// timer of those at the back.
pub fn bound(state: &State) -> u8 {
    let dead = state.server.entries().filter(|p| match state.processes[*p].up {
        // What a stale replica remembers of the queue is as good as dead.
        Up::Running => state.ghost.failed_over && !state.processes[*p].contends(),
        Up::Paused | Up::Crashed => true,
    });
    match (dead.count(), state.ghost.missed) {
        (0, false) => SHORT,
        (0, true) => LONG,
        (1, false) => SHORT + HEAD_LIMIT,
        _ if state.ghost.told => SHORT + HEAD_LIMIT,
        _ => WORST,
    }
}

/// Permits whose lease runs belong to a process that uses them, asks for them or will see to them; or to a dead one.
fn permits_minded(state: &State) -> bool {
    state.server.grants.all().iter().filter(|g| g.ttl > 0).all(|grant| {
        let Some((p, attempt)) = grant.owner.attempt() else { return true };
        let process = &state.processes[p];
        process.up == Up::Crashed || process.minds(attempt)
    })
}

/// A queue entry belongs to a process whose callers wait, that has a request under way which leaves the queue, or that will see
/// to it.
fn entries_minded(state: &State) -> bool {
    state.server.entries().all(|p| {
        let p = &state.processes[p];
        let leaves = !matches!(p.phase, Phase::Idle | Phase::Sleeping { .. }) || p.wire == Some(Request::Subscribe);
        p.up == Up::Crashed || !p.line.is_empty() || leaves || !p.debts.is_empty()
    })
}
