//! What a state of the world is: the server's keys, the processes, what is on its way, and what the properties need to know.

use crate::config::Config;

/// Processes at most.
pub const MAX: usize = 3;

/// An owner field: a process and one of its attempts, or the foreign client. A number, so that a set of them is a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owner(u8);

/// Attempts of one process that something may still refer to at a time.
pub const ATTEMPTS: u8 = 8;

impl Owner {
    /// The Redisson client.
    pub const FOREIGN: Owner = Owner(MAX as u8 * ATTEMPTS);

    /// The owner of a process's attempt.
    pub fn ours(process: usize, attempt: u8) -> Owner {
        Owner(process as u8 * ATTEMPTS + attempt)
    }

    /// A try: of a client of ours that never waits, or of a process beside its contender.
    pub const TRIER: Owner = Owner(MAX as u8 * ATTEMPTS + 1);

    /// The process and the attempt, if it is one's.
    pub fn attempt(self) -> Option<(usize, u8)> {
        (self.0 < Owner::FOREIGN.0).then_some(((self.0 / ATTEMPTS) as usize, self.0 % ATTEMPTS))
    }
}

/// The fields of the lock's hash. Empty: the key is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fields(u32);

impl Fields {
    /// Whether the key is absent.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// HEXISTS.
    pub fn has(self, owner: Owner) -> bool {
        self.0 & 1 << owner.0 != 0
    }

    /// HSET.
    pub fn set(&mut self, owner: Owner) {
        self.0 |= 1 << owner.0;
    }

    /// DEL.
    pub fn clear(&mut self) {
        self.0 = 0;
    }

    /// All of them.
    pub fn iter(self) -> impl Iterator<Item = Owner> {
        (0..=Owner::TRIER.0).map(Owner).filter(move |o| self.has(*o))
    }
}

/// The queue `Q`: processes in the order of their arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Queue<const N: usize = MAX> {
    entries: [u8; N],
    len: u8,
}

impl<const N: usize> Default for Queue<N> {
    fn default() -> Queue<N> {
        Queue { entries: [0; N], len: 0 }
    }
}

impl<const N: usize> Queue<N> {
    /// The entry at a rank.
    pub fn at(&self, rank: usize) -> Option<usize> {
        (rank < self.len as usize).then(|| self.entries[rank] as usize)
    }

    /// The rank of a process.
    pub fn rank(&self, process: usize) -> Option<usize> {
        self.entries[..self.len as usize].iter().position(|e| *e as usize == process)
    }

    /// ZADD NX, with the greatest score.
    pub fn join(&mut self, process: usize) {
        if self.rank(process).is_none() {
            self.entries[self.len as usize] = process as u8;
            self.len += 1;
        }
    }

    /// ZREM. The rank that it had.
    pub fn leave(&mut self, process: usize) -> Option<usize> {
        let rank = self.rank(process)?;
        self.entries.copy_within(rank + 1.., rank);
        self.len -= 1;
        self.entries[self.len as usize] = 0;
        Some(rank)
    }
}

/// The keys on the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Server {
    /// `L`.
    pub lock: Fields,
    /// Ticks until `L` expires.
    pub ttl: u8,
    /// `T`, less the clock: what a token made now would be, or -1 when all tokens lie in the past.
    pub token: i8,
    /// `Q`.
    pub queue: Queue,
    /// `S`: ticks since each was last seen, as far as that matters.
    pub silent: [u8; MAX],
    /// `deaf` in `S`: 0, or 1 and the ticks since each was found not to listen.
    pub deaf: [u8; MAX],
    /// `barged` in `S`.
    pub barged: u8,
}

/// What a process sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Request {
    /// Acquire, waiting. `left`: ticks to its `not_after`, 0 = past.
    Acquire { attempt: u8, left: u8 },
    /// Release, perhaps joining the queue.
    Release { attempt: u8, rejoin: bool },
    /// Leave the queue.
    Cancel { left: u8 },
    /// SUBSCRIBE to the process's inbox, or to the lock's own channel.
    Subscribe { inbox: bool },
}

