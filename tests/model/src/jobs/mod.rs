//! The delayed queue: jobs that are put, taken under a lease, and acknowledged, put back, cancelled or given up.
//!
//! `server` has the scripts as pure functions of the keys, `model` what producers, workers and the world do. The waiting line is
//! the one of `permits`, and only what is new in it is here: room for a waiter is made by time, too, so the head has to know
//! when the next job is due. A request is void after a time and remembered until then, as in `latch`; here a put is remembered
//! for good.
//!
//! Between two ticks everything that is under way arrives. Time is bounded: it ends after [`Config::ticks`].

pub mod model;
pub mod server;

pub use model::{Action, State, event, name};

/// What a delayed queue rests on; each can be taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// A put is remembered: a repeat of it puts nothing.
    pub remembers: bool,
    /// A put of an id that is there puts nothing.
    pub one_of_an_id: bool,
    /// A repeat of a take finds its own delivery.
    pub knows_repeat: bool,
    /// An acknowledgement and a put-back name the delivery, and not the job alone.
    pub by_delivery: bool,
    /// A take returns what was lost.
    pub reclaims: bool,
    /// A job is moved by one script, and not taken out and put in by two.
    pub one_script: bool,
    /// What comes back keeps its place in the order.
    pub keeps_rank: bool,
    /// Jobs that are due come by their priority.
    pub by_priority: bool,
    /// A take finds which jobs have become due before it takes the first.
    pub finds_due: bool,
    /// A job that came back too often goes to the dead list.
    pub counts_attempts: bool,
    /// The late release of an owner counts the delivery that its worker has seen.
    pub counts_seen: bool,
    /// A cancel touches only what waits.
    pub cancels_waiting: bool,
    /// An answer "not held" after a lost one means done only while the lease is valid.
    pub judges_by_lease: bool,
    /// A worker counts its lease from the sending of its request.
    pub from_sending: bool,
    /// A job is due by the server's clock, which the script reads.
    pub waits_until_due: bool,
    /// A put of a job that is due tells the head.
    pub put_wakes: bool,
    /// So does one that is due before all others.
    pub earlier_wakes: bool,
    /// The head sleeps no longer than until the first job is due.
    pub sleeps_until_due: bool,
    /// A worker that takes a job tells the new head if there is another.
    pub hands_on: bool,
    /// A job that is put back wakes the head as a put does.
    pub nack_wakes: bool,
    /// A waiter that leaves tells the new head.
    pub leave_tells: bool,
    /// A waiter asks without a message, too.
    pub polls: bool,
}

impl Rules {
    /// The protocol.
    pub const PROTOCOL: Rules = Rules {
        remembers: true,
        one_of_an_id: true,
        knows_repeat: true,
        by_delivery: true,
        reclaims: true,
        one_script: true,
        keeps_rank: true,
        by_priority: true,
        finds_due: true,
        counts_attempts: true,
        counts_seen: true,
        cancels_waiting: true,
        judges_by_lease: true,
        from_sending: true,
        waits_until_due: true,
        put_wakes: true,
        earlier_wakes: true,
        sleeps_until_due: true,
        hands_on: true,
        nack_wakes: true,
        leave_tells: true,
        polls: true,
    };
}

/// The bounds of the space.
#[derive(Clone, Debug)]
pub struct Config {
    /// In how many ticks each job is due, from its put.
    pub delays: Vec<i8>,
    /// The urgency of each job, the lower the sooner it comes; 0 of those that are not named.
    pub urgencies: Vec<i8>,
    /// A second producer puts the first job, too, with the same id.
    pub twice: bool,
    /// Workers, and how often each takes.
    pub workers: usize,
    /// How often each of them takes.
    pub takes: u8,
    /// After so many ticks nothing is looked at any more.
    pub ticks: i8,
    /// Deliveries of a job before it is dead.
    pub max_attempts: u8,
    /// A worker may put back what it holds.
    pub nacks: bool,
    /// How often a job is cancelled.
    pub cancels: u8,
    /// How often a waiter leaves.
    pub leaves: u8,
    /// How often a worker or a producer ends.
    pub crashes: u8,
    /// How often a request, a reply or a message is lost, or a request arrives once more later.
    pub lost: u8,
    /// How often the server's clock is set ahead, and back, by a tick.
    pub jumps: u8,
    /// Looks for what has to happen, and not only for what must not.
    pub looks_for_events: bool,
    /// The rules of the protocol.
    pub rules: Rules,
}

impl Config {
    /// Two jobs that are due at once, and two workers.
    pub fn new() -> Config {
        Config {
            delays: vec![0, 0],
            urgencies: Vec::new(),
            twice: false,
            workers: 2,
            takes: 1,
            ticks: 4,
            max_attempts: 2,
            nacks: false,
            cancels: 0,
            leaves: 0,
            crashes: 0,
            lost: 0,
            jumps: 0,
            looks_for_events: false,
            rules: Rules::PROTOCOL,
        }
    }
}

impl Config {
    fn urgency(&self, id: u8) -> i8 {
        self.urgencies.get(usize::from(id)).copied().unwrap_or(0)
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::new()
    }
}
