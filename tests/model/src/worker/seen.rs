//! What must happen somewhere in the space.

use stateright::{Model, Property};

use super::{Action, Config, Number, Process, State};

/// Events that must be seen to happen: a space without them would show nothing.
pub mod event {
    /// A number goes from one process to another, and both make ids.
    pub const FOLLOWS: &str = "two leases of a number have ids";
    /// A holder's time is ahead of the server's clock.
    pub const AHEAD: &str = "a holder begins later than the server's clock shows";
    /// A process believes no more, though the server has not given its number away.
    pub const REFUSES: &str = "a holder stops before the server's lease is over";
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
        vec![
            Property::sometimes(event::FOLLOWS, |_: &Seen, state: &State| {
                state.made.iter().filter(|(number, span)| *number == 0 && span.is_some()).count() > 1
            }),
            Property::sometimes(event::AHEAD, |_: &Seen, state: &State| {
                state.processes.iter().any(|process| process.time().is_some_and(|time| time > state.server_clock))
            }),
            Property::sometimes(event::REFUSES, |_: &Seen, state: &State| {
                let stopped = |(at, process): (usize, &Process)| {
                    let owner = (at, process.attempt);
                    let held = |number: &Number| {
                        number.lease.is_some_and(|(holder, expiry)| holder == owner && expiry > state.server_clock)
                    };
                    process.lease.is_some() && !process.is_valid() && state.numbers.iter().any(held)
                };
                state.processes.iter().enumerate().any(stopped)
            }),
        ]
    }
}
