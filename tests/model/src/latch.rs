//! A latch: count downs that are carried out once, and callers of one process that wait for a count of zero.
//!
//! A request is void [`REMEMBERED`] ticks after it was made, by the clock of the server, which remembers its id until then.
//! Replies can be lost, requests can get stuck and arrive at any later time, and the clock can jump: forward at any time, and
//! back unless a request is void that may still arrive. Those that wait share one look and one subscription; messages can be
//! lost, and the latch can be set anew. As in the other models a tick comes only when nothing is under way.

use stateright::{Model, Property, Representative};

/// Ticks after which a request is void.
const REMEMBERED: i8 = 2;

/// Ticks of a jump of the server's clock.
const JUMP: i8 = 4;

/// What a latch rests on; each can be taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// A repeat meets the id of its request.
    pub remembers: bool,
    /// A request is void after a time.
    pub void: bool,
    /// Its id is remembered until then, and not for so long from when it was carried out.
    pub till_void: bool,
    /// A request that came too late is made anew only if no reply was lost.
    pub anew_if_answered: bool,
    /// Those that wait look again when the channel is subscribed.
    pub recheck: bool,
    /// A message that comes while a look is under way has them look again.
    pub again: bool,
    /// They look every tick without a message.
    pub polls: bool,
    /// A message is a hint: the count decides.
    pub looks_at_count: bool,
    /// A look counts only for those that waited before it began.
    pub later_looks: bool,
}

impl Rules {
    /// The protocol.
    pub const PROTOCOL: Rules = Rules {
        remembers: true,
        void: true,
        till_void: true,
        anew_if_answered: true,
        recheck: true,
        again: true,
        polls: true,
        looks_at_count: true,
        later_looks: true,
    };
}

/// The bounds of the space.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Calls that count down, and the count at the start.
    pub calls: usize,
    /// Callers that wait.
    pub waiters: usize,
    /// How often the latch is set anew, to 1, when it is open.
    pub anew: u8,
    /// How many of these happen: lost replies, stuck requests and lost messages.
    pub faults: u8,
    /// How often the server's clock jumps.
    pub jumps: u8,
    /// The rules of the protocol.
    pub rules: Rules,
}

/// A call that counts down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Call {
    phase: Phase,
    /// Ticks of the server's clock until its present request is void; below 0 it is.
    void_in: i8,
    /// The request is under way, or its reply: carried out or too late.
    request: bool,
    reply: Option<bool>,
    /// An attempt of the present request got no reply.
    unanswered: bool,
    /// A copy of the present request is stuck somewhere.
    stuck: bool,
    /// How often it was carried out.
    carried: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Phase {
    #[default]
    Idle,
    Asks,
    Done,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Waiter {
    Idle,
    /// Whether the latch was open at some time since the call.
    Waits {
        was_open: bool,
    },
    Released {
        was_open: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Subscription {
    No,
    Asked,
    /// The server sends messages; whether the process has heard so.
    Up {
        confirmed: bool,
    },
}

/// The look that is under way, for whom it counts and what it has seen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Look {
    counts_for: Vec<bool>,
    open: Option<bool>,
}

/// The server, the calls, and the process whose callers wait.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    count: u8,
    calls: Vec<Call>,
    /// For how many more ticks the server remembers the present request of each call.
    ids: Vec<Option<i8>>,
    waiters: Vec<Waiter>,
    subscription: Subscription,
    look: Option<Look>,
    noted: bool,
    /// Messages on their way to the process.
    messages: u8,
    message_lost: bool,
    /// For how many ticks the latch was open and somebody waited.
    overdue: u8,
    anew: u8,
    faults: u8,
    jumps: u8,
}

impl Representative for State {
    fn representative(&self) -> State {
        self.clone()
    }
}

/// What can come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A call is made, or sends its request again.
    Call(usize),
    /// Its request reaches the server.
    Arrive(usize),
    /// A copy that was stuck does.
    ArriveLate(usize),
    /// The reply to it is lost.
    LoseReply(usize),
    /// Its request gets stuck.
    Stick(usize),
    /// The reply to it comes.
    Reply(usize),
    /// Its time is over.
    GiveUp(usize),
    /// The latch gets a count again.
    SetAnew,
    /// A caller begins to wait.
    Wait(usize),
    /// The look reaches the server.
    LookArrives,
    /// The reply to the look comes.
    LookReply,
    /// The subscription reaches the server.
    Subscribed,
    /// The process learns of that.
    Confirmed,
    /// A message comes.
    Message,
    /// A message is lost.
    LoseMessage,
    /// Time passes.
    Tick,
    /// The clock of the server jumps.
    Jump {
        /// Back, and not forward.
        back: bool,
    },
}

/// The names of the properties.
pub mod name {
    /// C1 of the protocol.
    pub const ONCE: &str = "no call is counted twice";
    /// The other half of it.
    pub const DONE: &str = "a call that returns was counted";
    /// C2.
    pub const SAFE: &str = "nobody is released who has not waited for an open latch";
    /// C3, at once.
    pub const PROMPT: &str = "a message releases those that wait";
    /// C3, by timers.
    pub const BOUND: &str = "those that wait for an open latch are released within a tick";
}

