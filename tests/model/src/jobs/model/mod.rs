//! Producers, workers, and what they know; what can come next is in `next`, what has to hold in `properties`.

mod next;
mod properties;

use std::collections::BTreeSet;

pub use properties::{event, name};
use stateright::Representative;

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
    /// An attempt of its last take was not answered: its owner is released once more behind the end of the delivery.
    owes_release: bool,
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
    /// How often a worker has got it.
    seen: u8,
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
    /// By how much the clock was ahead at most: a job that was found to be due then stays so.
    ahead: i8,
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
    /// A worker has lost its delivery, and its client releases the owner once more.
    GiveUp(usize),
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
        self.keys.has_due(self.clock()) && self.workers.iter().any(|worker| matches!(worker.phase, Phase::Waits { .. }))
    }

    fn carry_out(&mut self, request: Request, config: &Config) -> Reply {
        let (clock, rules, max) = (self.clock(), config.rules, config.max_attempts);
        match request {
            Request::Put { by, id } => {
                let delay = config.delays[usize::from(id)];
                let before = self.keys.arrivals;
                let reply = self.keys.put(by, id, (delay, config.urgency(id)), clock, rules);
                if self.keys.arrivals > before {
                    self.producers[by].carried += 1;
                    let (fate, rank) = (&mut self.fates[usize::from(id)], (clock + delay, before));
                    (fate.alive, fate.rank, fate.due, fate.skew) = (true, rank, self.now + delay, self.skew);
                    fate.seen = 0;
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
                let place = |id: u8| (config.urgency(id), self.fates[usize::from(id)].rank);
                let is_due = |other: &u8| self.keys.waits(*other) && place(*other).1.0 <= clock;
                let places = (0..self.fates.len() as u8).filter(is_due).map(place);
                self.broken.order |= places.min().is_some_and(|first| first < place(id));
                let fate = &self.fates[usize::from(id)];
                self.broken.early |= self.now + (self.ahead - fate.skew).max(0) < fate.due;
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
                worker.owes_release = unanswered;
                self.fates[usize::from(id)].seen += 1;
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
