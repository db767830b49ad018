//! What can come next, and what has to hold.

use std::collections::BTreeSet;

use stateright::{Model, Property, Representative};

use super::server::{Keys, LEASE, Owner, Reply};
use super::{Config, Rules};

/// A waiter asks without a message after so many ticks.
const POLL: i8 = 2;

/// Something that a producer or a worker asks the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Request {
    Put { by: usize, id: u8 },
    Take(Owner),
    Ack(Owner, u8),
    Nack(Owner, u8),
}

/// The request of a producer or a worker that is under way, or its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Way {
    None,
    Request(Request),
    Reply(Request, Reply),
    /// Its reply was lost, or it was: it will be repeated.
    Unanswered(Request),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    /// Asks for a job, since then.
    Takes {
        sent: i8,
    },
    /// Stands in line, and asks at that time.
    Waits {
        asks_at: i8,
    },
    Holds {
        id: u8,
        valid_until: i8,
    },
    /// Ends its delivery.
    Ends {
        id: u8,
        valid_until: i8,
    },
    Crashed,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Worker {
    phase: Phase,
    way: Way,
    /// The reply is slow, or the process stands still: time passes meanwhile.
    slow: bool,
    /// An attempt of the present request was not answered.
    unanswered: bool,
    /// The number of its last take.
    take: u8,
    /// What it was told to have acknowledged.
    told_done: Option<(Owner, u8)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Producer {
    id: u8,
    way: Way,
    begun: bool,
    done: bool,
    crashed: bool,
    /// How often its put was carried out.
    carried: u8,
}

/// What has become of a job, by what is promised and not by the keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Fate {
    /// It was put, and neither acknowledged nor cancelled.
    alive: bool,
    /// When it is due, and behind which others; in real time, and by how much the server's clock was off at the put.
    rank: (i8, u8),
    due: i8,
    skew: i8,
    acked_by: BTreeSet<Owner>,
}

/// What went wrong, once it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Broken {
    order: bool,
    early: bool,
    stolen: bool,
    missed: bool,
}

/// The server, the producers and the workers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    now: i8,
    skew: i8,
    keys: Keys,
    producers: Vec<Producer>,
    workers: Vec<Worker>,
    fates: Vec<Fate>,
    late: BTreeSet<Request>,
    message_lost: bool,
    overdue: u8,
    broken: Broken,
    cancels: u8,
    leaves: u8,
    crashes: u8,
    lost: u8,
    jumps: u8,
}

/// Somebody who asks the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Puts.
    Producer(usize),
    /// Takes.
    Worker(usize),
}

/// What can come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A producer puts its job.
    Put(usize),
    /// A worker takes.
    Take(usize),
    /// A worker that waits asks again: it was told to, or its timer is due.
    Ask(usize),
    /// A waiter gives up.
    Leave(usize),
    /// A worker acknowledges its delivery.
    Ack(usize),
    /// A worker puts it back.
    Nack(usize),
    /// A request arrives.
    Arrive(Who),
    /// A reply comes.
    Reply(Who),
    /// A request is lost.
    LoseRequest(Who),
    /// A request is lost, and arrives later all the same.
    Delay(Who),
    /// A reply is lost.
    LoseReply(Who),
    /// A reply is slow.
    Slow(usize),
    /// What was not answered is sent again.
    Repeat(Who),
    /// The first request that was delayed arrives.
    ArriveLate,
    /// A message is lost.
    LoseMessage(usize),
    /// A job is cancelled.
    Cancel(u8),
    /// A process ends.
    Crash(Who),
    /// The second half of what the rule `one_script` does in one.
    SecondHalf,
    /// Time passes.
    Tick,
    /// The server's clock is set.
    Jump {
        /// Back, and not ahead.
        back: bool,
    },
}