/// What comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Reply {
    /// The lock is the asker's.
    Granted,
    /// Another holds it.
    Busy { ttl: u8, foreign: bool, rank: u8 },
    /// It is free, but another is the head, silent for so long.
    NotYourTurn { silent: u8, rank: u8 },
    /// After `not_after`; nothing was done.
    TooLate,
    /// Released, or not held; the rank if it joined the queue.
    Released { rank: Option<u8> },
    /// No longer in the queue.
    Cancelled,
    /// The subscription stands.
    Subscribed,
}

/// Messages, as bits of an inbox: two alike that are on their way at once are as good as one.
pub mod message {
    /// To the head: the lock is free, or look at it anew.
    pub const FREE: u8 = 1;
    /// To the second: it is now second.
    pub const NEXT: u8 = 2;
    /// On the lock's own channel, Redisson's.
    pub const CHANNEL: u8 = 4;
    /// To the holder: the lock was freed by force.
    pub const LOST: u8 = 8;
    /// All of them.
    pub const ALL: [u8; 4] = [FREE, NEXT, CHANNEL, LOST];
}

/// Whether a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Up {
    Running,
    Paused,
    Crashed,
}

/// What a process is doing about the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Phase {
    /// Nothing.
    Idle,
    /// An acquire is in flight, first sent so many ticks ago. `again`: something came meanwhile that its reply may not know of.
    Asking { attempt: u8, since: u8, again: bool },
    /// A subscription is in flight.
    Subscribing { inbox: bool, again: bool },
    /// In the queue, with a timer.
    Sleeping { timer: u8 },
    /// A caller holds the lock, valid for so many ticks; other callers stand behind it.
    Holding { attempt: u8, valid: u8 },
    /// A release is in flight.
    Releasing { attempt: u8, rejoin: bool, again: bool },
    /// A cancel is in flight.
    Cancelling,
}

impl Phase {
    /// The attempt that the process is about.
    pub fn attempt(&self) -> Option<u8> {
        match *self {
            Phase::Asking { attempt, .. } | Phase::Holding { attempt, .. } | Phase::Releasing { attempt, .. } => {
                Some(attempt)
            }
            Phase::Idle | Phase::Subscribing { .. } | Phase::Sleeping { .. } | Phase::Cancelling => None,
        }
    }
}

/// What a process still has to see to, because a request of its was never answered, in so many ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Debt {
    /// An acquire, to be released; none: a cancel, after which to ask again.
    pub attempt: Option<u8>,
    /// Ticks until the request can no longer be carried out.
    pub due: u8,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process {
    /// Whether it runs.
    pub up: Up,
    /// Callers that have not come yet.
    pub to_come: u8,
    /// Callers who wait; the first of them contends for all.
    pub waiting: u8,
    /// What it is doing.
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
    /// Subscribed to the lock's own channel: as the head, while the holder is foreign.
    pub subscribed: bool,
    /// Acquires since the last tick (only with `Config::count_asks`).
    pub asks: u8,
    /// What it still has to see to.
    pub debts: Vec<Debt>,
}

/// What happened on the way to a state (only with `Config::remember`).
#[allow(missing_docs)]
pub mod happened {
    pub const HANDED_OVER: u32 = 1 << 0;
    pub const REJOINED: u32 = 1 << 1;
    pub const PRUNED: u32 = 1 << 2;
    pub const CANCELLED_IN_FLIGHT: u32 = 1 << 3;
    pub const MESSAGE_LOST: u32 = 1 << 4;
    pub const REPEAT_GRANTED: u32 = 1 << 5;
    pub const TOO_LATE: u32 = 1 << 6;
    pub const LATE_GRANT_FREED: u32 = 1 << 7;
    pub const HOLD_LOST: u32 = 1 << 8;
    pub const STALE_RELEASE: u32 = 1 << 9;
    pub const WOKEN_BY_FOREIGN: u32 = 1 << 10;
    pub const FAILOVER_LOST_GRANT: u32 = 1 << 11;
    pub const STRAY_CANCELLED: u32 = 1 << 12;
    pub const LATE_CANCEL: u32 = 1 << 13;
    pub const ENTRY_DROPPED: u32 = 1 << 14;
    pub const BARGED: u32 = 1 << 15;
    pub const TRY_REFUSED: u32 = 1 << 16;
    pub const TRY_DROPPED: u32 = 1 << 17;
    pub const PLACE_KEPT: u32 = 1 << 18;
    pub const TOLD_LOST: u32 = 1 << 19;
    pub const PASSED_ON: u32 = 1 << 20;
    pub const DEAF_DROPPED: u32 = 1 << 21;
}

