//! How large the space is, and which rules are in force.

/// Ticks of a lease, which is the longest lease of any client.
pub const LEASE: u8 = 3;
/// Ticks by which a server's clock may be ahead of a client's after a lease.
pub const DRIFT: u8 = 1;
/// Ticks after which an acquire is void (`not_after`). Its sender waits that long for the answer.
pub const NOT_AFTER: u8 = 1;
/// Ticks between two attempts of a waiter that hears nothing, while another client has a majority.
pub const POLL: u8 = 2;
/// The same while no client has one.
pub const SOON: u8 = 1;
/// Tokens that a clock passes in a tick: more than there are grants without time passing.
pub const TOKENS_PER_TICK: i8 = 16;
/// The most servers.
pub const MOST: usize = 5;

/// The clock of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Clock {
    /// Ticks by which it is ahead of the slowest clock. Tokens come from it.
    pub ahead: i8,
    /// It runs fast: leases end [`DRIFT`] ticks early.
    pub fast: bool,
}

/// A clock that is right.
pub const RIGHT: Clock = Clock { ahead: 0, fast: false };
/// A clock that runs fast.
pub const FAST: Clock = Clock { ahead: 0, fast: true };
/// A clock that is ahead by as much as is allowed: by less than the longest lease.
pub const AHEAD: Clock = Clock { ahead: LEASE as i8 - 1, fast: false };
/// A clock that is ahead by more than that.
pub const TOO_FAR_AHEAD: Clock = Clock { ahead: LEASE as i8 + 1, fast: false };

/// The bounds of the space.
#[derive(Clone, Debug)]
pub struct Config {
    /// The servers, at most [`MOST`].
    pub servers: &'static [Clock],
    /// How many attempts each client makes. One that is refused waits and tries again while it has attempts left.
    pub attempts: &'static [u8],
    /// How often holders renew, all together.
    pub renewals: u8,
    /// How many faults happen, of the kinds that `kinds` allows.
    pub faults: u8,
    /// The kinds of fault.
    pub kinds: Kinds,
    /// The rules in force.
    pub rules: Rules,
    /// Keeps in the state what has happened on the way to it, for the *sometimes* properties. Makes the space larger.
    pub remember: bool,
}

impl Config {
    /// Clients with so many attempts each, under the rules of the protocol, without faults.
    pub fn new(servers: &'static [Clock], attempts: &'static [u8]) -> Config {
        assert!(servers.len() <= MOST && servers.len() > 1);
        Config {
            servers,
            attempts,
            renewals: 0,
            faults: 0,
            kinds: Kinds::NONE,
            rules: Rules::PROTOCOL,
            remember: false,
        }
    }

    /// The same with so many faults of these kinds.
    pub fn faults(self, faults: u8, kinds: Kinds) -> Config {
        Config { faults, kinds, ..self }
    }

    /// How many servers have to grant.
    pub fn majority(&self) -> usize {
        let majority = self.servers.len() / 2 + 1;
        if self.rules.asks_for_a_majority { majority } else { majority - 1 }
    }

    /// For how many ticks a hold is valid.
    pub fn valid(&self) -> u8 {
        if self.rules.subtracts_drift { LEASE - DRIFT } else { LEASE }
    }
}

/// Which faults may happen.
#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    /// A request or its reply is lost, and its sender learns that the connection broke.
    pub lost: bool,
    /// A request or its reply is slow. Its sender waits for it until [`NOT_AFTER`]; the request may arrive later still.
    pub slow: bool,
    /// A message about a release is lost.
    pub message: bool,
    /// A client stops for any time, and goes on.
    pub pause: bool,
    /// A client ends. What it has sent may still arrive.
    pub crash: bool,
    /// A server ends for any time, and comes back with its data.
    pub down: bool,
    /// A server restarts without its data.
    pub emptied: bool,
}

