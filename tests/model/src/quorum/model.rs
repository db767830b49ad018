//! The model: which events can come next, and what each does.

use stateright::{Model, Property};

use super::client::{self, Verdict};
use super::config::{Config, NOT_AFTER, TOKENS_PER_TICK};
use super::faults::{self, Fault};
use super::properties;
use super::server::{self, Effect};
use super::state::{Answer, Ask, Late, Owner, Phase, Slot, State, Up, happened};

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Action {
    /// A caller comes, and its client asks all servers.
    Come(usize),
    /// A server carries out a request of a client, which gets the answer; or the reply is lost, or slow.
    CarryOut(usize, usize),
    LoseReply(usize, usize),
    SlowReply(usize, usize),
    /// A reply that was slow comes.
    Hear(usize, usize),
    /// A client waits no longer for what is slow.
    TimeOut(usize),
    /// The answers of a round decide.
    Decide(usize),
    /// A request arrives that its sender waits for no longer.
    LateBytes(usize),
    /// A client releases once more what it owes.
    Settle(usize, usize),
    Renew(usize),
    Release(usize),
    /// A holder sees that its hold is over.
    Lose(usize),
    /// A message wakes a waiter, or its timer does.
    Message(usize),
    Fire(usize),
    Fault(Fault),
    Tick,
}

impl Model for Config {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::start(self)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let before = actions.len();
        urgent(self, state, actions);
        if actions.len() == before {
            actions.push(Action::Tick);
        }
        for (c, client) in state.clients.iter().enumerate() {
            for (s, slot) in client.slots.iter().enumerate() {
                match slot {
                    Slot::Asked { slow: true } => actions.push(Action::CarryOut(c, s)),
                    Slot::Slow(_) => actions.push(Action::Hear(c, s)),
                    Slot::Asked { slow: false } if state.faults > 0 => {
                        actions.extend(self.kinds.lost.then_some(Action::LoseReply(c, s)));
                        actions.extend(self.kinds.slow.then_some(Action::SlowReply(c, s)));
                    }
                    _ => {}
                }
            }
            if client.up != Up::Running {
                continue;
            }
            match client.phase {
                Phase::Idle if client.attempts > 0 => actions.push(Action::Come(c)),
                Phase::Holding { renews } => {
                    actions.push(Action::Release(c));
                    if !renews && client.since > 0 && state.renewals > 0 {
                        actions.push(Action::Renew(c));
                    }
                }
                _ => {}
            }
        }
        actions.extend((0..state.late.len()).map(Action::LateBytes));
        faults::possible(state, self, |fault| actions.push(Action::Fault(fault)));
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Come(c) => client::begin(&mut state, self, c),
            Action::CarryOut(c, s) => {
                let answer = carry_out(self, &mut state, client::request(&last.clients[c], c, s));
                client::answered(&mut state, c, s, answer);
            }
            Action::LoseReply(c, s) => {
                fail(&mut state);
                carry_out(self, &mut state, client::request(&last.clients[c], c, s));
                client::unanswered(&mut state, self, c, s, false);
            }
            Action::SlowReply(c, s) => {
                fail(&mut state);
                let answer = carry_out(self, &mut state, client::request(&last.clients[c], c, s));
                state.clients[c].slots[s] = Slot::Slow(answer);
            }
            Action::Hear(c, s) => {
                let Slot::Slow(answer) = last.clients[c].slots[s] else { return None };
                client::answered(&mut state, c, s, answer);
            }
            Action::TimeOut(c) => {
                for s in (0..self.servers.len()).filter(|s| last.clients[c].slots[*s].is_open()) {
                    client::unanswered(&mut state, self, c, s, true);
                }
            }
            Action::Decide(c) => client::decide(&mut state, self, c),
            Action::LateBytes(at) => late(self, &mut state, at),
            Action::Settle(c, at) => settle(self, &mut state, c, at),
            Action::Renew(c) => client::renew(&mut state, self, c),
            Action::Release(c) => client::undo(&mut state, self, c, false),
            Action::Lose(c) => client::lose(&mut state, self, c),
            Action::Message(c) => {
                state.ghost.happened |= happened::WOKEN;
                client::begin(&mut state, self, c);
            }
            Action::Fire(c) => {
                state.ghost.happened |= happened::POLLED;
                client::begin(&mut state, self, c);
            }
            Action::Fault(fault) => faults::happen(&mut state, self, fault),
            Action::Tick => tick(self, &mut state),
        }
        tidy(self, &mut state);
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all(self)
    }
}