impl State {
    fn waits(&self) -> bool {
        self.waiters.iter().any(|waiter| matches!(waiter, Waiter::Waits { .. }))
    }

    /// Nothing is under way, but for what is stuck.
    fn is_quiet(&self) -> bool {
        let calls = self.calls.iter().all(|call| !call.request && call.reply.is_none());
        let subscribed = matches!(self.subscription, Subscription::No | Subscription::Up { confirmed: true });
        calls && subscribed && self.look.is_none() && self.messages == 0
    }

    fn note_open(&mut self) {
        if self.count > 0 {
            return;
        }
        for waiter in &mut self.waiters {
            if let Waiter::Waits { was_open } = waiter {
                *was_open = true;
            }
        }
    }

    /// The server carries a request out; false when it is void.
    fn carry_out(&mut self, at: usize, rules: Rules) -> bool {
        if rules.void && self.calls[at].void_in < 0 {
            return false;
        }
        if rules.remembers && self.ids[at].is_some() {
            return true;
        }
        self.ids[at] = Some(if rules.till_void { self.calls[at].void_in } else { REMEMBERED });
        self.calls[at].carried += 1;
        if self.count > 0 {
            self.count -= 1;
            self.messages += u8::from(self.count == 0 && matches!(self.subscription, Subscription::Up { .. }));
        }
        true
    }

    fn release(&mut self, counts_for: &[bool]) {
        for (waiter, counts) in self.waiters.iter_mut().zip(counts_for) {
            if let (Waiter::Waits { was_open }, true) = (*waiter, *counts) {
                *waiter = Waiter::Released { was_open };
            }
        }
    }

    /// Looks, or takes note that it has to.
    fn look(&mut self, rules: Rules) {
        if !self.waits() {
            return;
        }
        if self.look.is_some() {
            self.noted |= rules.again;
            return;
        }
        let counts_for = self.waiters.iter().map(|waiter| matches!(waiter, Waiter::Waits { .. })).collect();
        self.look = Some(Look { counts_for, open: None });
    }

    fn pass(&mut self, ticks: i8) {
        for call in &mut self.calls {
            call.void_in = (call.void_in - ticks).clamp(-1, REMEMBERED + 2 * JUMP);
        }
        for id in &mut self.ids {
            *id = id.map(|left| left - ticks).filter(|left| *left >= 0);
        }
    }
}

