//! Worker numbers under leases: each holder of a number makes ids in a span of time of its own.
//!
//! The server keeps for each number who holds it, until when, and the last time that its holders may use. A holder's time begins
//! after that and goes on by its own clock; each renewal carries how far it will go until the next one, and nothing is made
//! beyond what the server has confirmed. So no clock of any machine is relied on for the ids, and one holder at a time is a
//! matter of clocks that run at about the same rate.
//!
//! A process that is stopped is one that does nothing for some ticks: its clock goes on.

use stateright::{Model, Property, Representative};

/// The lease on the server, in ticks.
const LEASE: u8 = 3;
/// By how much a holder stops believing before the server does.
const MARGIN: u8 = 1;
/// What the server's clock shows at first; it may be set back.
const EARLY: u8 = 6;
/// By how much it is set.
const JUMP: u8 = 4;

/// The rules that the protocol rests on, one by one.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// A holder's time begins after the last that the number's holders may have used.
    pub starts_after: bool,
    /// A renewal says how far its holder's time will go, instead of the server adding a lease to what its clock shows.
    pub promises: bool,
    /// A holder stops believing before the server does.
    pub margin: bool,
    /// The lease is looked at when an id was made, before it is given out.
    pub looks: bool,
    /// A release says how far the holder has gone only after it has stopped.
    pub stops_first: bool,
    /// A repeat of a request is known by its owner.
    pub idempotent: bool,
}

impl Rules {
    /// As the protocol is.
    pub const PROTOCOL: Rules =
        Rules { starts_after: true, promises: true, margin: true, looks: true, stops_first: true, idempotent: true };
}

/// The bounds of a space.
#[derive(Clone, Debug)]
pub struct Config {
    /// How many processes there are, and how many numbers.
    pub processes: usize,
    /// See [`Config::processes`].
    pub numbers: usize,
    /// How many ticks pass.
    pub ticks: u8,
    /// How often each process leases a number.
    pub rounds: u8,
    /// How many processes crash, replies to acquires are lost, clocks of processes miss a tick, and times the server's clock is
    /// set ahead or back, at most.
    pub crashes: u8,
    /// See [`Config::crashes`].
    pub lost_replies: u8,
    /// See [`Config::crashes`].
    pub slow: u8,
    /// See [`Config::crashes`].
    pub ahead: u8,
    /// See [`Config::crashes`].
    pub back: u8,
    /// How often the server loses all that it has.
    pub empties: u8,
    /// Which rules are in force.
    pub rules: Rules,
}

impl Config {
    /// Two processes and one number, without a fault.
    pub const fn new() -> Config {
        Config {
            processes: 2,
            numbers: 1,
            ticks: 4,
            rounds: 1,
            crashes: 0,
            lost_replies: 0,
            slow: 0,
            ahead: 0,
            back: 0,
            empties: 0,
            rules: Rules::PROTOCOL,
        }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::new()
    }
}

/// The names of the properties.
pub mod name {
    /// Ids of one number grow from holder to holder: none comes twice.
    pub const GROWS: &str = "what a holder makes is later than all that holders before it have made";
    /// One process at a time believes in a number, while the server's clock is not set and its data is not lost.
    pub const ALONE: &str = "a number has one holder at a time";
    /// Nothing is given out that a holder is not sure of.
    pub const IN_TIME: &str = "no id is given out once the lease is over by the holder's clock";
    /// The server has taken down how far a holder goes before it goes there.
    pub const TAKEN_DOWN: &str = "no id is later than what the server has taken down";
    /// A repeat takes no second number.
    pub const ONE_EACH: &str = "a process that asks once takes one number";
}

/// What the server has of one number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Number {
    /// Who holds it, and until when.
    lease: Option<(Owner, u8)>,
    /// The last time that its holders may use.
    used: u8,
}

/// A process, and which of its acquires.
type Owner = (usize, u8);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Granted {
    number: usize,
    order: u8,
    from: u8,
    sent: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Lease {
    number: usize,
    /// Of all leases, in the order of their grants.
    order: u8,
    /// The holder's time, less what its clock shows.
    offset: u8,
    /// By its clock.
    valid_until: u8,
}

/// A renewal that is under way: what it says, when it was sent, and what the server said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Renewal {
    promise: u8,
    sent: u8,
    answer: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Process {
    dead: bool,
    rounds: u8,
    attempt: u8,
    clock: u8,
    granted: Option<Granted>,
    lease: Option<Lease>,
    renewal: Option<Renewal>,
    /// A time that was taken for an id which is not given out yet.
    taken: Option<u8>,
    /// It has said how far it has gone, and not stopped yet.
    released: bool,
}

/// The server, the processes, the ids, and the faults that are left.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    numbers: Vec<Number>,
    server_clock: u8,
    processes: Vec<Process>,
    ticks: u8,
    /// The earliest and the latest time of the ids of each lease, by the order of their grants.
    made: Vec<(usize, Option<(u8, u8)>)>,
    late: bool,
    beyond: bool,
    crashes: u8,
    lost_replies: u8,
    slow: u8,
    ahead: u8,
    back: u8,
    empties: u8,
    disturbed: bool,
}

