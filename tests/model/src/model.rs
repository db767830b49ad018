//! The model: which events can come next, and what each does.

use stateright::{Model, Property};

use crate::config::{Config, ENTRY_LIMIT, LONG, MAY_BARGE};
use crate::faults::{self, Fault};
use crate::server::{self, Outcome};
use crate::state::{Debt, Owner, Phase, Process, Reply, Request, State, Up, happened, message};
use crate::{client, properties};

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Action {
    /// A caller comes, gives up, or releases.
    Arrive(usize),
    GiveUp(usize),
    Release(usize),
    /// The server carries out a request; its reply arrives.
    CarryOut(usize),
    Answer(usize),
    /// A message arrives.
    Message(usize, u8),
    LateMessage(usize, u8),
    /// A timer fires; a debt is due; a process that was stopped sees that its hold is over.
    Fire(usize),
    Settle(usize, usize),
    Lose(usize),
    /// A request arrives from a dead connection.
    LateBytes(usize),
    ForeignTake,
    ForeignRelease,
    /// A client that never waits takes the lock, and releases it; a process with callers that wait tries past them.
    Try,
    TryRelease,
    OwnTry(usize),
    ForceRelease,
    Fault(Fault),
    Tick,
}

impl Model for Config {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::start(self)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let before = actions.len();
        urgent(self, state, actions);
        if actions.len() == before {
            actions.push(Action::Tick);
        }
        for (p, process) in state.processes.iter().enumerate() {
            if process.up != Up::Running {
                continue;
            }
            if process.to_come > 0 {
                actions.push(Action::Arrive(p));
            }
            if process.waiting > 0 && state.cancels > 0 {
                actions.push(Action::GiveUp(p));
            }
            // Also when it is no longer valid: the process may have stopped between its check and its release.
            if matches!(process.phase, Phase::Holding { .. }) {
                actions.push(Action::Release(p));
            }
            actions.extend(message::ALL.iter().filter(|m| process.late & *m != 0).map(|m| Action::LateMessage(p, *m)));
        }
        actions.extend((0..state.stuck.len()).map(Action::LateBytes));
        if state.server.lock.is_empty() && state.foreign > 0 {
            actions.push(Action::ForeignTake);
        }
        if state.server.lock.has(Owner::FOREIGN) {
            actions.push(Action::ForeignRelease);
        }
        others(state, actions);
        faults::possible(state, self, |fault| actions.push(Action::Fault(fault)));
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Arrive(p) => client::arrive(&mut state, p),
            Action::GiveUp(p) => {
                state.cancels -= 1;
                client::give_up(&mut state, p);
            }
            Action::Release(p) => client::release(&mut state, p),
            Action::CarryOut(p) => {
                let request = state.processes[p].wire.take()?;
                let reply = carry_out(self, &mut state, p, request);
                if state.processes[p].up != Up::Crashed {
                    state.processes[p].reply = Some(reply);
                }
            }
            Action::Answer(p) => {
                let reply = state.processes[p].reply.take()?;
                client::answered(&mut state, self, p, reply);
            }
            Action::Message(p, what) | Action::LateMessage(p, what) => {
                let box_ = &mut state.processes[p];
                if matches!(action, Action::Message(..)) {
                    box_.inbox &= !what
                } else {
                    box_.late &= !what
                }
                let out = client::notified(&mut state, self, p, what);
                publish(&mut state, out);
            }
            Action::Fire(p) => client::ask(&mut state, p),
            Action::Settle(p, debt) => {
                let out = client::settle(&mut state, self, p, debt);
                publish(&mut state, out);
            }
            Action::Lose(p) => client::lose(&mut state, self, p),
            Action::LateBytes(i) => {
                let (p, request) = state.stuck.remove(i);
                state.ghost.prompt = false;
                state.ghost.free_for = 0;
                late(self, &mut state, p as usize, request);
            }
            Action::ForeignTake => {
                state.foreign -= 1;
                state.ghost.prompt = false;
                state.ghost.free_for = 0;
                server::foreign_take(&mut state.server, self);
            }
            Action::ForeignRelease => {
                let mut out = Outcome::new(state.not_heard());
                server::foreign_release(&mut state.server, &mut out);
                let head = state.server.queue.at(0).map(|p| &state.processes[p]);
                let asks = |h: &Process| !state.ghost.disturbed && !matches!(h.phase, Phase::Sleeping { .. });
                let listens = head.is_none_or(|h| h.subscribed || asks(h));
                publish_all(&mut state, &out);
                state.ghost.prompt = listens && all_are_told(&state);
            }
            Action::Try => {
                state.tries -= 1;
                attempt(self, &mut state, None);
            }
            Action::OwnTry(p) => {
                state.own_tries -= 1;
                attempt(self, &mut state, Some(p));
            }
            Action::TryRelease => {
                let mut out = Outcome::new(state.not_heard());
                server::free(&mut state.server, self, &mut out);
                publish(&mut state, out);
            }
            Action::ForceRelease => {
                let mut out = Outcome::new(state.not_heard());
                state.forces -= 1;
                state.ghost.taken_away = true;
                server::force_release(&mut state.server, self, &mut out);
                publish(&mut state, out);
            }
            Action::Fault(fault) => faults::happen(&mut state, self, fault),
            Action::Tick => tick(self, &mut state),
        }
        let tried = matches!(action, Action::Try | Action::OwnTry(_));
        if !tried && state.server.queue.at(0) != last.server.queue.at(0) {
            state.ghost.overtaken = 0;
        }
        if !self.remember {
            state.ghost.happened = 0;
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all(self)
    }
}

