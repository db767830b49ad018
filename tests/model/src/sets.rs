//! Several locks as one: sets of locks that overlap, taken at once or one after the other in the order of their keys.
//!
//! A lock is an owner and a queue; how a queue works is the other models' matter, so here its head takes a free lock at any
//! time, and a dead entry is dropped at any time. What is checked is what is new: the order, and what is given back.

use stateright::{Model, Property, Representative};

/// How many locks there are.
pub const LOCKS: usize = 3;

/// The rules that the protocol rests on, one by one.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Locks are waited for in the order of their keys, not of their names in the set.
    pub ordered: bool,
    /// What was taken is given back when the wait is over.
    pub gives_back: bool,
    /// A request whose reply was lost is undone when nobody repeats it.
    pub undoes: bool,
    /// A part that is lost during the wait makes the set be taken anew.
    pub starts_over: bool,
    /// A set that waits takes no lock that others wait for.
    pub respects_queues: bool,
    /// The script takes all or none.
    pub all_or_none: bool,
}

impl Rules {
    /// As the protocol is.
    pub const PROTOCOL: Rules = Rules {
        ordered: true,
        gives_back: true,
        undoes: true,
        starts_over: true,
        respects_queues: true,
        all_or_none: true,
    };
}

/// The bounds of a space.
#[derive(Clone, Debug)]
pub struct Config {
    /// What each process wants, in the order in which it names them.
    pub sets: Vec<Vec<usize>>,
    /// How often each process takes its set.
    pub rounds: u8,
    /// How many processes crash, waits end, replies are lost, and locks are taken by force, at most.
    pub crashes: u8,
    /// See [`Config::crashes`].
    pub time_outs: u8,
    /// See [`Config::crashes`].
    pub lost_replies: u8,
    /// See [`Config::crashes`].
    pub forces: u8,
    /// Which rules are in force.
    pub rules: Rules,
}

impl Config {
    /// These sets, twice each, without a fault.
    pub fn new(sets: &[&[usize]]) -> Config {
        let sets = sets.iter().map(|set| set.to_vec()).collect();
        let rules = Rules::PROTOCOL;
        Config { sets, rounds: 2, crashes: 0, time_outs: 0, lost_replies: 0, forces: 0, rules }
    }

    /// Those of a process in the order in which it waits for them.
    fn order(&self, process: usize) -> Vec<usize> {
        let mut order = self.sets[process].clone();
        if self.rules.ordered {
            order.sort_unstable();
        }
        order
    }
}

/// The names of the properties.
pub mod name {
    /// No two hold sets that overlap, and who holds a set has all of it.
    pub const HELD: &str = "a set that is held is all its holder's";
    /// Nobody waits in a circle.
    pub const GOES_ON: &str = "somebody can go on";
    /// Nothing stays behind.
    pub const NOTHING_LEFT: &str = "in the end nothing is held and nobody stands in a queue";
    /// No set jumps a queue.
    pub const ORDER: &str = "no set that waits overtakes a waiter";
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// It begins, or begins anew.
    Idle,
    /// The script's reply was lost.
    Unsure,
    /// It takes one after the other; so many it has, by its own account.
    Taking(usize),
    Holding,
    /// It holds all, and has been told that one was lost.
    Lost,
    Done,
    Dead,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
struct Lock {
    owner: Option<usize>,
    queue: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Process {
    phase: Phase,
    rounds: u8,
    /// A request without an answer is to be undone.
    owes: bool,
}

/// The locks, the processes, and the faults that are left.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    locks: Vec<Lock>,
    processes: Vec<Process>,
    crashes: u8,
    time_outs: u8,
    lost_replies: u8,
    forces: u8,
    overtaken: bool,
}

/// What can happen next. The number is that of a process, of a lock for `Expire` and `Force`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The script for all of them; its reply may be lost.
    Script(usize, bool),
    /// The same request once more.
    Repeat(usize),
    /// The caller of a request without an answer has given up.
    GiveUp(usize),
    /// What it may have taken is freed.
    Undo(usize),
    /// Takes the next in order, or stands in its queue.
    Next(usize),
    /// The wait is over.
    TimeOut(usize),
    /// It has noticed that a part of what it has taken was lost.
    Notice(usize),
    /// Frees all of them.
    Release(usize),
    /// Dies.
    Crash(usize),
    /// A dead process is dropped from the queues.
    Prune(usize),
    /// The lease of a dead process runs out.
    Expire(usize),
    /// Somebody deletes the lock's key.
    Force(usize),
}