impl Kinds {
    /// No kind.
    pub const NONE: Kinds =
        Kinds { lost: false, slow: false, message: false, pause: false, crash: false, down: false, emptied: false };
    /// What can happen on the network.
    pub const NETWORK: Kinds = Kinds { lost: true, slow: true, message: true, ..Kinds::NONE };
    /// What can happen to clients.
    pub const CLIENTS: Kinds = Kinds { pause: true, crash: true, ..Kinds::NONE };
    /// What can happen to servers.
    pub const SERVERS: Kinds = Kinds { down: true, emptied: true, ..Kinds::NONE };
    /// Every kind.
    pub const ALL: Kinds =
        Kinds { lost: true, slow: true, message: true, pause: true, crash: true, down: true, emptied: true };
}

/// The rules of the protocol. Each can be removed, to see what it is for.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// More than half of the servers have to grant. Removed: one fewer.
    pub asks_for_a_majority: bool,
    /// A majority is enough. Removed: all servers have to grant.
    pub majority_is_enough: bool,
    /// A hold is valid from when the first request was sent. Removed: from when it is given out.
    pub valid_from_first_send: bool,
    /// The drift of the clocks is subtracted from the lease.
    pub subtracts_drift: bool,
    /// A hold whose validity is over is not given out.
    pub checks_before_giving_out: bool,
    /// The token is written back before the hold is given out. Removed: one round.
    pub writes_back: bool,
    /// It is written back to a majority. Removed: to one server.
    pub writes_back_to_a_majority: bool,
    /// The token of a hold is the largest of the granted ones. Removed: the smallest.
    pub takes_the_largest: bool,
    /// The token is written back only where the attempt was granted, and only while its field is there. Removed: anywhere.
    pub raises_for_the_owner: bool,
    /// A release deletes only its own owner's field.
    pub releases_its_own: bool,
    /// An attempt that was refused, and a hold that ends, is released where it was granted.
    pub releases_what_was_granted: bool,
    /// It is also released where no answer came.
    pub releases_what_was_unanswered: bool,
    /// It is released once more there when its acquire has become void.
    pub releases_again: bool,
    /// Not while the attempt is under way or held.
    pub releases_again_afterwards: bool,
    /// A server does not carry out an acquire after its `not_after`.
    pub not_after: bool,
    /// A server that restarted without its data does not count until the longest lease has passed.
    pub waits_after_a_restart: bool,
    /// A renewal takes the lock again where its field is gone, and writes its token there.
    pub heals: bool,
    /// A hold whose validity is over stays lost, even if a majority confirms a renewal.
    pub lost_is_lost: bool,
    /// A waiter listens to all servers. Removed: to one.
    pub listens_everywhere: bool,
    /// A refused attempt announces its release if it may have looked like a hold to others.
    pub announces_what_looked_held: bool,
    /// A waiter that saw no client with a majority tries again soon.
    pub splits_are_short: bool,
    /// A waiter that heard a message during an attempt tries again at once.
    pub again: bool,
    /// The timer of a waiter runs from the sending of the attempt that was refused. Removed: from its end.
    pub timer_from_sending: bool,
    /// A waiter tries again without a message.
    pub polls: bool,
}

impl Rules {
    /// The protocol.
    pub const PROTOCOL: Rules = Rules {
        asks_for_a_majority: true,
        majority_is_enough: true,
        valid_from_first_send: true,
        subtracts_drift: true,
        checks_before_giving_out: true,
        writes_back: true,
        writes_back_to_a_majority: true,
        takes_the_largest: true,
        raises_for_the_owner: true,
        releases_its_own: true,
        releases_what_was_granted: true,
        releases_what_was_unanswered: true,
        releases_again: true,
        releases_again_afterwards: true,
        not_after: true,
        waits_after_a_restart: true,
        heals: true,
        lost_is_lost: true,
        listens_everywhere: true,
        announces_what_looked_held: true,
        splits_are_short: true,
        again: true,
        timer_from_sending: true,
        polls: true,
    };
}