/// What others may do at any time: those who try, and who frees by force.
fn others(state: &State, actions: &mut Vec<Action>) {
    if state.server.lock.is_empty() {
        if state.tries > 0 {
            actions.push(Action::Try);
        }
        let may = |p: &Process| state.own_tries > 0 && p.up == Up::Running;
        let processes = state.processes.iter().enumerate().filter(|(_, p)| may(p));
        actions.extend(processes.map(|(p, _)| Action::OwnTry(p)));
    } else if state.forces > 0 {
        actions.push(Action::ForceRelease);
    }
    if state.server.lock.has(Owner::TRIER) {
        actions.push(Action::TryRelease);
    }
}

/// A try, of a process or of a client that is none. Its request takes no time here: what can happen to one under way is seen
/// with those that wait.
fn attempt(config: &Config, state: &mut State, process: Option<usize>) {
    let (mut out, head) = (Outcome::new(state.not_heard()), state.server.queue.at(0));
    let granted = server::try_acquire(&mut state.server, config, process, Owner::TRIER, &mut out);
    if out.drops() {
        state.ghost.happened |= happened::TRY_DROPPED;
    }
    let queue = &state.server.queue;
    if !granted {
        state.ghost.happened |= happened::TRY_REFUSED;
    } else if queue.at(0).is_some_and(|head| Some(head) != process) {
        state.ghost.happened |= happened::BARGED;
        let before = if queue.at(0) == head { state.ghost.overtaken } else { 0 };
        state.ghost.overtaken = (before + 1).min(MAY_BARGE + 1);
    } else if queue.at(0).is_some() {
        state.ghost.happened |= happened::PLACE_KEPT;
    }
    publish(state, out);
}

/// What happens before the next tick.
pub fn urgent(config: &Config, state: &State, actions: &mut Vec<Action>) {
    for (p, process) in state.processes.iter().enumerate() {
        if process.wire.is_some() {
            actions.push(Action::CarryOut(p));
        }
        if process.up != Up::Running {
            continue;
        }
        if process.reply.is_some() {
            actions.push(Action::Answer(p));
        }
        actions.extend(message::ALL.iter().filter(|m| process.inbox & *m != 0).map(|m| Action::Message(p, *m)));
        match process.phase {
            Phase::Sleeping { timer: 0 } => actions.push(Action::Fire(p)),
            Phase::Holding { valid: 0, .. } => actions.push(Action::Lose(p)),
            _ => {}
        }
        // Not while a request is in flight: bytes of the earlier one may have been carried out after it. Nor while the
        // attempt's own hold lasts, which may end before its field does: it is valid from when the first request was sent.
        let settled = |debt: &Debt| match process.phase {
            Phase::Idle | Phase::Sleeping { .. } => true,
            Phase::Holding { attempt, .. } => debt.attempt != Some(attempt),
            _ => false,
        };
        let due = |(i, debt): (usize, &Debt)| {
            (debt.due == 0 && (settled(debt) || !config.rules.clean_up_waits)).then_some(Action::Settle(p, i))
        };
        actions.extend(process.debts.iter().enumerate().filter_map(due));
    }
}

/// The server carries out a request.
fn carry_out(config: &Config, state: &mut State, p: usize, request: Request) -> Reply {
    let before = state.server;
    if config.count_asks && matches!(request, Request::Acquire { .. }) {
        let asks = &mut state.processes[p].asks;
        *asks = (*asks + 1).min(properties::ASKS + 1);
    }
    let mut out = Outcome::new(state.not_heard());
    let keys = &mut state.server;
    let reply = match request {
        Request::Acquire { attempt, left } => server::acquire(keys, config, p, attempt, left == 0, &mut out),
        Request::Release { attempt, rejoin } => server::release(keys, config, p, attempt, rejoin, &mut out),
        Request::Cancel { left } => server::cancel(keys, config, p, left == 0, &mut out),
        Request::Subscribe { inbox } => {
            let process = &mut state.processes[p];
            let channel = if inbox { &mut process.listens } else { &mut process.subscribed };
            *channel = process.up != Up::Crashed;
            Reply::Subscribed
        }
    };
    match request {
        Request::Release { attempt, .. } => {
            state.ghost.freed_another |= out.freed.iter().any(|owner| owner != Owner::ours(p, attempt));
        }
        Request::Acquire { attempt, .. } if before.lock.has(Owner::ours(p, attempt)) && reply != Reply::TooLate => {
            let same = (before.lock, before.token, before.queue)
                == (state.server.lock, state.server.token, state.server.queue);
            state.ghost.repeat_changed |= reply != Reply::Granted || !same;
        }
        _ => {}
    }
    publish(state, out);
    reply
}

