//! What can come next.

use std::collections::BTreeSet;

use stateright::{Model, Property};

use super::{Action, Broken, Config, Fate, Keys, Phase, Producer, Request, State, Way, Who, Worker, properties};

impl Model for Config {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let ids = (0..self.delays.len() as u8).chain(self.twice.then_some(0));
        let producer = |id| Producer { id, way: Way::None, begun: false, done: false, crashed: false, carried: 0 };
        let worker = Worker {
            phase: Phase::Idle,
            way: Way::None,
            slow: false,
            unanswered: false,
            take: 0,
            owes_release: false,
            told_done: None,
        };
        vec![State {
            now: 0,
            skew: 0,
            ahead: 0,
            keys: Keys::default(),
            producers: ids.map(producer).collect(),
            workers: vec![worker; self.workers],
            fates: vec![Fate::default(); self.delays.len()],
            late: BTreeSet::new(),
            message_lost: false,
            overdue: 0,
            broken: Broken::default(),
            cancels: self.cancels,
            leaves: self.leaves,
            crashes: self.crashes,
            lost: self.lost,
            jumps: self.jumps,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let ways = state.producers.iter().enumerate().map(|(at, each)| (Who::Producer(at), each.way, each.crashed));
        let of_workers = state.workers.iter().enumerate();
        let of_workers = of_workers.map(|(at, each)| (Who::Worker(at), each.way, each.phase == Phase::Crashed));
        for (who, way, crashed) in ways.chain(of_workers) {
            match way {
                // A request of a process that has ended may still arrive.
                Way::Request(_) => {
                    actions.push(Action::Arrive(who));
                    if state.lost > 0 && !crashed {
                        actions.extend([Action::LoseRequest(who), Action::Delay(who)]);
                    }
                }
                _ if crashed => {}
                Way::Reply(..) => {
                    actions.push(Action::Reply(who));
                    if state.lost > 0 {
                        actions.push(Action::LoseReply(who));
                    }
                }
                Way::Unanswered(_) => actions.push(Action::Repeat(who)),
                Way::None => {}
            }
            if state.crashes > 0 && !crashed {
                actions.push(Action::Crash(who));
            }
        }
        for (at, producer) in state.producers.iter().enumerate() {
            if !producer.begun && !producer.crashed {
                actions.push(Action::Put(at));
            }
        }
        for (at, worker) in state.workers.iter().enumerate() {
            match (worker.phase, worker.way) {
                (Phase::Idle, Way::None) if worker.take < self.takes => actions.push(Action::Take(at)),
                (Phase::Waits { .. }, _) => {
                    if state.asks(at) {
                        actions.push(Action::Ask(at));
                    }
                    if state.leaves > 0 {
                        actions.push(Action::Leave(at));
                    }
                    if state.lost > 0 && state.keys.told.contains(&at) {
                        actions.push(Action::LoseMessage(at));
                    }
                }
                (Phase::Holds { valid_until, .. }, Way::None) => {
                    actions.push(Action::Ack(at));
                    if worker.owes_release && state.now >= valid_until {
                        actions.push(Action::GiveUp(at));
                    }
                    if self.nacks {
                        actions.push(Action::Nack(at));
                    }
                }
                (_, Way::Reply(..)) if state.lost > 0 && !worker.slow => actions.push(Action::Slow(at)),
                _ => {}
            }
        }
        if !state.late.is_empty() {
            actions.push(Action::ArriveLate);
        }
        if state.cancels > 0 {
            actions.extend((0..self.delays.len() as u8).map(Action::Cancel));
        }
        if !state.keys.between.is_empty() {
            actions.push(Action::SecondHalf);
        }
        if state.is_quiet() && state.now < self.ticks {
            actions.push(Action::Tick);
        }
        if state.jumps > 0 {
            actions.extend([true, false].map(|back| Action::Jump { back }));
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let (mut state, rules) = (last.clone(), self.rules);
        match action {
            Action::Put(by) => {
                let id = state.producers[by].id;
                (state.producers[by].begun, state.producers[by].way) = (true, Way::Request(Request::Put { by, id }));
            }
            Action::Take(at) => {
                state.workers[at].take += 1;
                let owner = (at, state.workers[at].take);
                let sent = state.now;
                state.send(at, Phase::Takes { sent }, Request::Take(owner));
            }
            Action::Ask(at) => {
                state.keys.told.remove(&at);
                let (owner, sent) = ((at, state.workers[at].take), state.now);
                state.send(at, Phase::Takes { sent }, Request::Take(owner));
            }
            Action::Leave(at) => {
                state.leaves -= 1;
                state.keys.leave(at, rules);
                state.workers[at].phase = Phase::Idle;
            }
            Action::Ack(at) | Action::Nack(at) => {
                let Phase::Holds { id, valid_until } = state.workers[at].phase else { return None };
                let owner = (at, state.workers[at].take);
                let request =
                    if action == Action::Ack(at) { Request::Ack(owner, id) } else { Request::Nack(owner, id) };
                state.send(at, Phase::Ends { id, valid_until }, request);
            }
            Action::GiveUp(at) => {
                let (owner, clock) = ((at, state.workers[at].take), state.clock());
                state.keys.release_late(owner, self.max_attempts, clock, rules);
                state.workers[at].phase = Phase::Idle;
            }
            Action::Arrive(who) => {
                let Way::Request(request) = *state.way(who) else { return None };
                let reply = state.carry_out(request, self);
                *state.way(who) = Way::Reply(request, reply);
                match who {
                    // That dead waiters are dropped is the subject of `permits`.
                    Who::Worker(at) if state.workers[at].phase == Phase::Crashed => {
                        state.keys.leave(at, rules);
                        state.workers[at].way = Way::None;
                    }
                    _ => {}
                }
            }
            Action::Reply(who) => {
                let Way::Reply(request, reply) = *state.way(who) else { return None };
                *state.way(who) = Way::None;
                match who {
                    Who::Producer(by) => state.producers[by].done = true,
                    Who::Worker(at) => state.replied(at, request, reply, rules),
                }
            }
            Action::LoseRequest(who) | Action::Delay(who) | Action::LoseReply(who) => {
                state.lost -= 1;
                let (Way::Request(request) | Way::Reply(request, _)) = *state.way(who) else { return None };
                // A take that arrives late is the subject of `permits`, and a put that does of `latch`.
                if matches!(action, Action::Delay(_)) {
                    if matches!(request, Request::Take(_) | Request::Put { .. }) {
                        return None;
                    }
                    state.late.insert(request);
                }
                *state.way(who) = Way::Unanswered(request);
                if let Who::Worker(at) = who {
                    (state.workers[at].unanswered, state.workers[at].slow) = (true, true);
                }
            }
            Action::Slow(at) => {
                state.lost -= 1;
                state.workers[at].slow = true;
            }
            Action::Repeat(who) => {
                let Way::Unanswered(request) = *state.way(who) else { return None };
                *state.way(who) = Way::Request(request);
                if let Who::Worker(at) = who {
                    state.workers[at].slow = false;
                    if let Phase::Takes { sent } = &mut state.workers[at].phase {
                        *sent = state.now;
                    }
                }
            }
            Action::ArriveLate => {
                let request = state.late.pop_first()?;
                state.carry_out(request, self);
            }
            Action::LoseMessage(at) => {
                state.lost -= 1;
                state.keys.told.remove(&at);
                state.message_lost = true;
            }
            Action::Cancel(id) => {
                state.cancels -= 1;
                let held = state.keys.holds.values().any(|held| *held == id);
                if state.keys.cancel(id, rules) {
                    state.broken.stolen |= held;
                    state.fates[usize::from(id)].alive = false;
                }
            }
            Action::Crash(who) => {
                state.crashes -= 1;
                match who {
                    Who::Producer(by) => state.producers[by].crashed = true,
                    Who::Worker(at) => {
                        state.workers[at].phase = Phase::Crashed;
                        state.keys.leave(at, rules);
                    }
                }
                if let Way::Reply(..) | Way::Unanswered(_) = *state.way(who) {
                    *state.way(who) = Way::None;
                }
            }
            Action::SecondHalf => {
                let id = state.keys.between.pop_first()?;
                let clock = state.clock();
                state.keys.insert(id, clock, rules);
            }
            Action::Tick => {
                state.overdue = if state.somebody_oversleeps() { state.overdue + 1 } else { 0 };
                state.now += 1;
            }
            Action::Jump { back } => {
                state.jumps -= 1;
                state.skew += if back { -1 } else { 1 };
                state.ahead = state.ahead.max(state.skew);
            }
        }
        if !state.somebody_oversleeps() {
            (state.overdue, state.message_lost) = (0, false);
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Config>> {
        properties::all(self)
    }
}