/// The names of the properties.
pub mod name {
    /// The keys.
    pub const ONE_PLACE: &str = "a job is in exactly one place";
    /// At least once.
    pub const KEPT: &str = "no job is lost";
    /// The put.
    pub const ONCE: &str = "no put is carried out twice";
    /// The delivery.
    pub const OWN: &str = "nobody ends a job that another one holds";
    /// What a worker is told.
    pub const TOLD: &str = "a worker that is told so has acknowledged the job";
    /// The lease.
    pub const ALONE: &str = "nobody else gets a job while its worker may rely on it";
    /// The order.
    pub const ORDER: &str = "jobs come in their order";
    /// The due time.
    pub const EARLY: &str = "no job comes before its time by more than the clock was set";
    /// What is lost comes back.
    pub const RETURNS: &str = "no take misses a job whose delivery is over";
    /// The dead list.
    pub const ATTEMPTS: &str = "no job is delivered more often than it may be";
    /// Waiting.
    pub const PROMPT: &str = "nobody sleeps while a job is due";
    /// The same when a message was lost.
    pub const BOUND: &str = "a job that is due is taken within two polls";
}

/// What must be seen to happen.
pub mod event {
    /// All jobs are done.
    pub const DONE: &str = "all jobs are done";
    /// A job is delivered twice.
    pub const AGAIN: &str = "a lost job is delivered again";
    /// A job is dead.
    pub const DEAD: &str = "a job is dead";
    /// A job is cancelled.
    pub const CANCELLED: &str = "a job is cancelled";
    /// A put is repeated.
    pub const REPEATED: &str = "a repeated put meets the first";
    /// An acknowledgement is refused.
    pub const REFUSED: &str = "a worker that lost its job is refused";
    /// Two have waited.
    pub const HANDED: &str = "two waiters have a job each";
    /// A job waits for its time.
    pub const LATE: &str = "a job is taken when it is due";
}

impl Representative for State {
    fn representative(&self) -> State {
        self.clone()
    }
}

impl State {
    fn clock(&self) -> i8 {
        self.now + self.skew
    }

    fn way(&mut self, who: Who) -> &mut Way {
        match who {
            Who::Producer(at) => &mut self.producers[at].way,
            Who::Worker(at) => &mut self.workers[at].way,
        }
    }

    fn is_quiet(&self) -> bool {
        let still = |way: Way| matches!(way, Way::None);
        let producers = self.producers.iter().all(|producer| still(producer.way) || producer.crashed);
        let workers =
            self.workers.iter().all(|worker| still(worker.way) || worker.slow || worker.phase == Phase::Crashed);
        producers && workers && self.keys.between.is_empty() && !self.somebody_asks()
    }

    /// A waiter was told to ask, or its timer is due.
    fn somebody_asks(&self) -> bool {
        (0..self.workers.len()).any(|at| self.asks(at))
    }

    fn asks(&self, at: usize) -> bool {
        match self.workers[at].phase {
            Phase::Waits { asks_at } => self.keys.told.contains(&at) || asks_at <= self.now,
            _ => false,
        }
    }

    /// A job is due, and a worker sleeps.
    fn somebody_oversleeps(&self) -> bool {
        let due = self.keys.due.first().is_some_and(|((due, _), _)| *due <= self.clock());
        due && self.workers.iter().any(|worker| matches!(worker.phase, Phase::Waits { .. }))
    }

    fn carry_out(&mut self, request: Request, config: &Config) -> Reply {
        let (clock, rules, max) = (self.clock(), config.rules, config.max_attempts);
        match request {
            Request::Put { by, id } => {
                let delay = config.delays[usize::from(id)];
                let before = self.keys.arrivals;
                let reply = self.keys.put(by, id, delay, clock, rules);
                if self.keys.arrivals > before {
                    self.producers[by].carried += 1;
                    let (fate, rank) = (&mut self.fates[usize::from(id)], (clock + delay, before));
                    (fate.alive, fate.rank, fate.due, fate.skew) = (true, rank, self.now + delay, self.skew);
                }
                reply
            }
            Request::Take(owner) => self.take(owner, config),
            Request::Ack(owner, id) => {
                let anothers = self.is_anothers(owner, id);
                let reply = self.keys.ack(owner, id, rules);
                if reply == Reply::Done {
                    self.broken.stolen |= anothers;
                    let fate = &mut self.fates[usize::from(id)];
                    fate.alive = false;
                    fate.acked_by.insert(owner);
                }
                reply
            }
            Request::Nack(owner, id) => {
                let anothers = self.is_anothers(owner, id);
                let reply = self.keys.nack(owner, id, max, clock, rules);
                if reply == Reply::Done {
                    self.broken.stolen |= anothers;
                    let fate = &mut self.fates[usize::from(id)];
                    (fate.rank.0, fate.due, fate.skew) = (clock + 1, self.now + 1, self.skew);
                }
                reply
            }
        }
    }