/// Bytes of a dead connection arrive: carried out, and the reply goes nowhere.
fn late(config: &Config, state: &mut State, p: usize, request: Request) {
    let (queued, was) = (state.server.queue.rank(p).is_some(), state.ghost);
    let reply = carry_out(config, state, p, request);
    let mut now = 0;
    if reply == Reply::TooLate {
        now |= happened::TOO_LATE;
    }
    if queued && state.server.queue.rank(p).is_none() && matches!(request, Request::Cancel { .. }) {
        now |= happened::LATE_CANCEL;
        state.ghost.disturbed = true;
    }
    state.ghost.happened = was.happened | now;
    state.ghost.prompt = false;
}

/// What a script did becomes known: to the processes by messages, to the properties at once.
fn publish(state: &mut State, out: Outcome) {
    publish_all(state, &out);
    if let Some(token) = out.token {
        if state.server.queue.at(0).is_some() {
            state.ghost.happened |= happened::HANDED_OVER;
        }
        state.ghost.token_fell |= token <= state.ghost.greatest;
        state.ghost.greatest = token.max(state.ghost.greatest);
        state.ghost.prompt = false;
        state.ghost.free_for = 0;
    }
    if out.repeated {
        state.ghost.happened |= happened::REPEAT_GRANTED;
    }
    if out.passed_on {
        state.ghost.happened |= happened::PASSED_ON;
    }
    for (_, process) in state.processes.iter().enumerate().filter(|(p, _)| out.dropped[*p]) {
        state.ghost.happened |= match (out.by_entry, out.by_deafness) {
            (true, _) => happened::ENTRY_DROPPED,
            (_, true) => happened::DEAF_DROPPED,
            _ => happened::PRUNED,
        };
        state.ghost.behind_dead = 0;
        state.ghost.dropped_live |= process.up == Up::Running && process.waiting > 0 && !state.ghost.disturbed;
        state.ghost.free_for = 0;
    }
    if !out.freed.is_empty() {
        state.ghost.prompt = all_are_told(state);
    }
}

fn publish_all(state: &mut State, out: &Outcome) {
    for (p, process) in state.processes.iter_mut().enumerate() {
        if process.up != Up::Crashed {
            process.inbox |= if process.listens { out.told[p] } else { 0 };
            if out.channel && process.subscribed {
                process.inbox |= message::CHANNEL;
            }
        }
    }
}

/// Whether a release can count on its message: everybody in the queue runs and waits, and nobody lost his place by a fault.
fn all_are_told(state: &State) -> bool {
    let queue = &state.server.queue;
    // A grant on its way to a process that is in the queue: late bytes put it there.
    let granted = |p: usize| state.processes[p].reply == Some(Reply::Granted);
    let live = |p: usize| properties::contends(&state.processes[p]) && !granted(p);
    let lost = |p: usize| {
        let process = &state.processes[p];
        properties::contends(process) && process.wire.is_none() && queue.rank(p).is_none()
    };
    let last_words = |p: &Process| p.up != Up::Running && p.wire.is_some();
    let place_lost = state.ghost.disturbed && (0..state.processes.len()).any(lost);
    if state.ghost.failed_over || place_lost || state.processes.iter().any(last_words) {
        return false;
    }
    (0..).map_while(|rank| queue.at(rank)).all(live)
}

/// Time passes, for all.
fn tick(config: &Config, state: &mut State) {
    let free = state.server.lock.is_empty() && state.processes.iter().any(properties::contends);
    state.ghost.free_for = if free { (state.ghost.free_for + 1).min(properties::WORST + 1) } else { 0 };
    state.ghost.overdue |= state.ghost.free_for > properties::bound(state);
    if server::tick(&mut state.server, config) {
        state.ghost.prompt = false;
    }
    let behind = (1..).map_while(|rank| Some((state.server.queue.at(rank - 1)?, state.server.queue.at(rank)?)));
    let gone = |p: usize| state.processes[p].up == Up::Crashed && state.server.silent[p] >= ENTRY_LIMIT;
    let behind_dead = behind.clone().any(|(front, p)| gone(front) && properties::contends(&state.processes[p]));
    state.ghost.behind_dead = if behind_dead { (state.ghost.behind_dead + 1).min(LONG + 1) } else { 0 };
    if let Some(replica) = &mut state.replica {
        server::tick(replica, config);
    }
    if config.rules.clock_tokens {
        state.ghost.greatest = -1;
    }
    for (_, request) in &mut state.stuck {
        if let Request::Acquire { left, .. } | Request::Cancel { left } = request {
            *left = left.saturating_sub(1);
        }
    }
    for p in 0..state.processes.len() {
        state.processes[p].asks = 0;
        client::tick(state, config, p);
    }
}
