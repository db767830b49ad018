//! What a process does: one contender for all its callers, one request of it at a time, and any number of holds beside it.

use super::config::Config;
use super::keys::Owner;
use super::queue::Outcome;
use super::server;
use super::state::{Hold, Phase, Reply, Request, State, happened};
use crate::config::{LONG, NEVER, NOT_AFTER, SHORT};
use crate::state::{Debt, Up, message};

/// Sends a new acquire for the first caller, with a new owner.
pub fn ask(state: &mut State, p: usize) {
    let attempt = state.unused_attempt(p);
    let want = state.processes[p].line.first().expect("a caller waits");
    enter(state, p, Phase::Asking { attempt, want, since: 0, again: false });
}

/// The request that belongs to a phase: also what is sent once more when it stays without an answer.
pub fn request(phase: &Phase) -> Option<Request> {
    match *phase {
        Phase::Asking { attempt, want, .. } => Some(Request::Acquire { attempt, want, left: NOT_AFTER }),
        Phase::Cancelling => Some(Request::Cancel { left: NOT_AFTER }),
        Phase::Subscribing { .. } => Some(Request::Subscribe),
        Phase::Idle | Phase::Sleeping { .. } => None,
    }
}

fn enter(state: &mut State, p: usize, phase: Phase) {
    state.processes[p].wire = request(&phase);
    state.processes[p].phase = phase;
}

/// Asks if a caller waits.
fn go_on(state: &mut State, p: usize) {
    if state.processes[p].line.is_empty() {
        enter(state, p, Phase::Idle);
    } else {
        ask(state, p);
    }
}

/// A caller comes.
pub fn arrive(state: &mut State, p: usize) {
    let process = &mut state.processes[p];
    let want = process.to_come.remove(0);
    process.line.push(want);
    if process.phase == Phase::Idle {
        ask(state, p);
    }
}

/// A caller that waits gives up. The place in the queue is the process's: it is left when nobody else waits here, and its want
/// is that of the first caller. The same happens when a caller is served inside the process.
pub fn give_up(state: &mut State, config: &Config, p: usize, caller: usize) {
    let process = &mut state.processes[p];
    process.line.remove(caller);
    // It may have a place that it does not know of, until it has seen to it.
    state.ghost.prompt &= process.debts.is_empty();
    if matches!(process.phase, Phase::Asking { .. }) {
        state.ghost.happened |= happened::CANCELLED_IN_FLIGHT;
    }
    let first = process.line.first();
    if let Phase::Sleeping { want, .. } = process.phase {
        match first {
            None => enter(state, p, Phase::Cancelling),
            Some(first) if first != want && config.rules.changed_want_asks => ask(state, p),
            Some(_) => {}
        }
    }
}

/// A holder releases.
pub fn release(state: &mut State, config: &Config, p: usize, hold: usize) -> Outcome {
    let hold = state.processes[p].holds.remove(hold);
    if hold.valid == 0 {
        state.ghost.happened |= happened::STALE_RELEASE;
    }
    give_back(state, config, p, hold.attempt, hold.permits)
}

/// A holder of all permits keeps one.
pub fn downgrade(state: &mut State, config: &Config, p: usize, hold: usize) -> Outcome {
    let mut out = Outcome::new(state.not_heard());
    let hold = &mut state.processes[p].holds[hold];
    hold.permits = 1;
    server::downgrade(&mut state.server, config, Owner::ours(p, hold.attempt), &mut out);
    out
}

fn give_back(state: &mut State, config: &Config, p: usize, attempt: u8, permits: u8) -> Outcome {
    let mut out = Outcome::new(state.not_heard());
    server::release(&mut state.server, config, Owner::ours(p, attempt), permits, &mut out);
    out
}

/// A hold is no longer valid.
pub fn lose(state: &mut State, p: usize, hold: usize) {
    state.ghost.happened |= happened::HOLD_LOST;
    state.processes[p].holds.remove(hold);
}

/// A reply comes.
pub fn answered(state: &mut State, config: &Config, p: usize, reply: Reply) -> Option<Outcome> {
    let first = state.processes[p].line.first();
    match (state.processes[p].phase, reply) {
        (Phase::Asking { attempt, want, since, .. }, Reply::Granted) => {
            return granted(
                state,
                config,
                p,
                Hold { attempt, permits: want, valid: config.lease.saturating_sub(since) },
            );
        }
        (Phase::Asking { want, since, again, .. }, Reply::Busy { more, .. }) => {
            let again = again && config.rules.again || more && config.rules.asks_while_expired;
            if first.is_none() {
                enter(state, p, Phase::Cancelling);
            } else if again || first != Some(want) && config.rules.changed_want_asks {
                ask(state, p);
            } else if !state.processes[p].listens {
                enter(state, p, Phase::Subscribing { again: false });
            } else {
                // From the sending: the answer to a process that was stopped is as old as its stop.
                sleep(state, config, p, timer(config, reply).saturating_sub(since), want);
            }
        }
        (Phase::Asking { want, .. }, Reply::TooMany) => {
            state.ghost.happened |= happened::TOO_MANY;
            if first == Some(want) {
                state.processes[p].line.remove(0);
            }
            let empty = state.processes[p].line.is_empty();
            if empty && config.rules.too_many_leaves {
                enter(state, p, Phase::Cancelling);
            } else {
                go_on(state, p);
            }
        }
        (Phase::Subscribing { again }, Reply::Subscribed) => match first {
            None => enter(state, p, Phase::Cancelling),
            Some(want) if !again && !config.rules.recheck => sleep(state, config, p, SHORT, want),
            Some(_) => ask(state, p),
        },
        (Phase::Asking { .. }, Reply::TooLate) if first.is_none() => enter(state, p, Phase::Cancelling),
        (Phase::Asking { .. }, Reply::TooLate) => ask(state, p),
        (Phase::Cancelling, Reply::Cancelled | Reply::TooLate) if first.is_some() => ask(state, p),
        (Phase::Cancelling, Reply::TooLate) if config.rules.late_cancel_repeats => enter(state, p, Phase::Cancelling),
        (Phase::Cancelling, Reply::Cancelled | Reply::TooLate) => enter(state, p, Phase::Idle),
        (phase, reply) => unreachable!("{reply:?} while {phase:?}"),
    }
    None
}