    /// Whether another delivery of the job has begun.
    fn is_anothers(&self, owner: Owner, id: u8) -> bool {
        self.keys.holds.iter().any(|(other, held)| *held == id && *other != owner)
    }

    fn take(&mut self, owner: Owner, config: &Config) -> Reply {
        let (clock, rules) = (self.clock(), config.rules);
        let known = self.keys.holds.get(&owner).copied();
        let reply = self.keys.take(owner, config.max_attempts, clock, rules);
        match reply {
            Reply::Delivery(id) if known != Some(id) || !rules.knows_repeat => {
                let fate = &self.fates[usize::from(id)];
                let waits = |other: &u8| self.keys.due.iter().any(|(_, id)| id == other);
                let ranks = (0..self.fates.len() as u8).filter(waits).map(|other| self.fates[usize::from(other)].rank);
                self.broken.order |= ranks.min().is_some_and(|first| first < fate.rank);
                self.broken.early |= self.now + (self.skew - fate.skew).max(0) < fate.due;
            }
            Reply::Nothing(_) => {
                self.broken.missed |= self.keys.leases.values().any(|end| *end <= clock);
            }
            _ => {}
        }
        reply
    }

    fn replied(&mut self, at: usize, request: Request, reply: Reply, rules: Rules) {
        let now = self.now;
        let clock = self.clock();
        let worker = &mut self.workers[at];
        let unanswered = std::mem::take(&mut worker.unanswered);
        worker.slow = false;
        match (worker.phase, request, reply) {
            (Phase::Takes { sent }, _, Reply::Delivery(id)) => {
                let from = if rules.from_sending { sent } else { now };
                worker.phase = Phase::Holds { id, valid_until: from + LEASE };
            }
            (Phase::Takes { sent }, _, Reply::Nothing(due)) => {
                let due = due.filter(|_| rules.sleeps_until_due).map(|due| sent + (due - clock).max(1));
                let poll = if rules.polls { sent + POLL } else { i8::MAX };
                worker.phase = Phase::Waits { asks_at: due.unwrap_or(poll).min(poll) };
            }
            (Phase::Ends { id, valid_until }, Request::Ack(owner, _), reply) => {
                let done = match reply {
                    Reply::NotHeld => unanswered && (now < valid_until || !rules.judges_by_lease),
                    _ => true,
                };
                worker.told_done = done.then_some((owner, id)).or(worker.told_done);
                worker.phase = Phase::Idle;
            }
            (Phase::Ends { .. }, _, _) => worker.phase = Phase::Idle,
            _ => {}
        }
    }

    fn send(&mut self, at: usize, phase: Phase, request: Request) {
        let worker = &mut self.workers[at];
        (worker.phase, worker.way, worker.unanswered) = (phase, Way::Request(request), false);
    }
}

