//! Worker numbers under leases: each holder of a number makes ids in a span of time of its own.
//!
//! The server keeps for each number who holds it, until when, and the last time that its holders may use. A holder's time begins
//! after that and goes on by its own clock; each renewal carries how far it will go until the next one, and nothing is made
//! beyond what the server has confirmed. So no clock of any machine is relied on for the ids, and one holder at a time is a
//! matter of clocks that run at about the same rate.
//!
//! A process that is stopped is one that does nothing for some ticks: its clock goes on.

mod model;
mod seen;

pub use seen::{Seen, event};
use stateright::Representative;

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