/// Gives the hold to the first caller, unless that has gone and the next wants another number, or the lease is over.
fn granted(state: &mut State, config: &Config, p: usize, hold: Hold) -> Option<Outcome> {
    let process = &mut state.processes[p];
    let wanted = process.line.first() == Some(hold.permits) && hold.valid > 0;
    if wanted {
        process.line.remove(0);
        process.holds.push(hold);
        process.holds.sort_unstable();
        if process.holds.len() > 1 {
            state.ghost.happened |= happened::HOLDS_TWICE;
        }
    }
    go_on(state, p);
    if wanted || !config.rules.returns_unwanted {
        return None;
    }
    state.ghost.happened |= happened::UNWANTED;
    Some(give_back(state, config, p, hold.attempt, hold.permits))
}

/// How long to sleep after a reply.
fn timer(config: &Config, reply: Reply) -> u8 {
    match reply {
        Reply::Busy { free: true, .. } if config.rules.stays_short => SHORT,
        Reply::Busy { rank: 2.., .. } => LONG,
        _ => SHORT,
    }
}

fn sleep(state: &mut State, config: &Config, p: usize, timer: u8, want: u8) {
    let timer = if timer < LONG && !config.rules.head_timer { NEVER } else { timer };
    enter(state, p, Phase::Sleeping { timer, want });
}

/// A message comes.
pub fn notified(state: &mut State, config: &Config, p: usize, what: u8) -> Option<Outcome> {
    match &mut state.processes[p].phase {
        Phase::Sleeping { timer, .. } if what == message::NEXT => *timer = (*timer).min(SHORT),
        Phase::Sleeping { .. } => ask(state, p),
        Phase::Asking { again, .. } | Phase::Subscribing { again } => {
            *again |= what != message::NEXT || config.rules.again_for_next;
        }
        // A place in the queue that nobody here wants: bytes of an old request made it, or a replica remembers it.
        Phase::Idle => {
            let mut out = Outcome::new(state.not_heard());
            server::cancel(&mut state.server, config, p, false, &mut out);
            if out.left {
                state.ghost.happened |= happened::STRAY_CANCELLED;
            }
            return Some(out);
        }
        Phase::Cancelling => {}
    }
    None
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
pub fn settle(state: &mut State, config: &Config, p: usize, debt: usize) -> Option<Outcome> {
    let process = &mut state.processes[p];
    let debt = process.debts.remove(debt);
    let sleeps = matches!(process.phase, Phase::Sleeping { .. });
    let Some(attempt) = debt.attempt else {
        if sleeps {
            ask(state, p);
        }
        return None;
    };
    let process = &state.processes[p];
    let asks = matches!(process.phase, Phase::Asking { attempt: a, .. } if a == attempt);
    if asks || process.holds.iter().any(|h| h.attempt == attempt) {
        return None;
    }
    let mut out = give_back(state, config, p, attempt, 0);
    if out.made_room {
        state.ghost.happened |= happened::LATE_GRANT_FREED;
    }
    if !sleeps {
        server::cancel(&mut state.server, config, p, false, &mut out);
    } else if config.rules.settle_asks {
        ask(state, p);
    }
    Some(out)
}

/// A tick of a process's clock.
pub fn tick(state: &mut State, config: &Config, p: usize) {
    let process = &mut state.processes[p];
    for debt in &mut process.debts {
        debt.due = debt.due.saturating_sub(1);
    }
    match &mut process.phase {
        Phase::Asking { since, .. } => *since = (*since + 1).min(config.lease.max(LONG)),
        Phase::Sleeping { timer, .. } if *timer != NEVER => *timer = timer.saturating_sub(1),
        _ => {}
    }
    for hold in &mut process.holds {
        hold.valid = hold.valid.saturating_sub(1);
    }
    if process.up == Up::Running {
        while let Some(over) = state.processes[p].holds.iter().position(|h| h.valid == 0) {
            lose(state, p, over);
        }
    }
}

/// The data set changed under the process: it subscribed again, and looks at once.
pub fn reconnected(state: &mut State, p: usize) {
    let process = &mut state.processes[p];
    process.inbox = 0;
    match &mut process.phase {
        Phase::Sleeping { timer, .. } => *timer = 0,
        Phase::Asking { again, .. } | Phase::Subscribing { again } => *again = true,
        _ => {}
    }
}