impl Model for Config {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let ids = (0..self.delays.len() as u8).chain(self.twice.then_some(0));
        let producer = |id| Producer { id, way: Way::None, begun: false, done: false, crashed: false, carried: 0 };
        let worker =
            Worker { phase: Phase::Idle, way: Way::None, slow: false, unanswered: false, take: 0, told_done: None };
        vec![State {
            now: 0,
            skew: 0,
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
                (Phase::Holds { .. }, Way::None) => {
                    actions.push(Action::Ack(at));
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
                let rank = state.keys.jobs.get(&id)?.rank;
                state.keys.due.insert((rank, id));
            }
            Action::Tick => {
                state.overdue = if state.somebody_oversleeps() { state.overdue + 1 } else { 0 };
                state.now += 1;
            }
            Action::Jump { back } => {
                state.jumps -= 1;
                state.skew += if back { -1 } else { 1 };
            }
        }
        if !state.somebody_oversleeps() {
            (state.overdue, state.message_lost) = (0, false);
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Config>> {
        let mut properties = vec![
            Property::always(name::ONE_PLACE, |config: &Config, state: &State| {
                (0..config.delays.len() as u8)
                    .all(|id| state.keys.places(id) == usize::from(state.keys.jobs.contains_key(&id)))
                    && state.keys.holds.keys().eq(state.keys.leases.keys())
            }),
            Property::always(name::KEPT, |config: &Config, state: &State| {
                let places = |id: u8| state.keys.places(id) + usize::from(state.keys.between.contains(&id));
                (0..config.delays.len() as u8).all(|id| !state.fates[usize::from(id)].alive || places(id) > 0)
            }),
            Property::always(name::ONCE, |_, state: &State| state.producers.iter().all(|by| by.carried <= 1)),
            Property::always(name::OWN, |_, state: &State| !state.broken.stolen),
            Property::always(name::TOLD, |_, state: &State| {
                let was_acked = |(owner, id): (Owner, u8)| state.fates[usize::from(id)].acked_by.contains(&owner);
                state.workers.iter().filter_map(|worker| worker.told_done).all(was_acked)
            }),
            Property::always(name::ALONE, |config: &Config, state: &State| {
                let relies = |at: usize| match state.workers[at].phase {
                    Phase::Holds { id, valid_until } if state.now < valid_until => Some(id),
                    _ => None,
                };
                let owns = |at: usize, id: u8| {
                    let owner = (at, state.workers[at].take);
                    state.keys.holds.iter().all(|(other, held)| *held != id || *other == owner)
                };
                config.jumps > 0 || (0..state.workers.len()).all(|at| relies(at).is_none_or(|id| owns(at, id)))
            }),
            Property::always(name::ORDER, |_, state: &State| !state.broken.order),
            Property::always(name::EARLY, |_, state: &State| !state.broken.early),
            Property::always(name::RETURNS, |_, state: &State| !state.broken.missed),
            Property::always(name::ATTEMPTS, |config: &Config, state: &State| {
                state.keys.jobs.values().all(|job| job.attempts <= config.max_attempts)
            }),
            Property::always(name::PROMPT, |config: &Config, state: &State| {
                // A head that is slow costs the others a poll.
                let slow = state.workers.iter().any(|worker| worker.slow);
                let excused = state.message_lost || slow || config.jumps > 0;
                excused || !(state.is_quiet() && state.somebody_oversleeps())
            }),
            Property::always(name::BOUND, |_, state: &State| {
                i8::try_from(state.overdue).is_ok_and(|for_| for_ <= POLL)
            }),
        ];
        if !self.looks_for_events {
            return properties;
        }
        properties.extend([
            Property::sometimes(event::DONE, |_, state: &State| {
                state.fates.iter().all(|fate| !fate.acked_by.is_empty())
            }),
            Property::sometimes(event::AGAIN, |_, state: &State| {
                state.keys.holds.values().any(|id| state.keys.jobs.get(id).is_some_and(|job| job.attempts == 2))
            }),
            Property::sometimes(event::DEAD, |_, state: &State| !state.keys.dead.is_empty()),
            Property::sometimes(event::CANCELLED, |config: &Config, state: &State| {
                state.cancels < config.cancels && state.fates.iter().any(|fate| !fate.alive && fate.acked_by.is_empty())
            }),
            Property::sometimes(event::REPEATED, |config: &Config, state: &State| {
                state.lost < config.lost && state.producers.iter().all(|by| by.done && by.carried == 1)
            }),
            Property::sometimes(event::REFUSED, |_, state: &State| {
                state.workers.iter().any(|worker| matches!(worker.way, Way::Reply(Request::Ack(..), Reply::NotHeld)))
            }),
            Property::sometimes(event::HANDED, |_, state: &State| {
                state.workers.iter().all(|worker| matches!(worker.phase, Phase::Holds { .. }))
            }),
            Property::sometimes(event::LATE, |_, state: &State| {
                state.now > 0 && state.workers.iter().any(|worker| matches!(worker.phase, Phase::Holds { .. }))
            }),
        ]);
        properties
    }
}