impl State {
    fn owns(&self, process: usize, lock: usize) -> bool {
        self.locks[lock].owner == Some(process)
    }

    /// Whether the next of a process, in this order, is its own to take.
    fn may_take(&self, process: usize, lock: usize) -> bool {
        let Lock { owner, queue } = &self.locks[lock];
        owner.is_none() && queue.first().is_none_or(|first| *first == process)
    }

    /// Frees what the server shows as held by a process, and takes it out of the queues.
    fn free_all(&mut self, process: usize) {
        for lock in &mut self.locks {
            lock.owner = lock.owner.filter(|owner| *owner != process);
        }
        self.leave_queues(process);
    }

    fn leave_queues(&mut self, process: usize) {
        self.locks.iter_mut().for_each(|lock| lock.queue.retain(|waiter| *waiter != process));
    }

    fn ends_round(&mut self, process: usize) {
        let process = &mut self.processes[process];
        process.rounds -= 1;
        process.phase = if process.rounds == 0 { Phase::Done } else { Phase::Idle };
    }

    /// All that its process can do, and the server, without a fault.
    fn progress(&self, config: &Config) -> Vec<Action> {
        let mut actions = Vec::new();
        for (at, process) in self.processes.iter().enumerate() {
            if process.owes && config.rules.undoes {
                actions.push(Action::Undo(at));
            }
            let order = config.order(at);
            match process.phase {
                // It is undone before the next request: else that could find the lock held by this one.
                Phase::Idle if process.owes && config.rules.undoes => {}
                Phase::Idle => actions.push(Action::Script(at, false)),
                Phase::Unsure => actions.extend([Action::Repeat(at), Action::GiveUp(at)]),
                Phase::Taking(has) => {
                    if config.rules.starts_over && order[..has].iter().any(|lock| !self.owns(at, *lock)) {
                        actions.push(Action::Notice(at));
                    } else if self.may_take(at, order[has]) || !self.locks[order[has]].queue.contains(&at) {
                        actions.push(Action::Next(at));
                    }
                }
                Phase::Holding | Phase::Lost => actions.push(Action::Release(at)),
                Phase::Dead if self.locks.iter().any(|lock| lock.queue.contains(&at)) => {
                    actions.push(Action::Prune(at))
                }
                Phase::Done | Phase::Dead => {}
            }
        }
        for (at, lock) in self.locks.iter().enumerate() {
            if lock.owner.is_some_and(|owner| self.processes[owner].phase == Phase::Dead) {
                actions.push(Action::Expire(at));
            }
        }
        actions
    }

    fn faults(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        for (at, process) in self.processes.iter().enumerate() {
            let alive = !matches!(process.phase, Phase::Done | Phase::Dead);
            if alive && self.crashes > 0 {
                actions.push(Action::Crash(at));
            }
            if matches!(process.phase, Phase::Taking(_)) && self.time_outs > 0 {
                actions.push(Action::TimeOut(at));
            }
            if process.phase == Phase::Idle && !process.owes && self.lost_replies > 0 {
                actions.push(Action::Script(at, true));
            }
        }
        if self.forces > 0 {
            actions.extend((0..LOCKS).filter(|at| self.locks[*at].owner.is_some()).map(Action::Force));
        }
        actions
    }

    /// Runs the script; whether all were taken.
    fn script(&mut self, config: &Config, process: usize) -> bool {
        let order = config.order(process);
        let can = |state: &State, lock: usize| {
            let free = state.locks[lock].owner.is_none_or(|owner| owner == process);
            free && (state.may_take(process, lock) || state.owns(process, lock) || !config.rules.respects_queues)
        };
        let all = order.iter().all(|lock| can(self, *lock));
        for lock in order {
            if all || !config.rules.all_or_none && can(self, lock) {
                // What it has from an earlier request it had before they came.
                let waited_for = self.locks[lock].queue.iter().any(|waiter| *waiter != process);
                self.overtaken |= waited_for && !self.owns(process, lock);
                self.locks[lock].owner = Some(process);
            }
        }
        all
    }
}

impl Representative for State {
    /// Processes want different sets: none stands for another.
    fn representative(&self) -> State {
        self.clone()
    }
}

