//! A model of requests that leave nothing behind but a number: an acquire of a counting semaphore, which the server remembers by
//! its id, and which is undone when nobody wants what it was granted. A release is the same without an undo.
//!
//! One permit, one caller, and a network in which requests and replies are lost, and requests come late. Queue and admission are
//! those of `permits`, and have no part in it. Time passes in ticks, one for the time that an attempt may take.

use stateright::{Model, Property, Representative};

/// For how many ticks an acquire is repeated, and then an undo.
const TRIED: u8 = 2;
/// For how many ticks an attempt is not void: as long as its sender waits for the answer.
const ATTEMPT: u8 = 1;
/// For how many ticks the server remembers an id: more than both kinds of attempt together.
const REMEMBERED: u8 = 2 * TRIED + 2;
/// The most attempts of one kind.
const ATTEMPTS: u8 = 3;

/// The rules of the protocol; each can be taken out.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The server remembers the id of an acquire that it has carried out.
    pub remembers: bool,
    /// It remembers it until attempts and undos are over.
    pub remembers_long: bool,
    /// Whoever gets no answer, or has a caller that has gone, undoes the acquire.
    pub undoes: bool,
    /// Only what is remembered is undone.
    pub undoes_what_is_known: bool,
    /// What was undone is remembered no more.
    pub forgets: bool,
    /// An acquire with an unanswered attempt is undone again when that can arrive no more.
    pub undoes_again: bool,
    /// An attempt is void when the server may have forgotten the id by the clock with which the request was made.
    pub voids: bool,
}

impl Rules {
    /// All of them.
    pub const PROTOCOL: Rules = Rules {
        remembers: true,
        remembers_long: true,
        undoes: true,
        undoes_what_is_known: true,
        forgets: true,
        undoes_again: true,
        voids: true,
    };
}

/// The space, and the rules that are in force.
#[derive(Clone, Debug)]
pub struct Once {
    /// The rules of the protocol.
    pub rules: Rules,
    /// How often the server's clock jumps ahead, past all that it remembers.
    pub jumps: u8,
    /// Looks for events, and not only for what must never be.
    pub events: bool,
}

/// What the client does about its acquire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Client {
    /// It waits for the answer to its last attempt.
    Asks {
        /// Ticks since the first attempt.
        age: u8,
        /// How many were sent.
        sent: u8,
        /// The caller is still there.
        wanted: bool,
    },
    /// Its caller has the permit.
    Has,
    /// It gives back what it may have.
    Undoes {
        /// Ticks since it began to.
        age: u8,
        /// How many undos were sent.
        sent: u8,
        /// Once more when no acquire can arrive any more.
        again: bool,
    },
    /// Nothing is left to do.
    Over,
    /// It has given up, and warns that a permit may be missing.
    Warned,
}

/// Everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// How many permits the number on the server shows as taken.
    pub taken: i8,
    /// For how many ticks the id is remembered.
    pub remembered: Option<u8>,
    /// Acquires in the network: for how many ticks each is not void, the last one sent at the end.
    pub acquires: Vec<u8>,
    /// Undos in the network.
    pub undos: u8,
    /// What the client does.
    pub client: Client,
    /// How many jumps the server's clock has made.
    pub jumped: u8,
    /// An acquire was repeated without effect; an undo has given something back. Not kept up without `events`.
    pub seen: [bool; 2],
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// An acquire reaches the server.
    Acquires {
        /// In the order of sending.
        which: usize,
        /// The client gets the answer.
        heard: bool,
    },
    /// An undo reaches the server.
    UndoArrives {
        /// The client gets the answer.
        heard: bool,
    },
    /// An acquire is lost.
    LoseAcquire {
        /// In the order of sending.
        which: usize,
    },
    /// An undo is lost.
    LoseUndo,
    /// The client sends the acquire again, or the undo.
    Repeat,
    /// The caller goes away.
    Leave,
    /// The client gets no answer and gives up.
    GiveUp,
    /// The time passes for which an attempt is not void.
    Tick,
    /// The server's clock jumps ahead.
    Jump,
}

impl State {
    /// Nothing is under way, and nothing will be.
    fn is_settled(&self) -> bool {
        self.acquires.is_empty() && self.undos == 0 && matches!(self.client, Client::Has | Client::Over)
    }
}

impl Representative for State {
    fn representative(&self) -> State {
        self.clone()
    }
}

impl Once {
    /// What the client does when its acquire was answered, or was not.
    fn ended(&self, granted: bool, wanted: bool, unanswered: bool) -> Client {
        match (granted, wanted) {
            (true, true) => Client::Has,
            (false, _) if !unanswered => Client::Over,
            _ if !self.rules.undoes => Client::Over,
            _ => Client::Undoes { age: 0, sent: 0, again: unanswered && self.rules.undoes_again },
        }
    }

    fn remember(&self) -> Option<u8> {
        let long = if self.rules.remembers_long { REMEMBERED } else { ATTEMPT };
        self.rules.remembers.then_some(long)
    }
}

