//! What holds in every state, and what must be seen to happen in some.

use stateright::Property;

use crate::config::{Config, HEAD_LIMIT, LONG, MAY_BARGE, SHORT};
use crate::model::urgent;
use crate::state::{Owner, Phase, Process, Request, State, Up, happened};

/// No bound on the time for which a lock stays free is greater than this.
pub const WORST: u8 = LONG + HEAD_LIMIT;

/// Acquires of a process between two ticks, at most, with two callers: each message can cause one, each caller a few.
pub const ASKS: u8 = 8;

/// The properties by name.
pub mod name {
    #![allow(missing_docs)]
    pub const I1: &str = "I1 one owner field";
    pub const I1_VALID: &str = "I1 one valid holder";
    pub const I3: &str = "I3 tokens increase";
    pub const I5_PROMPT: &str = "I5 a release is followed by a grant at once";
    pub const I5_HEAD: &str = "I5 head and next have a short timer";
    pub const I5_BOUND: &str = "I5 a free lock is taken within its bound";
    pub const I6: &str = "I6 a release frees its own grant";
    pub const I6_REPEAT: &str = "I6 a repeated acquire changes nothing";
    pub const I7_FIELD: &str = "I7 no owner field without somebody who minds it";
    pub const I7_ENTRY: &str = "I7 no queue entry without somebody who minds it";
    pub const SPIN: &str = "nobody spins";
    pub const LIVE: &str = "a live waiter is not dropped as dead";
    pub const GONE: &str = "an entry that was silent for very long is dropped by who looks at it";
    pub const OVERTAKEN: &str = "two non-blocking attempts at most jump a head";
}

/// Whether callers of a running process wait for the server.
pub fn contends(process: &Process) -> bool {
    process.up == Up::Running && process.waiting > 0 && !matches!(process.phase, Phase::Holding { .. })
}

/// All properties; those of the kind *sometimes* only if the state remembers.
pub fn all(config: &Config) -> Vec<Property<Config>> {
    let mut all = vec![
        Property::always(name::I1, |_, s: &State| s.server.lock.iter().count() <= 1),
        Property::always(name::I1_VALID, |_, s: &State| {
            s.ghost.failed_over || s.ghost.taken_away || valid_holders(s) <= 1
        }),
        Property::always(name::I3, |_, s: &State| !s.ghost.token_fell),
        Property::always(name::I5_PROMPT, |c, s: &State| !(s.ghost.prompt && stands_free(c, s))),
        Property::always(name::I5_HEAD, |_, s: &State| s.ghost.disturbed || first_two_are_short(s)),
        Property::always(name::I5_BOUND, |_, s: &State| !s.ghost.overdue),
        Property::always(name::I6, |_, s: &State| !s.ghost.freed_another),
        Property::always(name::I6_REPEAT, |_, s: &State| !s.ghost.repeat_changed),
        Property::always(name::I7_FIELD, |_, s: &State| {
            s.ghost.failed_over || s.server.lock.iter().all(|o| minded(s, o))
        }),
        Property::always(name::I7_ENTRY, |_, s: &State| s.ghost.failed_over || entries_minded(s)),
        Property::always(name::SPIN, |_, s: &State| s.processes.iter().all(|p| p.asks <= ASKS)),
        Property::always(name::LIVE, |_, s: &State| !s.ghost.dropped_live),
        Property::always(name::GONE, |_, s: &State| s.ghost.behind_dead <= LONG),
        Property::always(name::OVERTAKEN, |_, s: &State| s.ghost.failed_over || s.ghost.overtaken <= MAY_BARGE),
    ];
    if config.remember {
        all.extend(
            EVENTS
                .iter()
                .chain(EVENTS_BESIDE)
                .chain(EVENTS_OF_THE_DEAD)
                .map(|(name, seen)| Property::sometimes(name, *seen)),
        );
    }
    all
}

/// Whether something has happened on the way to a state.
pub type Seen = fn(&Config, &State) -> bool;

/// What must be seen to happen, or the model proves nothing.
pub const EVENTS: &[(&str, Seen)] = &[
    ("a lock is handed over to a queue", seen::<{ happened::HANDED_OVER }>),
    ("a release joins the queue", seen::<{ happened::REJOINED }>),
    ("a dead head is dropped", seen::<{ happened::PRUNED }>),
    ("a caller gives up with its request in flight", seen::<{ happened::CANCELLED_IN_FLIGHT }>),
    ("a message is lost", seen::<{ happened::MESSAGE_LOST }>),
    ("a repeated acquire finds its own field", seen::<{ happened::REPEAT_GRANTED }>),
    ("a request is refused as too late", seen::<{ happened::TOO_LATE }>),
    ("a late grant is released", seen::<{ happened::LATE_GRANT_FREED }>),
    ("a hold is lost", seen::<{ happened::HOLD_LOST }>),
    ("a release comes too late for its hold", seen::<{ happened::STALE_RELEASE }>),
    ("a head is woken by the foreign client", seen::<{ happened::WOKEN_BY_FOREIGN }>),
    ("a stray queue entry is cancelled", seen::<{ happened::STRAY_CANCELLED }>),
    ("a late cancel takes a place in the queue", seen::<{ happened::LATE_CANCEL }>),
    ("a failover loses a grant", seen::<{ happened::FAILOVER_LOST_GRANT }>),
];