/// No token that is still to be given out is as old as this, relative to now.
const LONG_PAST: i8 = -4 * TOKENS_PER_TICK;

/// What happens before the next tick.
pub fn urgent(config: &Config, state: &State, actions: &mut Vec<Action>) {
    for (c, client) in state.clients.iter().enumerate() {
        let asked = client.slots.iter().enumerate().filter(|(_, slot)| **slot == Slot::Asked { slow: false });
        actions.extend(asked.map(|(s, _)| Action::CarryOut(c, s)));
        if client.up != Up::Running {
            continue;
        }
        if client::verdict(client, config) != Verdict::Wait {
            actions.push(Action::Decide(c));
        }
        if client.age > NOT_AFTER && client.slots.iter().any(|slot| slot.is_open()) {
            actions.push(Action::TimeOut(c));
        }
        match client.phase {
            Phase::Holding { .. } if client.since >= config.valid() => actions.push(Action::Lose(c)),
            Phase::Sleeping { .. } if client.told => actions.push(Action::Message(c)),
            Phase::Sleeping { timer: 0 } => actions.push(Action::Fire(c)),
            _ => {}
        }
        let due = client.debts.iter().enumerate().filter(|(_, debt)| client::is_due(state, config, c, **debt));
        actions.extend(due.map(|(at, _)| Action::Settle(c, at)));
    }
}

fn fail(state: &mut State) {
    faults::disturb(state);
    state.faults -= 1;
}

/// A server carries out a request, and what it did becomes known.
fn carry_out(config: &Config, state: &mut State, request: Late) -> Answer {
    let s = request.server as usize;
    let (answer, effect) = server::carry_out(&mut state.servers[s], config, request);
    if effect.freed {
        state.ghost.prompt = true;
        if request.ask == (Ask::Release { announces: true }) {
            tell(config, state, s);
        }
    }
    note(state, request, answer, effect);
    answer
}

/// Each waiter that listens to this server hears of a release.
fn tell(config: &Config, state: &mut State, s: usize) {
    if s > 0 && !config.rules.listens_everywhere {
        return;
    }
    for client in &mut state.clients {
        let waits = match client.phase {
            Phase::Asking | Phase::Raising | Phase::Sleeping { .. } => true,
            Phase::Undoing { again_in, .. } => again_in.is_some(),
            Phase::Idle | Phase::Holding { .. } => false,
        };
        client.told |= waits && client.up != Up::Crashed;
    }
}

fn note(state: &mut State, request: Late, answer: Answer, effect: Effect) {
    let happened = &mut state.ghost.happened;
    if effect.raised && request.ask == Ask::Raise {
        *happened |= happened::RAISED;
    }
    if request.ask == Ask::Raise && answer == Answer::Refused {
        *happened |= happened::RAISE_REFUSED;
    }
    if effect.void {
        *happened |= happened::VOID;
    }
    if effect.took && request.ask == Ask::Renew {
        *happened |= happened::HEALED;
    }
    if matches!(answer, Answer::Granted { counts: false, .. }) {
        *happened |= happened::NOT_COUNTED;
    }
}

/// Nobody hears the answer.
fn late(config: &Config, state: &mut State, at: usize) {
    let request = state.late.remove(at);
    faults::disturb(state);
    let s = request.server as usize;
    let before = state.servers[s].owner;
    carry_out(config, state, request);
    state.ghost.prompt = false;
    let client = &state.clients[request.owner.client as usize];
    let over = !(client.is_engaged() && client.attempt == request.owner.attempt);
    if before.is_none() && state.servers[s].owner.is_some() && over {
        state.ghost.happened |= happened::LATE_GRANT;
    }
}

