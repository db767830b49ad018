//! What a process does: one contender for all its callers, one request at a time.

use crate::config::{Config, LONG, NEVER, NOT_AFTER, SHORT};
use crate::server;
use crate::state::{Debt, Owner, Phase, Reply, Request, State, Up, happened, message};

/// Sends a new acquire, with a new owner.
pub fn ask(state: &mut State, p: usize) {
    let attempt = state.unused_attempt(p);
    state.processes[p].phase = Phase::Asking { attempt, since: 0, again: false };
    state.processes[p].wire = request(&state.processes[p].phase);
}

/// The request that belongs to a phase: also what is sent once more when it stays without an answer.
pub fn request(phase: &Phase) -> Option<Request> {
    match *phase {
        Phase::Asking { attempt, .. } => Some(Request::Acquire { attempt, left: NOT_AFTER }),
        Phase::Releasing { attempt, rejoin, .. } => Some(Request::Release { attempt, rejoin }),
        Phase::Cancelling => Some(Request::Cancel { left: NOT_AFTER }),
        Phase::Subscribing { inbox, .. } => Some(Request::Subscribe { inbox }),
        Phase::Idle | Phase::Sleeping { .. } | Phase::Holding { .. } => None,
    }
}

fn enter(state: &mut State, p: usize, phase: Phase) {
    state.processes[p].wire = request(&phase);
    state.processes[p].phase = phase;
}

/// A caller comes.
pub fn arrive(state: &mut State, p: usize) {
    let process = &mut state.processes[p];
    process.to_come -= 1;
    process.waiting += 1;
    if process.phase == Phase::Idle {
        ask(state, p);
    }
}

/// A caller that waits gives up. Its place in the queue is the process's: it is left when nobody else waits here.
pub fn give_up(state: &mut State, p: usize) {
    let process = &mut state.processes[p];
    process.waiting -= 1;
    // It may have a place that it does not know of, until it has seen to it.
    state.ghost.prompt &= process.debts.is_empty();
    if matches!(process.phase, Phase::Asking { .. }) {
        state.ghost.happened |= happened::CANCELLED_IN_FLIGHT;
    }
    if process.waiting == 0 && matches!(process.phase, Phase::Sleeping { .. }) {
        enter(state, p, Phase::Cancelling);
    }
}

/// The holder releases. A process whose other callers wait joins the queue in the same step.
pub fn release(state: &mut State, p: usize) {
    if let Phase::Holding { attempt, valid } = state.processes[p].phase {
        if valid == 0 {
            state.ghost.happened |= happened::STALE_RELEASE;
        }
        let rejoin = state.processes[p].waiting > 0;
        enter(state, p, Phase::Releasing { attempt, rejoin, again: false });
    }
}

/// The hold is no longer valid: the next caller contends.
pub fn lose(state: &mut State, config: &Config, p: usize) {
    state.ghost.happened |= happened::HOLD_LOST;
    if state.processes[p].waiting > 0 && config.rules.lost_hands_on {
        ask(state, p);
    } else {
        enter(state, p, Phase::Idle);
    }
}