impl Model for Once {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let client = Client::Asks { age: 0, sent: 1, wanted: true };
        vec![State {
            taken: 0,
            remembered: None,
            acquires: vec![ATTEMPT],
            undos: 0,
            client,
            jumped: 0,
            seen: [false; 2],
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for which in 0..state.acquires.len() {
            actions.push(Action::Acquires { which, heard: false });
            actions.push(Action::LoseAcquire { which });
        }
        if state.undos > 0 {
            actions.extend([Action::UndoArrives { heard: false }, Action::LoseUndo]);
        }
        match state.client {
            Client::Asks { age, sent, wanted } => {
                if let Some(last) = state.acquires.len().checked_sub(1) {
                    actions.push(Action::Acquires { which: last, heard: true });
                }
                // A jump is known from the answer to anything else: the next attempt's time is by the new clock.
                let void = self.rules.voids && state.jumped > 0;
                if age < TRIED && sent < ATTEMPTS && !void {
                    actions.push(Action::Repeat);
                }
                if wanted {
                    actions.push(Action::Leave);
                }
                actions.push(Action::GiveUp);
            }
            Client::Undoes { age, sent, .. } => {
                if state.undos > 0 {
                    actions.push(Action::UndoArrives { heard: true });
                }
                if age < TRIED && sent < ATTEMPTS {
                    actions.push(Action::Repeat);
                }
                actions.push(Action::GiveUp);
            }
            Client::Has | Client::Over | Client::Warned => {}
        }
        if !state.is_settled() || state.remembered.is_some() {
            actions.push(Action::Tick);
        }
        if state.jumped < self.jumps {
            actions.push(Action::Jump);
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Acquires { which, heard } => {
                state.acquires.remove(which);
                if state.remembered.is_some() {
                    state.seen[0] = self.events;
                } else {
                    state.taken += 1;
                    state.remembered = self.remember();
                }
                if let Client::Asks { sent, wanted, .. } = state.client
                    && heard
                {
                    state.client = self.ended(true, wanted, sent > 1);
                }
            }
            Action::UndoArrives { heard } => {
                state.undos -= 1;
                if state.remembered.is_some() || !self.rules.undoes_what_is_known {
                    state.seen[1] = self.events;
                    state.taken -= 1;
                    if self.rules.forgets {
                        state.remembered = None;
                    }
                }
                if let Client::Undoes { again, .. } = state.client
                    && heard
                {
                    state.client = match again {
                        false => Client::Over,
                        // The second one is sent when the bytes of the acquire can arrive no more.
                        true if !state.acquires.is_empty() => state.client,
                        true => Client::Undoes { age: 0, sent: 0, again: false },
                    };
                }
            }
            Action::LoseAcquire { which } => drop(state.acquires.remove(which)),
            Action::LoseUndo => state.undos -= 1,
            Action::Repeat => match &mut state.client {
                Client::Asks { sent, .. } => {
                    *sent += 1;
                    state.acquires.push(ATTEMPT);
                }
                Client::Undoes { sent, .. } => {
                    *sent += 1;
                    state.undos += 1;
                }
                Client::Has | Client::Over | Client::Warned => return None,
            },
            Action::Leave => {
                if let Client::Asks { wanted, .. } = &mut state.client {
                    *wanted = false;
                }
            }
            Action::GiveUp => {
                state.client = match state.client {
                    Client::Asks { .. } => self.ended(false, false, true),
                    _ => Client::Warned,
                };
            }
            Action::Tick => {
                state.acquires.retain_mut(|left| {
                    *left = left.wrapping_sub(1);
                    *left != u8::MAX
                });
                state.remembered = state.remembered.and_then(|left| left.checked_sub(1));
                match &mut state.client {
                    Client::Asks { age, .. } | Client::Undoes { age, .. } if *age < TRIED => *age += 1,
                    // No attempt waits for longer.
                    Client::Asks { .. } => state.client = self.ended(false, false, true),
                    Client::Undoes { .. } => state.client = Client::Warned,
                    Client::Has | Client::Over | Client::Warned => {}
                }
            }
            Action::Jump => {
                state.jumped += 1;
                // What is under way is too late, and what is remembered is over.
                state.acquires.clear();
                state.remembered = None;
            }
        }
        (state != *before).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Once>> {
        let mut properties = vec![
            Property::always("taken once", |_, state: &State| (0..=1).contains(&state.taken)),
            Property::always("nobody's permit comes back", |once: &Once, state: &State| {
                once.jumps > 0 || !state.is_settled() || state.taken == i8::from(state.client == Client::Has)
            }),
        ];
        if self.events {
            properties.extend([
                Property::sometimes("a repeat finds its id", |_, state: &State| state.seen[0]),
                Property::sometimes("an undo gives back", |_, state: &State| state.seen[1]),
                Property::sometimes("a caller has its permit", |_, state: &State| state.client == Client::Has),
            ]);
        }
        properties
    }
}
