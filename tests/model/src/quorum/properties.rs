//! What holds in every state, and what must be seen to happen in some.

use stateright::Property;

use super::config::{Config, POLL, SOON};
use super::model::urgent;
use super::state::{Ask, Client, Owner, Phase, Slot, State, Up, happened};

/// The properties by name.
pub mod name {
    #![allow(missing_docs)]
    pub const ONE: &str = "at most one valid holder";
    pub const FIELDS: &str = "a valid holder has its field at a majority";
    pub const GROWS: &str = "the token of each hold is greater than all before";
    pub const LATEST: &str = "a valid holder has the latest token";
    pub const UNDONE: &str = "a grant that is no hold is released";
    pub const KEPT: &str = "a hold is kept while a majority can renew it";
    pub const GRANTED: &str = "an attempt that nothing disturbs is granted";
    pub const WOKEN: &str = "a release wakes the waiters";
    pub const BOUND: &str = "a waiter tries again within the poll interval";
}

/// All properties; those of the kind *sometimes* only if the state remembers.
pub fn all(config: &Config) -> Vec<Property<Config>> {
    let mut all = vec![
        Property::always(name::ONE, |c, s: &State| valid_holders(c, s).count() <= 1),
        Property::always(name::FIELDS, |c, s: &State| valid_holders(c, s).all(|owner| has_a_majority(s, owner))),
        Property::always(name::GROWS, |_, s: &State| !s.ghost.token_fell),
        Property::always(name::LATEST, |c, s: &State| valid_holders(c, s).all(|owner| s.ghost.latest == Some(owner))),
        Property::always(name::UNDONE, |_, s: &State| grants_are_minded(s)),
        Property::always(name::KEPT, |_, s: &State| !s.ghost.not_kept),
        Property::always(name::GRANTED, |_, s: &State| !s.ghost.refused_alone),
        Property::always(name::WOKEN, |c, s: &State| !(s.ghost.prompt && stands_free(c, s))),
        Property::always(name::BOUND, |_, s: &State| s.clients.iter().all(|client| client.overslept <= POLL)),
    ];
    if config.remember {
        all.extend(EVENTS.iter().chain(EVENTS_OF_FAULTS).map(|(name, seen)| Property::sometimes(name, *seen)));
    }
    all
}

/// Whether something has happened on the way to a state.
pub type Seen = fn(&Config, &State) -> bool;

/// What must be seen to happen without faults, or the model proves nothing.
pub const EVENTS: &[(&str, Seen)] = &[
    ("two clients split the servers, and release them", seen::<{ happened::SPLIT }>),
    ("a token is written back where it is greater", seen::<{ happened::RAISED }>),
    ("a hold is renewed", seen::<{ happened::RENEWED }>),
    ("a hold is lost", seen::<{ happened::HOLD_LOST }>),
    ("a message wakes a waiter", seen::<{ happened::WOKEN }>),
    ("a timer wakes a waiter", seen::<{ happened::POLLED }>),
    ("a lease ends", seen::<{ happened::EXPIRED }>),
];

/// The same with faults.
pub const EVENTS_OF_FAULTS: &[(&str, Seen)] = &[
    ("a token is not written where the owner is gone", seen::<{ happened::RAISE_REFUSED }>),
    ("a late acquire is granted to nobody", seen::<{ happened::LATE_GRANT }>),
    ("a late grant is released", seen::<{ happened::LATE_GRANT_UNDONE }>),
    ("an acquire comes too late", seen::<{ happened::VOID }>),
    ("a grant does not count", seen::<{ happened::NOT_COUNTED }>),
    ("a server counts again", seen::<{ happened::COUNTS_AGAIN }>),
    ("a renewal takes the lock again", seen::<{ happened::HEALED }>),
    ("a hold is over before it is given out", seen::<{ happened::TOO_LATE_TO_GIVE_OUT }>),
    ("a hold is granted while a server is down", seen::<{ happened::MINORITY_DOWN }>),
];

fn seen<const EVENT: u32>(_: &Config, state: &State) -> bool {
    state.ghost.happened & EVENT != 0
}

fn valid_holders<'a>(config: &'a Config, state: &'a State) -> impl Iterator<Item = Owner> + 'a {
    let valid = |client: &Client| {
        client.up != Up::Crashed && matches!(client.phase, Phase::Holding { .. }) && client.since < config.valid()
    };
    let clients = state.clients.iter().enumerate().filter(move |(_, client)| valid(client));
    clients.map(|(c, client)| Owner { client: c as u8, attempt: client.attempt })
}

/// A server that is down has its data. One that lost them does not count yet, so that nobody else can count it.
fn has_a_majority(state: &State, owner: Owner) -> bool {
    let fields = state.servers.iter().filter(|server| server.owner == Some(owner) || server.starting > 0);
    fields.count() > state.servers.len() / 2
}

/// A field belongs to an attempt that is under way or held, or is about to be released; or its client has crashed, and the lease
/// ends it.
fn grants_are_minded(state: &State) -> bool {
    state.servers.iter().enumerate().filter_map(|(s, server)| Some((s, server.owner?))).all(|(s, owner)| {
        let client = &state.clients[owner.client as usize];
        let present = client.attempt == owner.attempt;
        let releases = matches!(client.phase, Phase::Undoing { .. }) && matches!(client.slots[s], Slot::Asked { .. });
        client.up == Up::Crashed
            || present && (client.is_engaged() || releases)
            || client.debts.iter().any(|debt| (debt.server as usize, debt.attempt) == (s, owner.attempt))
            || state
                .late
                .iter()
                .any(|late| (late.server as usize, late.owner) == (s, owner) && matches!(late.ask, Ask::Release { .. }))
    })
}

/// Nothing is under way, a majority is free, and a waiter sleeps for long.
fn stands_free(config: &Config, state: &State) -> bool {
    let mut actions = Vec::new();
    urgent(config, state, &mut actions);
    let soon = |client: &Client| matches!(client.phase, Phase::Sleeping { timer: 0..=SOON });
    let sleeps = |client: &Client| client.sleeps() && !client.missed && !soon(client);
    actions.is_empty() && state.majority_is_free() && state.clients.iter().any(sleeps)
}