/// What the properties need to know beside the world: no process can see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ghost {
    /// The greatest token granted, less the clock; -1 when it lies in the past.
    pub greatest: i8,
    /// A grant got a token that was not greater than all before.
    pub token_fell: bool,
    /// A release freed what was not its own.
    pub freed_another: bool,
    /// An acquire that found its own field was not granted, or changed something.
    pub repeat_changed: bool,
    /// A process that ran, waited and missed no message was dropped from the queue as dead.
    pub dropped_live: bool,
    /// The lock was released, and nothing has happened that excuses it from being taken at once.
    pub prompt: bool,
    /// Ticks for which the lock has been free while somebody waited and nothing went wrong.
    pub free_for: u8,
    /// That was longer than promised.
    pub overdue: bool,
    /// A message was lost or late, a process stopped, a place was lost to a late cancel, or the server changed: the promises
    /// that hold only without that are off.
    pub disturbed: bool,
    /// A message was lost or late: somebody may be head and not know it.
    pub missed: bool,
    /// A stale replica was promoted: owners and queue entries may have come back.
    pub failed_over: bool,
    /// Somebody freed the lock by force, or the clock let a lease end early: a holder may not know it yet.
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
    /// How often things may still happen.
    pub cancels: u8,
    /// The same for takes by the foreign client.
    pub foreign: u8,
    /// The same for tries by a client that never waits.
    pub tries: u8,
    /// The same for tries of processes.
    pub own_tries: u8,
    /// The same for releases by force.
    pub forces: u8,
    /// The same for faults.
    pub faults: u8,
    /// What only the properties see.
    pub ghost: Ghost,
}

impl State {
    /// Nobody has come yet.
    pub fn start(config: &Config) -> State {
        assert!(config.callers.len() <= MAX);
        let process = |callers: &u8| Process {
            up: Up::Running,
            to_come: *callers,
            waiting: 0,
            phase: Phase::Idle,
            wire: None,
            reply: None,
            inbox: 0,
            late: 0,
            listens: !config.fresh,
            subscribed: false,
            asks: 0,
            debts: Vec::new(),
        };
        State {
            server: Server { token: -1, ..Server::default() },
            replica: None,
            processes: config.callers.iter().map(process).collect(),
            stuck: Vec::new(),
            cancels: config.cancels,
            foreign: config.foreign,
            tries: config.tries,
            own_tries: config.own_tries,
            forces: config.forces,
            faults: config.faults,
            ghost: Ghost {
                greatest: -1,
                token_fell: false,
                freed_another: false,
                repeat_changed: false,
                dropped_live: false,
                prompt: false,
                free_for: 0,
                overdue: false,
                disturbed: false,
                missed: false,
                failed_over: false,
                taken_away: false,
                overtaken: 0,
                behind_dead: 0,
                happened: 0,
            },
        }
    }

    /// Whose inbox nobody listens to, as the server sees it.
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
        let of = |r: &Request| match r {
            Request::Acquire { attempt, .. } | Request::Release { attempt, .. } => Some(*attempt),
            Request::Cancel { .. } | Request::Subscribe { .. } => None,
        };
        let used = |n: u8| {
            let owner = Owner::ours(process, n);
            self.server.lock.has(owner)
                || self.replica.is_some_and(|r| r.lock.has(owner))
                || p.wire.as_ref().and_then(of) == Some(n)
                || p.debts.iter().any(|d| d.attempt == Some(n))
                || self.stuck.iter().any(|(q, r)| *q as usize == process && of(r) == Some(n))
        };
        (0..ATTEMPTS).find(|n| !used(*n)).expect("fewer attempts alive than numbers")
    }
}

/// A state is what the checker visits: small enough to be kept by the million.
const _: () = assert!(size_of::<State>() < 256);