/// A release whose answer comes. One that does not come is one that is sent later.
fn settle(config: &Config, state: &mut State, c: usize, at: usize) {
    let debt = state.clients[c].debts.remove(at);
    let owner = Owner { client: c as u8, attempt: debt.attempt };
    let request = Late { server: debt.server, owner, ask: Ask::Release { announces: true }, token: -1, age: 0 };
    if state.servers[debt.server as usize].owner == Some(owner) {
        state.ghost.happened |= happened::LATE_GRANT_UNDONE;
    }
    carry_out(config, state, request);
}

/// Time passes, for all.
fn tick(config: &Config, state: &mut State) {
    let free = state.majority_is_free();
    for client in &mut state.clients {
        client::tick(client, config, free);
        client.token = (client.token - TOKENS_PER_TICK).max(LONG_PAST + 1);
    }
    let mut changed = false;
    for s in &mut state.servers {
        let started = s.starting == 1;
        let expired = server::tick(s);
        changed |= started || expired;
        if started {
            state.ghost.happened |= happened::COUNTS_AGAIN;
        }
        if expired {
            state.ghost.happened |= happened::EXPIRED;
        }
    }
    if changed {
        // Nobody is told of that.
        state.ghost.prompt = false;
        state.ghost.alone = None;
    }
    for late in &mut state.late {
        late.age = (late.age + 1).min(NOT_AFTER + 1);
        late.token = (late.token - TOKENS_PER_TICK).max(-1);
    }
    state.ghost.greatest = (state.ghost.greatest - TOKENS_PER_TICK).max(LONG_PAST);
}

/// Forgets what makes no difference any more, so that a state that comes back is the same.
fn tidy(config: &Config, state: &mut State) {
    let late = std::mem::take(&mut state.late);
    let matters = |request: &Late| {
        let acquires = |other: &Late| {
            matches!(other.ask, Ask::Acquire | Ask::Renew)
                && (other.server, other.owner) == (request.server, request.owner)
                && !server::is_void(config, other.age)
        };
        let client = &state.clients[request.owner.client as usize];
        let engaged = client.is_engaged() && client.attempt == request.owner.attempt;
        let there = state.servers[request.server as usize].owner == Some(request.owner);
        match request.ask {
            Ask::Acquire => !server::is_void(config, request.age),
            Ask::Renew => there || engaged || !server::is_void(config, request.age),
            Ask::Raise => there || engaged || late.iter().any(acquires) || !config.rules.raises_for_the_owner,
            Ask::Release { .. } => there || late.iter().any(acquires) || !config.rules.releases_its_own,
        }
    };
    state.late = late.iter().filter(|request| matters(request)).copied().collect();
    for client in &mut state.clients {
        match client.phase {
            Phase::Idle | Phase::Sleeping { .. } => (client.since, client.age) = (0, 0),
            Phase::Holding { renews: false } => client.age = 0,
            _ => {}
        }
        if matches!(client.phase, Phase::Idle | Phase::Holding { .. }) {
            (client.told, client.missed) = (false, false);
        }
    }
    for client in state.clients.iter_mut().filter(|client| client.phase != Phase::Raising) {
        client.token = client.token.max(-1);
    }
    let in_some = |phase: fn(&Phase) -> bool| state.clients.iter().any(|client| phase(&client.phase));
    let (raises, holds) = (in_some(|phase| *phase == Phase::Raising), in_some(|p| matches!(p, Phase::Holding { .. })));
    if !raises {
        state.ghost.greatest = state.ghost.greatest.max(-1);
    }
    if !holds {
        state.ghost.latest = None;
    }
    if !config.remember {
        state.ghost.happened = 0;
    }
}
