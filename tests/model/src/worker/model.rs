//! What can happen next, and what must always hold.

use stateright::{Model, Property};

use super::{Action, Config, EARLY, Granted, JUMP, LEASE, Lease, Number, Process, Renewal, State, name, valid_until};

impl Model for Config {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            numbers: vec![Number::default(); self.numbers],
            server_clock: EARLY,
            processes: vec![Process { rounds: self.rounds, ..Process::default() }; self.processes],
            ticks: self.ticks,
            made: Vec::new(),
            late: false,
            beyond: false,
            crashes: self.crashes,
            lost_replies: self.lost_replies,
            slow: self.slow,
            ahead: self.ahead,
            back: self.back,
            empties: self.empties,
            disturbed: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for (at, process) in state.processes.iter().enumerate().filter(|(_, process)| !process.dead) {
            match (&process.granted, &process.lease) {
                (Some(_), _) => {
                    actions.push(Action::Granted(at));
                    if state.lost_replies > 0 {
                        actions.extend([Action::AskAgain(at), Action::GiveUp(at)]);
                    }
                }
                (None, None) if process.rounds > 0 => actions.push(Action::Ask(at)),
                (None, None) => {}
                (None, Some(_)) => {
                    match &process.renewal {
                        None if process.is_valid() && !process.released => actions.push(Action::Renew(at)),
                        None => {}
                        Some(Renewal { answer: None, .. }) => {
                            actions.push(Action::Run(at));
                        }
                        Some(_) => actions.push(Action::Hear(at)),
                    }
                    actions.push(if process.taken.is_some() { Action::Give(at) } else { Action::Take(at) });
                    actions.push(if process.released { Action::Stop(at) } else { Action::Release(at) });
                }
            }
            if state.crashes > 0 {
                actions.push(Action::Crash(at));
            }
            if state.slow > 0 && state.ticks > 0 {
                actions.push(Action::Tick(Some(at)));
            }
        }
        let faults = [(state.ahead, Action::Ahead), (state.back, Action::Back), (state.empties, Action::Empty)];
        actions.extend(faults.into_iter().filter(|(left, _)| *left > 0).map(|(_, fault)| fault));
        if state.ticks > 0 {
            actions.push(Action::Tick(None));
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let (mut state, rules) = (last.clone(), self.rules);
        match action {
            Action::Ask(at) | Action::AskAgain(at) => {
                let before = state.processes[at].granted.take();
                state.lost_replies -= u8::from(before.is_some());
                let (number, from) = state.acquire(rules, at)?;
                let sent = state.processes[at].clock;
                let same = before.filter(|before| (before.number, before.from) == (number, from));
                let order = same.map_or(state.made.len() as u8, |before| before.order);
                if usize::from(order) == state.made.len() {
                    state.made.push((number, None));
                }
                state.processes[at].granted = Some(Granted { number, order, from, sent });
            }
            Action::GiveUp(at) => {
                state.lost_replies -= 1;
                let process = &mut state.processes[at];
                (process.granted, process.attempt, process.rounds) =
                    (None, process.attempt + 1, process.rounds.saturating_sub(1));
            }
            Action::Granted(at) => {
                let process = &mut state.processes[at];
                let Granted { number, order, from, sent } = process.granted.take()?;
                process.rounds -= 1;
                let valid_until = valid_until(rules, sent);
                if process.clock >= valid_until {
                    process.attempt += 1;
                    return Some(state);
                }
                // From the moment of the answer: late by its way, and never early.
                let offset = from - process.clock;
                process.lease = Some(Lease { number, order, offset, valid_until });
            }
            Action::Renew(at) => {
                let process = &mut state.processes[at];
                let promise = process.time()? + LEASE;
                process.renewal = Some(Renewal { promise, sent: process.clock, answer: None });
            }
            Action::Run(at) => {
                let promise = state.processes[at].renewal.as_ref()?.promise;
                let answer = state.renew(rules, at, promise);
                state.processes[at].renewal.as_mut()?.answer = Some(answer);
            }
            Action::Hear(at) => {
                let process = &mut state.processes[at];
                let Renewal { sent, answer, .. } = process.renewal.take()?;
                if answer == Some(true) {
                    let lease = process.lease.as_mut()?;
                    // What is lost stays lost.
                    if process.clock < lease.valid_until {
                        lease.valid_until = lease.valid_until.max(valid_until(rules, sent));
                    }
                } else {
                    process.end();
                    process.attempt += 1;
                }
            }
            Action::Take(at) => {
                let process = &mut state.processes[at];
                process.taken = Some(process.time()?);
            }
            Action::Give(at) => {
                let process = &mut state.processes[at];
                let time = process.taken.take()?;
                let Lease { order, number, .. } = *process.lease.as_ref()?;
                let sure = process.is_valid();
                if sure || !rules.looks {
                    state.late |= !sure;
                    state.beyond |= time > state.numbers[number].used;
                    state.made(order, time);
                }
            }
            Action::Release(at) => {
                let (owner, time) = (state.owner(at), state.processes[at].time()?);
                let number = &mut state.numbers[state.processes[at].lease.as_ref()?.number];
                if number.lease.is_some_and(|(holder, _)| holder == owner) {
                    *number = Number { lease: None, used: number.used.min(time) };
                }
                let process = &mut state.processes[at];
                process.released = true;
                if rules.stops_first {
                    process.end();
                    process.attempt += 1;
                }
            }
            Action::Stop(at) => {
                state.processes[at].end();
                state.processes[at].attempt += 1;
            }
            Action::Crash(at) => {
                state.crashes -= 1;
                let process = &mut state.processes[at];
                process.end();
                (process.dead, process.granted) = (true, None);
            }
            Action::Tick(slow) => {
                state.ticks -= 1;
                state.slow -= u8::from(slow.is_some());
                state.server_clock += 1;
                for (_, process) in state.processes.iter_mut().enumerate().filter(|(at, _)| Some(*at) != slow) {
                    process.clock += 1;
                }
            }
            Action::Ahead => {
                (state.ahead, state.server_clock, state.disturbed) = (state.ahead - 1, state.server_clock + JUMP, true);
            }
            Action::Back => {
                (state.back, state.server_clock, state.disturbed) = (state.back - 1, state.server_clock - JUMP, true);
            }
            Action::Empty => {
                (state.empties, state.disturbed) = (state.empties - 1, true);
                state.numbers = vec![Number::default(); self.numbers];
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Config>> {
        vec![
            Property::always(name::GROWS, |_: &Config, state: &State| {
                let later = |at: usize| {
                    let (number, span) = &state.made[at];
                    let before = state.made[..at].iter().filter(|(other, _)| other == number);
                    let latest = before.filter_map(|(_, span)| *span).map(|(_, high)| high).max();
                    span.is_none_or(|(low, _)| latest.is_none_or(|latest| latest < low))
                };
                (0..state.made.len()).all(later)
            }),
            Property::always(name::ALONE, |config: &Config, state: &State| {
                let holders = |number: usize| {
                    let holds = |process: &&Process| {
                        process.is_valid() && process.lease.as_ref().is_some_and(|lease| lease.number == number)
                    };
                    state.processes.iter().filter(holds).filter(|process| !process.released).count()
                };
                state.disturbed || (0..config.numbers).all(|number| holders(number) <= 1)
            }),
            Property::always(name::IN_TIME, |_: &Config, state: &State| !state.late),
            Property::always(name::TAKEN_DOWN, |config: &Config, state: &State| config.empties > 0 || !state.beyond),
            Property::always(name::ONE_EACH, |_: &Config, state: &State| {
                let current = |process: usize| {
                    let owner = state.owner(process);
                    state
                        .numbers
                        .iter()
                        .filter(|number| number.lease.is_some_and(|(holder, _)| holder == owner))
                        .count()
                };
                (0..state.processes.len()).all(|process| current(process) <= 1)
            }),
        ]
    }
}
