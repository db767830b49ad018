//! What the world does to processes, messages and the server.

use crate::config::{Config, Kinds};
use crate::state::{Phase, Process, Request, State, Up, happened, message};
use crate::{client, server};

/// A fault. Each uses up one of `Config::faults`, except for what ends one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Fault {
    /// The process is gone. What it has sent may still arrive.
    Crash(usize),
    /// The process stops; its timers go on, and it looks at them when it goes on.
    Pause(usize),
    Resume(usize),
    /// The reply is lost with its connection; the request is repeated, with the same owner.
    LoseReply(usize),
    /// The request is stuck on a dead connection, from which it may arrive at any time; it is repeated on another.
    Stick(usize),
    LoseMessage(usize, u8),
    DelayMessage(usize, u8),
    /// A replica stops following.
    FallBehind,
    /// That replica becomes the server; everybody connects anew. By then the clocks' difference is over.
    Promote,
    /// The keys of the queue are gone.
    Forget,
    /// The server's clock jumps ahead: the lease is over, all were silent for long, and what is under way comes too late.
    Jump,
}

/// What can go wrong with a process.
pub struct Exposed {
    /// Whether it runs.
    pub up: Up,
    /// It waits, holds, or is about to.
    pub engaged: bool,
    /// A reply is on its way to it.
    pub reply: bool,
    /// A request of its is on the way.
    pub wire: bool,
    /// Messages are on their way to it.
    pub inbox: u8,
}

/// The faults that can happen to processes, their requests and messages now.
pub fn of_processes(kinds: Kinds, processes: impl Iterator<Item = Exposed>, mut found: impl FnMut(Fault)) {
    for (p, process) in processes.enumerate() {
        let running = process.up == Up::Running;
        if kinds.crash && process.up != Up::Crashed && process.engaged {
            found(Fault::Crash(p));
        }
        if kinds.pause && running && process.engaged {
            found(Fault::Pause(p));
        }
        if kinds.reply && running && process.reply {
            found(Fault::LoseReply(p));
        }
        if kinds.stuck && running && process.wire {
            found(Fault::Stick(p));
        }
        for what in message::ALL.into_iter().filter(|m| process.inbox & m != 0) {
            if kinds.message {
                found(Fault::LoseMessage(p, what));
            }
            if kinds.late {
                found(Fault::DelayMessage(p, what));
            }
        }
    }
}

/// The faults that can happen now.
pub fn possible(state: &State, config: &Config, mut found: impl FnMut(Fault)) {
    let kinds = config.kinds;
    for (p, process) in state.processes.iter().enumerate() {
        if process.up == Up::Paused {
            found(Fault::Resume(p));
        }
    }
    if state.replica.is_some() {
        found(Fault::Promote);
    }
    if state.faults == 0 {
        return;
    }
    let exposed = |process: &Process| Exposed {
        up: process.up,
        engaged: process.waiting > 0 || process.phase != Phase::Idle,
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
    state.ghost.free_for = 0;
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
            state.ghost.disturbed = true;
            state.ghost.missed = true;
            state.ghost.happened |= happened::MESSAGE_LOST;
            state.processes[p].inbox &= !what;
        }
        Fault::DelayMessage(p, what) => {
            state.ghost.disturbed = true;
            state.ghost.missed = true;
            state.processes[p].inbox &= !what;
            state.processes[p].late |= what;
        }
        Fault::FallBehind => state.replica = Some(state.server),
        Fault::Promote => promote(state, config),
        Fault::Forget => {
            state.ghost.disturbed = true;
            state.ghost.missed = true;
            server::forget(&mut state.server);
        }
        Fault::Jump => jump(state, config),
    }
}

fn repeat(state: &mut State, config: &Config, p: usize) {
    let request = client::request(&state.processes[p].phase).expect("something was asked");
    client::unanswered(state, config, p, request);
    state.processes[p].wire = Some(request);
}

fn crash(state: &mut State, p: usize) {
    let process = &mut state.processes[p];
    process.up = Up::Crashed;
    process.to_come = 0;
    process.waiting = 0;
    process.phase = Phase::Idle;
    process.reply = None;
    process.inbox = 0;
    process.late = 0;
    process.listens = false;
    process.subscribed = false;
    process.debts.clear();
}

fn jump(state: &mut State, config: &Config) {
    state.ghost.disturbed = true;
    state.ghost.missed = true;
    state.ghost.taken_away |= !state.server.lock.is_empty();
    state.ghost.greatest = -1;
    server::jump(&mut state.server, config);
    let wires = state.processes.iter_mut().filter_map(|p| p.wire.as_mut());
    for request in state.stuck.iter_mut().map(|(_, request)| request).chain(wires) {
        if let Request::Acquire { left, .. } | Request::Cancel { left } = request {
            *left = 0;
        }
    }
}

fn promote(state: &mut State, config: &Config) {
    let stale = state.replica.take().expect("fell behind");
    if stale.lock != state.server.lock && !state.server.lock.is_empty() {
        state.ghost.happened |= happened::FAILOVER_LOST_GRANT;
    }
    state.server = stale;
    if config.rules.clock_tokens {
        state.server.token = -1;
        state.ghost.greatest = -1;
    }
    state.ghost.disturbed = true;
    state.ghost.failed_over = true;
    for p in 0..state.processes.len() {
        client::reconnected(state, p);
    }
}
