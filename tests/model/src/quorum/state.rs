//! The servers, the clients, and what is under way between them.

use super::config::{Clock, Config, MOST};

/// Who a field belongs to: an attempt of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub struct Owner {
    pub client: u8,
    pub attempt: u8,
}

/// A server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Server {
    /// Its clock.
    pub clock: Clock,
    /// It can be reached.
    pub up: bool,
    /// The field of the lock.
    pub owner: Option<Owner>,
    /// Ticks until the field expires.
    pub left: u8,
    /// The last token, relative to now; -1 when every clock is past it.
    pub token: i8,
    /// Ticks until it counts again, after a restart without its data.
    pub starting: u8,
}

impl Server {
    /// Whether it is up, and its grants count.
    pub fn counts(&self) -> bool {
        self.up && self.starting == 0
    }
}

/// A request. It names the attempt of its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ask {
    /// Takes the lock.
    Acquire,
    /// Raises the token to that of the attempt.
    Raise,
    /// Prolongs the lease, or takes the lock again.
    Renew,
    /// Frees the lock.
    Release {
        /// And tells the waiters.
        announces: bool,
    },
}

/// What a server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer {
    /// The lock is this attempt's, with this token.
    Granted {
        /// The server's token.
        token: i8,
        /// The server's grants count.
        counts: bool,
    },
    /// Another has it.
    Busy(Owner),
    /// It is not, for another reason.
    Refused,
}

/// What is known of a server in a client's present round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// It was not asked.
    #[default]
    Empty,
    /// The request is under way.
    Asked {
        /// It takes its time, which is a fault.
        slow: bool,
    },
    /// The request was carried out, and the reply takes its time.
    Slow(Answer),
    /// The answer has come.
    Answered(Answer),
    /// No answer will come.
    Unanswered,
}

impl Slot {
    /// Whether an answer may still come.
    pub fn is_open(self) -> bool {
        matches!(self, Slot::Asked { .. } | Slot::Slow(_))
    }

    /// Whether it was granted by a server whose grants count.
    pub fn counts(self) -> bool {
        matches!(self, Slot::Answered(Answer::Granted { counts: true, .. }))
    }
}

/// Whether a client runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Up {
    Running,
    Paused,
    Crashed,
}

/// What a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Nothing. It may come, or come again.
    Idle,
    /// The first round: acquires.
    Asking,
    /// The second round: the token is written back.
    Raising,
    /// It holds the lock, perhaps for longer than it is valid.
    Holding {
        /// A renewal is under way.
        renews: bool,
    },
    /// It releases an attempt that was refused, or a hold.
    Undoing {
        /// And tells the waiters.
        announces: bool,
        /// The attempt was refused, and is made again after so many ticks.
        again_in: Option<u8>,
    },
    /// It was refused, and waits.
    Sleeping {
        /// Ticks until it tries again.
        timer: u8,
    },
}

/// An attempt that has to be released once more at a server, because a request to it was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Debt {
    /// The server.
    pub server: u8,
    /// The attempt.
    pub attempt: u8,
    /// Ticks until its acquire is void.
    pub due: u8,
}

/// A client with one caller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Client {
    /// Whether it runs.
    pub up: Up,
    /// Attempts left.
    pub attempts: u8,
    /// What it does.
    pub phase: Phase,
    /// Its present attempt.
    pub attempt: u8,
    /// Ticks since the first request of the attempt, or of the last renewal that counted, was sent.
    pub since: u8,
    /// Ticks since the first request of the present round was sent.
    pub age: u8,
    /// The token of the attempt, relative to now.
    pub token: i8,
    /// The servers in the present round.
    pub slots: [Slot; MOST],
    /// The servers that granted the attempt, as bits.
    pub granted: u8,
    /// The servers that may have granted it without an answer.
    pub unanswered: u8,
    /// A message about a release came, or is on its way.
    pub told: bool,
    /// Such a message was lost since its attempt began.
    pub missed: bool,
    /// Ticks for which it slept while a majority was free.
    pub overslept: u8,
    /// What it still has to release.
    pub debts: Vec<Debt>,
}

impl Client {
    /// Whether its present attempt is under way or held.
    pub fn is_engaged(&self) -> bool {
        matches!(self.phase, Phase::Asking | Phase::Raising | Phase::Holding { .. })
    }

