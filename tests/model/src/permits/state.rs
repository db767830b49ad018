//! What a state of the world is: the server, the processes, what is on its way, and what the properties need to know.

use super::config::Config;
use super::keys::{self, MAX, Owner, Server};
use crate::state::{Debt, Up};

/// What a process sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Request {
    /// `left`: ticks until `not_after`.
    Acquire {
        attempt: u8,
        want: u8,
        left: u8,
    },
    Cancel {
        left: u8,
    },
    Subscribe,
}

/// What the server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reply {
    /// The permits are the attempt's.
    Granted,
    /// Not now.
    Busy {
        /// Expired permits are left, beyond what one script reclaims.
        more: bool,
        /// What is available suffices for the head.
        free: bool,
        /// The place of a waiter.
        rank: u8,
    },
    /// More than there are in total.
    TooMany,
    /// `not_after` has passed; nothing was done.
    TooLate,
    /// No longer in the queue.
    Cancelled,
    /// The subscription stands.
    Subscribed,
}

/// What the contender of a process is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Phase {
    /// Nothing: no caller waits.
    Idle,
    /// An acquire is in flight, first sent so many ticks ago. `again`: something came meanwhile that its reply may not know of.
    Asking { attempt: u8, want: u8, since: u8, again: bool },
    /// The subscription of the inbox is in flight.
    Subscribing { again: bool },
    /// In the queue, with a timer, and what the server knows it wants.
    Sleeping { timer: u8, want: u8 },
    /// A cancel is in flight.
    Cancelling,
}

/// Callers at a time of one process.
const LINE: usize = 3;

/// Callers, each as the number of permits that it wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line {
    wants: [u8; LINE],
    len: u8,
}

impl Line {
    /// Callers with these wants.
    pub fn new(wants: &[u8]) -> Line {
        let mut line = Line::default();
        wants.iter().for_each(|want| line.push(*want));
        line
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What the first wants.
    pub fn first(&self) -> Option<u8> {
        (self.len > 0).then_some(self.wants[0])
    }

    /// One more, at the end.
    pub fn push(&mut self, want: u8) {
        self.wants[self.len()] = want;
        self.len += 1;
    }

    /// One leaves; what it wanted.
    pub fn remove(&mut self, at: usize) -> u8 {
        let want = self.wants[at];
        self.wants.copy_within(at + 1.., at);
        self.len -= 1;
        self.wants[self.len()] = 0;
        want
    }
}

/// What a caller holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hold {
    /// The attempt that was granted.
    pub attempt: u8,
    /// Its permits.
    pub permits: u8,
    /// Ticks for which the holder may believe in it.
    pub valid: u8,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process {
    /// Whether it runs.
    pub up: Up,
    /// Callers that have not come yet.
    pub to_come: Line,
    /// Callers that wait; the contender asks for the first of them.
    pub line: Line,
    /// What the contender is doing.
    pub phase: Phase,
    /// Its request on the way.
    pub wire: Option<Request>,
    /// The reply on the way.
    pub reply: Option<Reply>,
    /// Messages on the way.
    pub inbox: u8,
    /// Messages that are late: they may come at any time.
    pub late: u8,
    /// Subscribed to its inbox: from its first wait on.
    pub listens: bool,
    /// Acquires since the last tick (only with `Config::count_asks`).
    pub asks: u8,
    /// What it still has to see to.
    pub debts: Vec<Debt>,
    /// What its callers hold.
    pub holds: Vec<Hold>,
}

impl Process {
    /// Whether callers of a running process wait for the server.
    pub fn contends(&self) -> bool {
        self.up == Up::Running && !self.line.is_empty()
    }