/// A reply comes.
pub fn answered(state: &mut State, config: &Config, p: usize, reply: Reply) {
    let waiting = state.processes[p].waiting;
    let age = match state.processes[p].phase {
        Phase::Asking { since, .. } if config.rules.timer_from_asking => since,
        _ => 0,
    };
    let again = match state.processes[p].phase {
        Phase::Asking { again, .. } | Phase::Subscribing { again, .. } | Phase::Releasing { again, .. } => {
            again && config.rules.again
        }
        _ => false,
    };
    match (state.processes[p].phase, reply) {
        (Phase::Asking { attempt, since, .. }, Reply::Granted) => {
            state.processes[p].subscribed = false;
            if waiting == 0 || since >= config.lease {
                enter(state, p, Phase::Releasing { attempt, rejoin: waiting > 0, again: false });
            } else {
                state.processes[p].waiting -= 1;
                enter(state, p, Phase::Holding { attempt, valid: config.lease - since });
            }
        }
        (Phase::Asking { .. }, Reply::Busy { .. } | Reply::NotYourTurn { .. }) => {
            let foreign_before = matches!(reply, Reply::Busy { foreign: true, rank: 0, .. });
            state.processes[p].subscribed &= foreign_before;
            if waiting == 0 {
                enter(state, p, Phase::Cancelling);
            } else if again {
                ask(state, p);
            } else if !state.processes[p].listens {
                enter(state, p, Phase::Subscribing { inbox: true, again: false });
            } else if foreign_before && !state.processes[p].subscribed {
                enter(state, p, Phase::Subscribing { inbox: false, again: false });
            } else {
                sleep(state, config, p, timer(config, reply).saturating_sub(age));
            }
        }
        (Phase::Subscribing { .. }, Reply::Subscribed) => {
            if waiting == 0 {
                enter(state, p, Phase::Cancelling);
            } else if again || config.rules.recheck {
                ask(state, p);
            } else {
                sleep(state, config, p, SHORT);
            }
        }
        (Phase::Releasing { rejoin, .. }, Reply::Released { rank }) => match rank {
            None if waiting > 0 => ask(state, p),
            // Joined, or perhaps: a release that was answered the second time does not know. Or a message came, so it is in the
            // queue.
            _ if waiting == 0 && (rejoin || again) => enter(state, p, Phase::Cancelling),
            None => enter(state, p, Phase::Idle),
            Some(0) if config.rules.rejoined_head_asks => ask(state, p),
            Some(_) if again => ask(state, p),
            Some(_) if !state.processes[p].listens => {
                enter(state, p, Phase::Subscribing { inbox: true, again: false });
            }
            Some(rank) => {
                state.ghost.happened |= happened::REJOINED;
                sleep(state, config, p, if rank < 2 { SHORT } else { LONG });
            }
        },
        (Phase::Asking { .. }, Reply::TooLate) => ask(state, p),
        (Phase::Cancelling, Reply::Cancelled | Reply::TooLate) if waiting > 0 => ask(state, p),
        (Phase::Cancelling, Reply::TooLate) if config.rules.late_cancel_repeats => enter(state, p, Phase::Cancelling),
        (Phase::Cancelling, Reply::Cancelled | Reply::TooLate) => enter(state, p, Phase::Idle),
        (phase, reply) => unreachable!("{reply:?} while {phase:?}"),
    }
}

/// How long to sleep after a reply.
fn timer(config: &Config, reply: Reply) -> u8 {
    match reply {
        Reply::Busy { ttl, rank, .. } => ttl.min(if rank < 2 { SHORT } else { LONG }),
        Reply::NotYourTurn { .. } if config.rules.stays_short => SHORT,
        Reply::NotYourTurn { rank: 2.., .. } => LONG,
        Reply::NotYourTurn { silent, .. } => crate::config::HEAD_LIMIT.saturating_sub(silent).max(SHORT),
        _ => SHORT,
    }
}

fn sleep(state: &mut State, config: &Config, p: usize, timer: u8) {
    let timer = if timer < LONG && !config.rules.head_timer { NEVER } else { timer };
    enter(state, p, Phase::Sleeping { timer });
}

/// A message comes.
pub fn notified(state: &mut State, config: &Config, p: usize, what: u8) -> server::Outcome {
    let mut out = server::Outcome::new(state.not_heard());
    let waiting = state.processes[p].waiting;
    if what == message::LOST {
        told_lost(state, config, p);
        return out;
    }
    match &mut state.processes[p].phase {
        Phase::Sleeping { timer } if what == message::NEXT => *timer = (*timer).min(SHORT),
        Phase::Sleeping { .. } => {
            if what == message::CHANNEL {
                state.ghost.happened |= happened::WOKEN_BY_FOREIGN;
            }
            ask(state, p);
        }
        Phase::Asking { again, .. } | Phase::Subscribing { again, .. } | Phase::Releasing { again, .. } => {
            *again |= what != message::NEXT || config.rules.again_for_next;
        }
        Phase::Idle | Phase::Holding { .. } if waiting == 0 && what != message::CHANNEL => {
            // A place in the queue that nobody here wants: bytes of an old request made it, or a replica remembers it.
            if config.rules.strays_cancel {
                state.ghost.happened |= happened::STRAY_CANCELLED;
                server::cancel(&mut state.server, config, p, false, &mut out);
            }
        }
        Phase::Idle | Phase::Holding { .. } | Phase::Cancelling => {}
    }
    out
}