    /// What it asks in the present round.
    pub fn ask(&self) -> Ask {
        match self.phase {
            Phase::Raising => Ask::Raise,
            Phase::Holding { .. } => Ask::Renew,
            Phase::Undoing { announces, .. } => Ask::Release { announces },
            Phase::Asking | Phase::Idle | Phase::Sleeping { .. } => Ask::Acquire,
        }
    }

    /// It runs, and waits for a time or a message to try again.
    pub fn sleeps(&self) -> bool {
        self.up == Up::Running && self.attempts > 0 && matches!(self.phase, Phase::Sleeping { .. })
    }
}

/// A request whose sender waits no longer, and that may arrive at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub struct Late {
    pub server: u8,
    pub owner: Owner,
    pub ask: Ask,
    pub token: i8,
    /// Ticks since it was sent.
    pub age: u8,
}

/// What happened on the way to a state (only with `Config::remember`).
#[allow(missing_docs)]
pub mod happened {
    pub const SPLIT: u32 = 1 << 0;
    pub const RAISED: u32 = 1 << 1;
    pub const RAISE_REFUSED: u32 = 1 << 2;
    pub const LATE_GRANT: u32 = 1 << 3;
    pub const LATE_GRANT_UNDONE: u32 = 1 << 4;
    pub const VOID: u32 = 1 << 5;
    pub const NOT_COUNTED: u32 = 1 << 6;
    pub const COUNTS_AGAIN: u32 = 1 << 7;
    pub const RENEWED: u32 = 1 << 8;
    pub const HEALED: u32 = 1 << 9;
    pub const HOLD_LOST: u32 = 1 << 10;
    pub const TOO_LATE_TO_GIVE_OUT: u32 = 1 << 11;
    pub const WOKEN: u32 = 1 << 12;
    pub const POLLED: u32 = 1 << 13;
    pub const MINORITY_DOWN: u32 = 1 << 14;
    pub const EXPIRED: u32 = 1 << 15;
}

/// What the properties need to know beside the world: no client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ghost {
    /// The greatest token that was given out, relative to now.
    pub greatest: i8,
    /// A token was given out that was not greater than all before.
    pub token_fell: bool,
    /// The hold that was given out last.
    pub latest: Option<Owner>,
    /// The client whose attempt has not been disturbed since it began, with nobody else about.
    pub alone: Option<u8>,
    /// Such an attempt was refused.
    pub refused_alone: bool,
    /// A renewal failed, although a majority would have confirmed it.
    pub not_kept: bool,
    /// The last that happened to the lock is a release that everybody heard of.
    pub prompt: bool,
    /// See [`happened`].
    pub happened: u32,
}

/// A state of the world.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State {
    /// The servers.
    pub servers: Vec<Server>,
    /// The clients.
    pub clients: Vec<Client>,
    /// Requests whose sender waits no longer.
    pub late: Vec<Late>,
    /// Renewals left.
    pub renewals: u8,
    /// Faults left.
    pub faults: u8,
    /// What only the properties see.
    pub ghost: Ghost,
}

impl State {
    /// Nobody has come yet.
    pub fn start(config: &Config) -> State {
        let server = |clock: &Clock| Server { clock: *clock, up: true, owner: None, left: 0, token: -1, starting: 0 };
        let client = |attempts: &u8| Client {
            up: Up::Running,
            attempts: *attempts,
            phase: Phase::Idle,
            attempt: 0,
            since: 0,
            age: 0,
            token: -1,
            slots: [Slot::Empty; MOST],
            granted: 0,
            unanswered: 0,
            told: false,
            missed: false,
            overslept: 0,
            debts: Vec::new(),
        };
        State {
            servers: config.servers.iter().map(server).collect(),
            clients: config.attempts.iter().map(client).collect(),
            late: Vec::new(),
            renewals: config.renewals,
            faults: config.faults,
            ghost: Ghost {
                greatest: -1,
                token_fell: false,
                latest: None,
                alone: None,
                refused_alone: false,
                not_kept: false,
                prompt: false,
                happened: 0,
            },
        }
    }

    /// Whether a majority of the servers is up, counts, and is free.
    pub fn majority_is_free(&self) -> bool {
        let free = |server: &&Server| server.counts() && server.owner.is_none();
        self.servers.iter().filter(free).count() > self.servers.len() / 2
    }
}