    /// Whether something of the process uses the permits of an attempt, or will see to them.
    pub fn minds(&self, attempt: u8) -> bool {
        let asks = matches!(self.phase, Phase::Asking { attempt: a, .. } if a == attempt);
        asks || self.holds.iter().any(|h| h.attempt == attempt) || self.debts.iter().any(|d| d.attempt == Some(attempt))
    }
}

/// What happened on the way to a state (only with `Config::remember`).
#[allow(missing_docs)]
pub mod happened {
    pub const TOLD_TOGETHER: u32 = 1 << 0;
    pub const ADMITTED_BEHIND: u32 = 1 << 1;
    pub const HELD_BACK: u32 = 1 << 2;
    pub const RECLAIMED: u32 = 1 << 3;
    pub const RECLAIM_WOKE: u32 = 1 << 4;
    pub const TOO_MANY: u32 = 1 << 5;
    pub const OVER_TOTAL: u32 = 1 << 6;
    pub const SMALLER: u32 = 1 << 7;
    pub const HOLDS_TWICE: u32 = 1 << 8;
    pub const UNWANTED: u32 = 1 << 9;
    pub const DOWNGRADED: u32 = 1 << 10;
    pub const PRUNED: u32 = 1 << 11;
    pub const DEAF_DROPPED: u32 = 1 << 12;
    pub const ENTRY_DROPPED: u32 = 1 << 13;
    pub const PASSED_ON: u32 = 1 << 14;
    pub const BARGED: u32 = 1 << 15;
    pub const TRY_REFUSED: u32 = 1 << 16;
    pub const TOO_LATE: u32 = 1 << 17;
    pub const LATE_GRANT_FREED: u32 = 1 << 18;
    pub const HOLD_LOST: u32 = 1 << 19;
    pub const STALE_RELEASE: u32 = 1 << 20;
    pub const STRAY_CANCELLED: u32 = 1 << 21;
    pub const LATE_CANCEL: u32 = 1 << 22;
    pub const REPEAT_GRANTED: u32 = 1 << 23;
    pub const MESSAGE_LOST: u32 = 1 << 24;
    pub const CANCELLED_IN_FLIGHT: u32 = 1 << 25;
    pub const FAILOVER_LOST_GRANT: u32 = 1 << 26;
    pub const TRY_BESIDE: u32 = 1 << 27;
}

/// What the properties need to know beside the world: no process can see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    /// The total that was set last.
    pub total: u8,
    /// A grant took more than was available.
    pub overdrawn: bool,
    /// A waiter was granted what somebody in front of it needs.
    pub order_broken: bool,
    /// An acquire that found its own permits was not granted, or changed something.
    pub repeat_changed: bool,
    /// A process that ran, waited and missed no message was dropped from the queue as dead.
    pub dropped_live: bool,
    /// Nothing has happened that excuses permits from being granted at once to all that they suffice for.
    pub prompt: bool,
    /// The same, but for dead entries in the queue.
    pub told: bool,
    /// Ticks for which permits have been there for each process, in its turn, while nothing went wrong.
    pub free_for: [u8; MAX],
    /// One of them was longer than promised.
    pub overdue: bool,
    /// A message was lost or late, a process stopped, a place was lost to a late cancel, or the server changed.
    pub disturbed: bool,
    /// A message was lost or late: somebody may be head and not know it.
    pub missed: bool,
    /// Who was told `free`, has not heard it, and is not told again for a moment.
    pub unheard: [bool; MAX],
    /// A stale replica was promoted: permits and queue entries may have come back.
    pub failed_over: bool,
    /// The clock let a lease end early: a holder may not know it yet.
    pub taken_away: bool,
    /// How many non-blocking attempts have jumped the present head.
    pub overtaken: u8,
    /// Ticks for which somebody stands behind an entry that should be dropped.
    pub behind_dead: u8,
    /// See [`happened`].
    pub happened: u32,
}

/// A state of the world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The server.
    pub server: Server,
    /// A replica that has fallen behind.
    pub replica: Option<Server>,
    /// The processes.
    pub processes: Vec<Process>,
    /// Requests on dead connections, with their process.
    pub stuck: Vec<(u8, Request)>,
    /// How many of the totals have been set.
    pub totals: u8,
    /// How often things may still happen.
    pub cancels: u8,
    /// How many of the non-blocking attempts have been made.
    pub tries: u8,
    /// The same for those of the processes.
    pub own_tries: u8,
    /// How often the foreign client may still take a permit.
    pub foreign: u8,
    /// How often a writer may still become a reader.
    pub downgrades: u8,
    /// How many faults may still happen.
    pub faults: u8,
    /// What only the properties see.
    pub ghost: Ghost,
}

impl State {
    /// Nobody has come yet.
    pub fn start(config: &Config) -> State {
        assert!(config.wants.len() <= MAX);
        let process = |wants: &&[u8]| Process {
            up: Up::Running,
            to_come: Line::new(wants),
            line: Line::default(),
            phase: Phase::Idle,
            wire: None,
            reply: None,
            inbox: 0,
            late: 0,
            listens: !config.fresh,
            asks: 0,
            debts: Vec::new(),
            holds: Vec::new(),
        };
        State {
            server: Server { available: config.total as i8, ..Server::default() },
            replica: None,
            processes: config.wants.iter().map(process).collect(),
            stuck: Vec::new(),
            totals: 0,
            cancels: config.cancels,
            tries: 0,
            own_tries: 0,
            foreign: config.foreign,
            downgrades: config.downgrades,
            faults: config.faults,
            ghost: Ghost { total: config.total, prompt: true, told: true, ..Ghost::default() },
        }
    }

    /// Which inboxes have no listener, as the server sees it.
    pub fn not_heard(&self) -> [bool; MAX] {
        let mut deaf = [false; MAX];
        for (p, process) in self.processes.iter().enumerate() {
            deaf[p] = !process.listens;
        }
        deaf
    }

    /// An attempt's number that nothing refers to any more: so numbers stay few, and a state that comes back is the same.
    pub fn unused_attempt(&self, process: usize) -> u8 {
        let p = &self.processes[process];
        let is = |r: &Request, n: u8| matches!(r, Request::Acquire { attempt, .. } if *attempt == n);
        let used = |n: u8| {
            let owner = Owner::ours(process, n);
            self.server.grants.has(owner)
                || self.replica.is_some_and(|r| r.grants.has(owner))
                || p.minds(n)
                || p.wire.as_ref().is_some_and(|r| is(r, n))
                || self.stuck.iter().any(|(q, r)| *q as usize == process && is(r, n))
        };
        (0..keys::ATTEMPTS).find(|n| !used(*n)).expect("fewer attempts alive than numbers")
    }
}
