//! What happens to the network, the clients and the servers.

use super::config::Config;
use super::state::{Phase, Slot, State, Up};
use super::{client, server};

/// A fault. Each uses up one of `Config::faults`, except for what ends one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Fault {
    /// The request of a client to a server is lost with its connection.
    LoseRequest(usize, usize),
    /// It takes its time.
    SlowRequest(usize, usize),
    LoseMessage(usize),
    Pause(usize),
    Resume(usize),
    Crash(usize),
    /// A server ends, and keeps its data.
    Down(usize),
    Up(usize),
    /// A server restarts without its data, or comes back without.
    Restart(usize),
}

/// The faults that can happen now, except for those of replies.
pub fn possible(state: &State, config: &Config, mut found: impl FnMut(Fault)) {
    for (s, _) in state.servers.iter().enumerate().filter(|(_, server)| !server.up) {
        found(Fault::Up(s));
    }
    for (c, _) in state.clients.iter().enumerate().filter(|(_, client)| client.up == Up::Paused) {
        found(Fault::Resume(c));
    }
    if state.faults == 0 {
        return;
    }
    let kinds = config.kinds;
    for (c, client) in state.clients.iter().enumerate() {
        for (s, _) in client.slots.iter().enumerate().filter(|(_, slot)| **slot == Slot::Asked { slow: false }) {
            if kinds.lost {
                found(Fault::LoseRequest(c, s));
            }
            if kinds.slow {
                found(Fault::SlowRequest(c, s));
            }
        }
        if kinds.message && client.told {
            found(Fault::LoseMessage(c));
        }
        let engaged = client.phase != Phase::Idle;
        if kinds.pause && engaged && client.up == Up::Running {
            found(Fault::Pause(c));
        }
        if kinds.crash && engaged && client.up != Up::Crashed {
            found(Fault::Crash(c));
        }
    }
    for (s, server) in state.servers.iter().enumerate() {
        if kinds.down && server.up {
            found(Fault::Down(s));
        }
        if kinds.emptied {
            found(Fault::Restart(s));
        }
    }
}

/// A fault happens. Promises about what follows without one begin anew.
pub fn happen(state: &mut State, config: &Config, fault: Fault) {
    disturb(state);
    if !matches!(fault, Fault::Up(_) | Fault::Resume(_)) {
        state.faults -= 1;
    }
    match fault {
        Fault::LoseRequest(c, s) => client::unanswered(state, config, c, s, false),
        Fault::SlowRequest(c, s) => state.clients[c].slots[s] = Slot::Asked { slow: true },
        Fault::LoseMessage(c) => (state.clients[c].told, state.clients[c].missed) = (false, true),
        Fault::Pause(c) => state.clients[c].up = Up::Paused,
        Fault::Resume(c) => state.clients[c].up = Up::Running,
        Fault::Crash(c) => crash(state, config, c),
        Fault::Down(s) => {
            end_connections(state, config, s);
            state.servers[s].up = false;
        }
        Fault::Up(s) => state.servers[s].up = true,
        Fault::Restart(s) => {
            end_connections(state, config, s);
            server::restart(&mut state.servers[s], config);
        }
    }
}

/// Something happened that excuses a refusal, and a waiter that sleeps.
pub fn disturb(state: &mut State) {
    state.ghost.alone = None;
    state.ghost.prompt = false;
    for client in &mut state.clients {
        client.overslept = 0;
    }
}

fn end_connections(state: &mut State, config: &Config, s: usize) {
    for c in 0..state.clients.len() {
        if state.clients[c].slots[s].is_open() {
            client::unanswered(state, config, c, s, false);
        }
    }
    state.late.retain(|late| late.server as usize != s);
}

fn crash(state: &mut State, config: &Config, c: usize) {
    for s in 0..config.servers.len() {
        if state.clients[c].slots[s].is_open() {
            client::unanswered(state, config, c, s, true);
        }
    }
    let client = &mut state.clients[c];
    (client.up, client.attempts, client.phase) = (Up::Crashed, 0, Phase::Idle);
    (client.since, client.age, client.token, client.overslept) = (0, 0, -1, 0);
    (client.granted, client.unanswered, client.told) = (0, 0, false);
    client.missed = false;
    client.slots = Default::default();
    client.debts.clear();
}