/// The lock was freed by force, perhaps: it may be an earlier hold that this is about. The holder renews at once, and the reply
/// says it.
fn told_lost(state: &mut State, config: &Config, p: usize) {
    if let Phase::Holding { attempt, valid: 1.. } = state.processes[p].phase {
        state.ghost.happened |= happened::TOLD_LOST;
        if !config.rules.lost_is_a_hint || !state.server.lock.has(Owner::ours(p, attempt)) {
            lose(state, config, p);
        }
    }
}

/// A request can stay without an answer on a dead connection. It may still be carried out until its `not_after`; then the
/// process sees to what it may have done.
pub fn unanswered(state: &mut State, config: &Config, p: usize, request: Request) {
    let debt = match request {
        Request::Acquire { attempt, .. } if config.rules.clean_up => Debt { attempt: Some(attempt), due: NOT_AFTER },
        Request::Cancel { .. } if config.rules.late_cancel_rejoins => Debt { attempt: None, due: NOT_AFTER },
        _ => return,
    };
    let debts = &mut state.processes[p].debts;
    if !debts.contains(&debt) {
        debts.push(debt);
    }
}

/// A debt is due. What it releases and leaves is carried out at once: a request that is lost here is only sent again.
pub fn settle(state: &mut State, config: &Config, p: usize, debt: usize) -> server::Outcome {
    let mut out = server::Outcome::new(state.not_heard());
    let process = &mut state.processes[p];
    let debt = process.debts.remove(debt);
    match (debt.attempt, process.phase) {
        (Some(attempt), phase) if phase.attempt() == Some(attempt) => {}
        (Some(attempt), _) => {
            server::release(&mut state.server, config, p, attempt, false, &mut out);
            if !out.freed.is_empty() {
                state.ghost.happened |= happened::LATE_GRANT_FREED;
            }
        }
        (None, Phase::Sleeping { .. }) => {
            ask(state, p);
            return out;
        }
        (None, _) => {}
    }
    // Who holds is not in the queue either: the callers behind him join it with the release.
    if !matches!(state.processes[p].phase, Phase::Sleeping { .. }) {
        server::cancel(&mut state.server, config, p, false, &mut out);
    }
    out
}

/// A tick of a process's clock.
pub fn tick(state: &mut State, config: &Config, p: usize) {
    let process = &mut state.processes[p];
    for debt in &mut process.debts {
        debt.due = debt.due.saturating_sub(1);
    }
    match &mut process.phase {
        Phase::Asking { since, .. } => *since = (*since + 1).min(config.lease),
        Phase::Sleeping { timer } if *timer != NEVER => *timer = timer.saturating_sub(1),
        Phase::Holding { valid, .. } => {
            *valid = valid.saturating_sub(1);
            if *valid == 0 && process.up == Up::Running {
                lose(state, config, p);
            }
        }
        _ => {}
    }
}

/// The data set changed under the process: it subscribed again, and looks at the lock at once.
pub fn reconnected(state: &mut State, p: usize) {
    let process = &mut state.processes[p];
    process.inbox = 0;
    match &mut process.phase {
        Phase::Sleeping { timer } => *timer = 0,
        Phase::Asking { again, .. } | Phase::Subscribing { again, .. } | Phase::Releasing { again, .. } => {
            *again = true
        }
        _ => {}
    }
}