/// What can happen next. The number is that of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The server runs an acquire.
    Ask(usize),
    /// Its reply was lost, and it runs it again.
    AskAgain(usize),
    /// Its reply was lost, and nobody repeats it.
    GiveUp(usize),
    /// The reply arrives.
    Granted(usize),
    /// A renewal is made.
    Renew(usize),
    /// The server runs it.
    Run(usize),
    /// Its reply arrives.
    Hear(usize),
    /// The time of an id is taken.
    Take(usize),
    /// It is given out, or refused.
    Give(usize),
    /// The number is given back.
    Release(usize),
    /// A holder that has given it back stops, where it did not stop first.
    Stop(usize),
    /// Dies.
    Crash(usize),
    /// Time passes, but not for the clock of this process.
    Tick(Option<usize>),
    /// The server's clock is set ahead.
    Ahead,
    /// The server's clock is set back.
    Back,
    /// The server loses its data.
    Empty,
}

impl Process {
    fn time(&self) -> Option<u8> {
        self.lease.as_ref().map(|lease| self.clock + lease.offset)
    }

    fn is_valid(&self) -> bool {
        !self.dead && self.lease.as_ref().is_some_and(|lease| self.clock < lease.valid_until)
    }

    fn end(&mut self) {
        (self.lease, self.renewal, self.taken, self.released) = (None, None, None, false);
    }
}

fn valid_until(rules: Rules, sent: u8) -> u8 {
    sent + LEASE - if rules.margin { MARGIN } else { 0 }
}

impl State {
    fn owner(&self, process: usize) -> Owner {
        (process, self.processes[process].attempt)
    }

    /// The script: the lowest free number, and from when on it may be used.
    fn acquire(&mut self, rules: Rules, process: usize) -> Option<(usize, u8)> {
        let (owner, now) = (self.owner(process), self.server_clock);
        let is_own = |number: &Number| number.lease.is_some_and(|(holder, _)| holder == owner);
        if let Some(number) = self.numbers.iter().position(is_own).filter(|_| rules.idempotent) {
            self.numbers[number].lease = Some((owner, now + LEASE));
            return Some((number, self.numbers[number].used - LEASE));
        }
        let is_free = |number: &Number| number.lease.is_none_or(|(_, expiry)| expiry <= now);
        let number = self.numbers.iter().position(is_free)?;
        let used = self.numbers[number].used;
        let from = if rules.starts_after { now.max(used + 1) } else { now };
        self.numbers[number] = Number { lease: Some((owner, now + LEASE)), used: used.max(from + LEASE) };
        Some((number, from))
    }

    fn renew(&mut self, rules: Rules, process: usize, promise: u8) -> bool {
        let (owner, now) = (self.owner(process), self.server_clock);
        let Some(lease) = &self.processes[process].lease else { return false };
        let number = &mut self.numbers[lease.number];
        if number.lease.is_none_or(|(holder, expiry)| holder != owner || expiry <= now) {
            return false;
        }
        number.lease = Some((owner, now + LEASE));
        number.used = number.used.max(if rules.promises { promise } else { now + LEASE });
        true
    }

    fn made(&mut self, order: u8, time: u8) {
        let span = &mut self.made[usize::from(order)].1;
        let (low, high) = span.unwrap_or((time, time));
        *span = Some((low.min(time), high.max(time)));
    }
}

impl Representative for State {
    /// Small enough without.
    fn representative(&self) -> State {
        self.clone()
    }
}

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

/// Events that must be seen to happen: a space without them would show nothing.
pub mod event {
    /// A number goes from one process to another, and both make ids.
    pub const FOLLOWS: &str = "two leases of a number have ids";
    /// A holder's time is ahead of the server's clock.
    pub const AHEAD: &str = "a holder begins later than the server's clock shows";
    /// A process believes no more, though the server has not given its number away.
    pub const REFUSES: &str = "a holder stops before the server's lease is over";
}

/// The same space, for what must be seen in it.
#[derive(Clone, Debug)]
pub struct Seen(pub Config);

impl Model for Seen {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        self.0.init_states()
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        self.0.actions(state, actions);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        self.0.next_state(last, action)
    }

    fn properties(&self) -> Vec<Property<Seen>> {
        vec![
            Property::sometimes(event::FOLLOWS, |_: &Seen, state: &State| {
                state.made.iter().filter(|(number, span)| *number == 0 && span.is_some()).count() > 1
            }),
            Property::sometimes(event::AHEAD, |_: &Seen, state: &State| {
                state.processes.iter().any(|process| process.time().is_some_and(|time| time > state.server_clock))
            }),
            Property::sometimes(event::REFUSES, |_: &Seen, state: &State| {
                let stopped = |(at, process): (usize, &Process)| {
                    let owner = (at, process.attempt);
                    let held = |number: &Number| {
                        number.lease.is_some_and(|(holder, expiry)| holder == owner && expiry > state.server_clock)
                    };
                    process.lease.is_some() && !process.is_valid() && state.numbers.iter().any(held)
                };
                state.processes.iter().enumerate().any(stopped)
            }),
        ]
    }
}