impl Model for Config {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            count: self.calls as u8,
            calls: vec![Call::default(); self.calls],
            ids: vec![None; self.calls],
            waiters: vec![Waiter::Idle; self.waiters],
            subscription: Subscription::No,
            look: None,
            noted: false,
            messages: 0,
            message_lost: false,
            overdue: 0,
            anew: self.anew,
            faults: self.faults,
            jumps: self.jumps,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let may_fail = state.faults > 0;
        for (at, call) in state.calls.iter().enumerate() {
            match call.phase {
                Phase::Idle => actions.push(Action::Call(at)),
                Phase::Asks if call.request => {
                    actions.push(Action::Arrive(at));
                    if may_fail && !call.stuck {
                        actions.push(Action::Stick(at));
                    }
                }
                Phase::Asks => {
                    actions.extend([Action::Reply(at)].into_iter().filter(|_| call.reply.is_some()));
                    if may_fail && call.reply.is_some() {
                        actions.push(Action::LoseReply(at));
                    }
                    if call.unanswered && call.reply.is_none() {
                        actions.extend([Action::Call(at), Action::GiveUp(at)]);
                    }
                }
                Phase::Done | Phase::Unknown => {}
            }
            if call.stuck {
                actions.push(Action::ArriveLate(at));
            }
        }
        let waits = state.waiters.iter().enumerate().filter(|(_, waiter)| **waiter == Waiter::Idle);
        actions.extend(waits.map(|(at, _)| Action::Wait(at)));
        if state.count == 0 && state.anew > 0 {
            actions.push(Action::SetAnew);
        }
        match &state.look {
            Some(Look { open: None, .. }) => actions.push(Action::LookArrives),
            Some(_) => actions.push(Action::LookReply),
            None => {}
        }
        match state.subscription {
            Subscription::Asked => actions.push(Action::Subscribed),
            Subscription::Up { confirmed: false } => actions.push(Action::Confirmed),
            _ => {}
        }
        if state.messages > 0 {
            actions.push(Action::Message);
            if may_fail {
                actions.push(Action::LoseMessage);
            }
        }
        if state.is_quiet() {
            actions.push(Action::Tick);
        }
        if state.jumps > 0 {
            let may_arrive = |call: &Call| call.stuck || call.phase == Phase::Asks;
            let is_over = state.calls.iter().any(|call| may_arrive(call) && call.void_in < 0);
            actions
                .extend([true, false].into_iter().filter(|back| !(*back && is_over)).map(|back| Action::Jump { back }));
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let (mut state, rules) = (last.clone(), self.rules);
        match action {
            Action::Call(at) => {
                let call = &mut state.calls[at];
                if call.phase == Phase::Idle {
                    call.void_in = REMEMBERED;
                }
                (call.phase, call.request) = (Phase::Asks, true);
            }
            Action::Arrive(at) => {
                let carried = state.carry_out(at, rules);
                (state.calls[at].request, state.calls[at].reply) = (false, Some(carried));
            }
            Action::ArriveLate(at) => {
                state.carry_out(at, rules);
                state.calls[at].stuck = false;
            }
            Action::LoseReply(at) => {
                state.faults -= 1;
                (state.calls[at].reply, state.calls[at].unanswered) = (None, true);
            }
            Action::Stick(at) => {
                state.faults -= 1;
                let call = &mut state.calls[at];
                (call.request, call.stuck, call.unanswered) = (false, true, true);
            }
            Action::Reply(at) => {
                let call = &mut state.calls[at];
                match call.reply.take() {
                    Some(true) => call.phase = Phase::Done,
                    _ if call.unanswered && rules.anew_if_answered => call.phase = Phase::Unknown,
                    _ => {
                        // With a new id, and nothing to repeat.
                        (call.void_in, call.unanswered, call.request) = (REMEMBERED, false, true);
                        state.ids[at] = None;
                    }
                }
            }
            Action::GiveUp(at) => state.calls[at].phase = Phase::Unknown,
            Action::SetAnew => {
                state.anew -= 1;
                state.count = 1;
            }
            Action::Wait(at) => {
                let others = state.waits();
                state.waiters[at] = Waiter::Waits { was_open: false };
                if let (false, Some(look)) = (rules.later_looks, &mut state.look) {
                    look.counts_for[at] = true;
                }
                state.look(rules);
                if others && state.subscription == Subscription::No {
                    state.subscription = Subscription::Asked;
                }
            }
            Action::LookArrives => {
                let open = state.count == 0;
                state.look.as_mut()?.open = Some(open);
            }
            Action::LookReply => {
                let look = state.look.take()?;
                if look.open == Some(true) {
                    state.release(&look.counts_for);
                }
                if std::mem::take(&mut state.noted) {
                    state.look(rules);
                }
                if state.waits() && state.subscription == Subscription::No {
                    state.subscription = Subscription::Asked;
                }
            }
            Action::Subscribed => state.subscription = Subscription::Up { confirmed: false },
            Action::Confirmed => {
                state.subscription = Subscription::Up { confirmed: true };
                if rules.recheck {
                    state.look(rules);
                }
            }
            Action::Message => {
                state.messages -= 1;
                if rules.looks_at_count {
                    state.look(rules);
                } else {
                    state.release(&vec![true; self.waiters]);
                }
            }
            Action::LoseMessage => {
                state.faults -= 1;
                state.messages -= 1;
                state.message_lost = true;
            }
            Action::Tick => {
                state.pass(1);
                state.message_lost = false;
                state.overdue = if state.count == 0 && state.waits() { (state.overdue + 1).min(2) } else { 0 };
                if rules.polls {
                    state.look(rules);
                }
            }
            Action::Jump { back } => {
                state.jumps -= 1;
                state.pass(if back { -JUMP } else { JUMP });
            }
        }
        state.note_open();
        if !state.waits() || state.count > 0 {
            state.overdue = 0;
        }
        // Nobody is left to watch.
        if !state.waits() && state.look.is_none() {
            (state.subscription, state.messages, state.noted) = (Subscription::No, 0, false);
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Config>> {
        vec![
            Property::always(name::ONCE, |_, state: &State| state.calls.iter().all(|call| call.carried <= 1)),
            Property::always(name::DONE, |_, state: &State| {
                state.calls.iter().all(|call| call.phase != Phase::Done || call.carried > 0)
            }),
            Property::always(name::SAFE, |_, state: &State| {
                state.waiters.iter().all(|waiter| *waiter != Waiter::Released { was_open: false })
            }),
            Property::always(name::PROMPT, |_, state: &State| {
                !(state.is_quiet() && state.count == 0 && state.waits()) || state.message_lost
            }),
            Property::always(name::BOUND, |_, state: &State| state.overdue < 2),
            Property::sometimes("all are released", |config: &Config, state: &State| {
                state.waiters.iter().all(|waiter| matches!(waiter, Waiter::Released { .. }))
                    && state.anew < config.anew.max(1)
            }),
            Property::sometimes("a repeat meets its id", |_, state: &State| {
                state.calls.iter().any(|call| call.phase == Phase::Done && call.unanswered)
            }),
            Property::sometimes("a call does not know", |_, state: &State| {
                state.calls.iter().any(|call| call.phase == Phase::Unknown && call.carried == 1)
            }),
        ]
    }
}