impl Model for Config {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let process = |_: &Vec<usize>| Process { phase: Phase::Idle, rounds: self.rounds, owes: false };
        vec![State {
            locks: vec![Lock::default(); LOCKS],
            processes: self.sets.iter().map(process).collect(),
            crashes: self.crashes,
            time_outs: self.time_outs,
            lost_replies: self.lost_replies,
            forces: self.forces,
            overtaken: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.extend(state.progress(self));
        actions.extend(state.faults());
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Script(at, lost) => {
                let all = state.script(self, at);
                state.lost_replies -= u8::from(lost);
                state.processes[at].phase = match (lost, all) {
                    (true, _) => Phase::Unsure,
                    (false, true) => Phase::Holding,
                    (false, false) => Phase::Taking(0),
                };
            }
            Action::Repeat(at) => {
                let all = state.script(self, at);
                // A part may be its own from before, of which one was lost: refused, it is undone.
                state.processes[at].owes = !all;
                state.processes[at].phase = if all { Phase::Holding } else { Phase::Idle };
            }
            Action::GiveUp(at) => {
                state.processes[at].owes = true;
                state.ends_round(at);
            }
            Action::Undo(at) => {
                state.processes[at].owes = false;
                state.free_all(at);
            }
            Action::Next(at) => {
                let Phase::Taking(has) = state.processes[at].phase else { return None };
                let order = self.order(at);
                if state.may_take(at, order[has]) {
                    let lock = &mut state.locks[order[has]];
                    lock.owner = Some(at);
                    lock.queue.retain(|waiter| *waiter != at);
                    let all = has + 1 == order.len();
                    state.processes[at].phase = if all { Phase::Holding } else { Phase::Taking(has + 1) };
                } else {
                    state.locks[order[has]].queue.push(at);
                }
            }
            Action::TimeOut(at) => {
                state.time_outs -= 1;
                if self.rules.gives_back {
                    state.free_all(at)
                } else {
                    state.leave_queues(at)
                }
                state.ends_round(at);
            }
            Action::Notice(at) => {
                state.free_all(at);
                state.processes[at].phase = Phase::Idle;
            }
            Action::Release(at) => {
                state.free_all(at);
                state.ends_round(at);
            }
            Action::Crash(at) => {
                state.crashes -= 1;
                state.processes[at].phase = Phase::Dead;
                state.processes[at].owes = false;
            }
            Action::Prune(at) => state.leave_queues(at),
            Action::Expire(lock) => state.locks[lock].owner = None,
            Action::Force(lock) => {
                state.forces -= 1;
                let owner = state.locks[lock].owner.take()?;
                if state.processes[owner].phase == Phase::Holding {
                    state.processes[owner].phase = Phase::Lost;
                }
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Config>> {
        fn is_over(state: &State) -> bool {
            state.processes.iter().all(|process| matches!(process.phase, Phase::Done | Phase::Dead))
        }
        vec![
            Property::always(name::HELD, |config: &Config, state: &State| {
                let holds = |at: &usize| state.processes[*at].phase == Phase::Holding;
                let all = |at: usize| config.sets[at].iter().all(|lock| state.owns(at, *lock));
                (0..state.processes.len()).filter(holds).all(all)
            }),
            Property::always(name::GOES_ON, |config: &Config, state: &State| {
                is_over(state) || !state.progress(config).is_empty()
            }),
            Property::always(name::NOTHING_LEFT, |config: &Config, state: &State| {
                let left = || state.locks.iter().any(|lock| lock.owner.is_some() || !lock.queue.is_empty());
                !is_over(state) || !state.progress(config).is_empty() || !left()
            }),
            Property::always(name::ORDER, |_: &Config, state: &State| !state.overtaken),
        ]
    }
}

/// Events that must be seen to happen: a space without them would show nothing.
pub mod event {
    /// A process waits for a lock while it holds another.
    pub const WAITS_HOLDING: &str = "one waits while it holds another";
    /// Two processes do so at the same time.
    pub const TWO_WAIT: &str = "two wait, each with a lock";
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
        fn waiting(state: &State) -> usize {
            let waits = |at: usize| {
                let queued = state.locks.iter().any(|lock| lock.queue.contains(&at));
                queued && state.locks.iter().any(|lock| lock.owner == Some(at))
            };
            (0..state.processes.len()).filter(|at| waits(*at)).count()
        }
        vec![
            Property::sometimes(event::WAITS_HOLDING, |_: &Seen, state: &State| waiting(state) > 0),
            Property::sometimes(event::TWO_WAIT, |_: &Seen, state: &State| waiting(state) > 1),
        ]
    }
}