/// The same in the spaces of those who try, release by force, and wait behind dead entries.
pub const EVENTS_BESIDE: &[(&str, Seen)] = &[
    ("a try overtakes the queue", seen::<{ happened::BARGED }>),
    ("a try respects the queue", seen::<{ happened::TRY_REFUSED }>),
    ("a try of the head leaves its place alone", seen::<{ happened::PLACE_KEPT }>),
    ("a try drops a dead head", seen::<{ happened::TRY_DROPPED }>),
    ("a holder hears that its lock was freed by force", seen::<{ happened::TOLD_LOST }>),
    ("a dead entry is dropped by the one behind it", seen::<{ happened::ENTRY_DROPPED }>),
];

/// The same in the spaces in which several processes die.
pub const EVENTS_OF_THE_DEAD: &[(&str, Seen)] = &[
    ("a release that the head does not hear is told to another", seen::<{ happened::PASSED_ON }>),
    ("an entry that nobody listens for is dropped with the head", seen::<{ happened::DEAF_DROPPED }>),
];

fn seen<const EVENT: u32>(_: &Config, state: &State) -> bool {
    state.ghost.happened & EVENT != 0
}

fn valid_holders(state: &State) -> usize {
    state.processes.iter().filter(|p| matches!(p.phase, Phase::Holding { valid: 1.., .. })).count()
}

/// Nothing is under way, the lock is free, and somebody waits.
fn stands_free(config: &Config, state: &State) -> bool {
    let mut actions = Vec::new();
    urgent(config, state, &mut actions);
    actions.is_empty() && state.server.lock.is_empty() && state.processes.iter().any(contends)
}

/// Whoever sleeps as head or next, and has no message on its way, looks at the lock within a short while.
fn first_two_are_short(state: &State) -> bool {
    (0..2).filter_map(|rank| state.server.queue.at(rank)).map(|p| &state.processes[p]).all(|p| {
        let Phase::Sleeping { timer } = p.phase else { return true };
        p.up != Up::Running || p.inbox != 0 || timer <= SHORT
    })
}

/// How long a free lock may stand with somebody waiting, in ticks. A dead head costs its time-out, each anew. Whoever stands
/// behind two dead ones, or missed that it moved up, still has the timer of those at the back.
pub fn bound(state: &State) -> u8 {
    let entries = (0..).map_while(|rank| state.server.queue.at(rank));
    let dead = entries.filter(|p| match state.processes[*p].up {
        // What a stale replica remembers of the queue is as good as dead. So is what late bytes have left there for a holder
        // who does not know yet that its lock was freed by force.
        Up::Running => (state.ghost.failed_over || state.ghost.taken_away) && !contends(&state.processes[*p]),
        Up::Paused | Up::Crashed => true,
    });
    match (dead.count(), state.ghost.missed) {
        (0, false) => SHORT,
        (0, true) => LONG,
        (1, false) => SHORT + HEAD_LIMIT,
        _ => WORST,
    }
}

/// An owner field belongs to a process that holds with it, asks with it, releases it, or will see to it; or that is dead, then
/// the lease ends it.
fn minded(state: &State, owner: Owner) -> bool {
    let Some((p, attempt)) = owner.attempt() else { return true };
    let process = &state.processes[p];
    process.up == Up::Crashed
        || process.phase.attempt() == Some(attempt)
        || process.debts.iter().any(|d| d.attempt == Some(attempt))
}

/// A queue entry belongs to a process whose callers wait, that has a request under way which leaves the queue, or that will see
/// to it.
fn entries_minded(state: &State) -> bool {
    (0..).map_while(|rank| state.server.queue.at(rank)).all(|p| {
        let p = &state.processes[p];
        let leaves =
            matches!(p.phase, Phase::Asking { .. } | Phase::Cancelling | Phase::Releasing { rejoin: true, .. })
                || matches!(p.wire, Some(Request::Subscribe { .. }))
                || matches!(p.phase, Phase::Subscribing { .. });
        p.up == Up::Crashed || p.waiting > 0 || leaves || !p.debts.is_empty()
    })
}
