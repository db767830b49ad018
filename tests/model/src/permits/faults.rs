//! What happens to processes, messages and the server.

use super::client;
use super::config::Config;
use super::keys::MAX;
use super::server;
use super::state::{Phase, Process, Request, State, happened};
use crate::faults::{Exposed, Fault, of_processes};
use crate::state::{Up, message};

/// The faults that can happen now.
pub fn possible(state: &State, config: &Config, mut found: impl FnMut(Fault)) {
    let kinds = config.kinds;
    for p in (0..state.processes.len()).filter(|p| state.processes[*p].up == Up::Paused) {
        found(Fault::Resume(p));
    }
    if state.replica.is_some() {
        found(Fault::Promote);
    }
    if state.faults == 0 {
        return;
    }
    let exposed = |process: &Process| Exposed {
        up: process.up,
        engaged: process.phase != Phase::Idle || !process.holds.is_empty(),
        reply: process.reply.is_some(),
        wire: process.wire.is_some(),
        inbox: process.inbox,
    };
    of_processes(kinds, state.processes.iter().map(exposed), &mut found);
    if kinds.failover && state.replica.is_none() && !state.ghost.failed_over {
        found(Fault::FallBehind);
    }
    if kinds.forget && state.server.queue.at(0).is_some() {
        found(Fault::Forget);
    }
    if kinds.jump {
        found(Fault::Jump);
    }
}

/// A fault happens. All promises of time begin anew.
pub fn happen(state: &mut State, config: &Config, fault: Fault) {
    state.ghost.prompt = false;
    state.ghost.told = false;
    state.ghost.free_for = [0; MAX];
    if !matches!(fault, Fault::Resume(_) | Fault::Promote) {
        state.faults -= 1;
    }
    match fault {
        Fault::Crash(p) => crash(state, p),
        Fault::Pause(p) => {
            state.ghost.disturbed = true;
            state.processes[p].up = Up::Paused;
        }
        Fault::Resume(p) => state.processes[p].up = Up::Running,
        Fault::LoseReply(p) => {
            state.processes[p].reply = None;
            repeat(state, config, p);
        }
        Fault::Stick(p) => {
            let request = state.processes[p].wire.expect("under way");
            state.stuck.push((p as u8, request));
            repeat(state, config, p);
        }
        Fault::LoseMessage(p, what) => {
            unheard(state, p, what);
            state.ghost.happened |= happened::MESSAGE_LOST;
            state.processes[p].inbox &= !what;
        }
        Fault::DelayMessage(p, what) => {
            unheard(state, p, what);
            state.processes[p].inbox &= !what;
            state.processes[p].late |= what;
        }
        Fault::FallBehind => state.replica = Some(state.server),
        Fault::Promote => promote(state),
        Fault::Forget => {
            missed(state);
            server::forget(&mut state.server);
        }
        Fault::Jump => jump(state, config),
    }
}

/// A message does not come, or comes late.
fn unheard(state: &mut State, p: usize, what: u8) {
    missed(state);
    state.ghost.unheard[p] |= what & message::FREE != 0 && state.server.told[p];
}

fn missed(state: &mut State) {
    state.ghost.disturbed = true;
    state.ghost.missed = true;
}

fn repeat(state: &mut State, config: &Config, p: usize) {
    let request = client::request(&state.processes[p].phase).expect("something was asked");
    client::unanswered(state, config, p, request);
    state.processes[p].wire = Some(request);
}

fn crash(state: &mut State, p: usize) {
    // Nobody finds out by telling it again.
    state.ghost.unheard[p] = state.server.told[p];
    let process = &mut state.processes[p];
    process.up = Up::Crashed;
    process.to_come = Default::default();
    process.line = Default::default();
    process.phase = Phase::Idle;
    process.reply = None;
    process.inbox = 0;
    process.late = 0;
    process.listens = false;
    process.debts.clear();
    process.holds.clear();
}

fn jump(state: &mut State, config: &Config) {
    missed(state);
    state.ghost.taken_away |= state.server.grants.taken() > 0;
    server::jump(&mut state.server, config);
    let wires = state.processes.iter_mut().filter_map(|p| p.wire.as_mut());
    for request in state.stuck.iter_mut().map(|(_, request)| request).chain(wires) {
        if let Request::Acquire { left, .. } | Request::Cancel { left } = request {
            *left = 0;
        }
    }
}

fn promote(state: &mut State) {
    let stale = state.replica.take().expect("fell behind");
    if state.server.grants.all().iter().any(|g| !stale.grants.has(g.owner)) {
        state.ghost.happened |= happened::FAILOVER_LOST_GRANT;
    }
    state.server = stale;
    state.ghost.total = stale.total() as u8;
    state.ghost.disturbed = true;
    state.ghost.failed_over = true;
    for p in 0..state.processes.len() {
        client::reconnected(state, p);
    }
}
