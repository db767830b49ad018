//! The model: which events can come next, and what each does.

use stateright::{Model, Property};

use super::config::Config;
use super::faults;
use super::keys::{MAX, Owner, Server};
use super::queue::Outcome;
use super::server::{self, Acquire};
use super::state::{Phase, Process, Reply, Request, State, happened};
use super::{client, properties};
use crate::config::{ENTRY_LIMIT, LONG, MAY_BARGE};
use crate::faults::Fault;
use crate::state::{Debt, Up, message};

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Action {
    /// A caller comes, gives up, or releases; a writer becomes a reader.
    Arrive(usize),
    GiveUp(usize, usize),
    Release(usize, usize),
    Downgrade(usize, usize),
    /// The server carries out a request; its reply arrives.
    CarryOut(usize),
    Answer(usize),
    /// A message arrives.
    Message(usize, u8),
    LateMessage(usize, u8),
    /// A timer fires; a debt is due; a process that was stopped sees that a hold is over.
    Fire(usize),
    Settle(usize, usize),
    Lose(usize, usize),
    /// A request arrives from a dead connection.
    LateBytes(usize),
    /// A non-blocking attempt, of a client that never waits or of a process; its permits come back.
    Try,
    OwnTry(usize),
    TryRelease(Owner),
    ForeignTake,
    ForeignRelease(Owner),
    SetTotal,
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
            if process.up == Up::Running {
                callers(self, state, p, process, actions);
            }
        }
        actions.extend((0..state.stuck.len()).map(Action::LateBytes));
        others(self, state, actions);
        faults::possible(state, self, |fault| actions.push(Action::Fault(fault)));
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        let out = self.step(&mut state, action)?;
        if let Some(out) = out {
            publish(&mut state, out);
        }
        if state.ghost.free_for != [0; MAX] {
            let still = properties::admissible(&state, true);
            (0..MAX).filter(|p| !still.contains(p)).for_each(|p| state.ghost.free_for[p] = 0);
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

impl Config {
    /// What an event does; what its script published, unless that is known already.
    fn step(&self, state: &mut State, action: Action) -> Option<Option<Outcome>> {
        let mut out = None;
        match action {
            Action::Arrive(p) => client::arrive(state, p),
            Action::GiveUp(p, caller) => {
                state.cancels -= 1;
                client::give_up(state, self, p, caller);
            }
            Action::Release(p, hold) => out = Some(client::release(state, self, p, hold)),
            Action::Downgrade(p, hold) => {
                state.downgrades -= 1;
                let kept = client::downgrade(state, self, p, hold);
                if kept.told != [0; MAX] {
                    state.ghost.happened |= happened::DOWNGRADED;
                }
                out = Some(kept);
            }
            Action::CarryOut(p) => {
                let request = state.processes[p].wire.take()?;
                let reply = carry_out(self, state, p, request);
                if state.processes[p].up != Up::Crashed {
                    state.processes[p].reply = Some(reply);
                }
            }
            Action::Answer(p) => {
                let reply = state.processes[p].reply.take()?;
                out = client::answered(state, self, p, reply);
            }
            Action::Message(p, what) => {
                state.processes[p].inbox &= !what;
                out = client::notified(state, self, p, what);
            }
            Action::LateMessage(p, what) => {
                state.processes[p].late &= !what;
                out = client::notified(state, self, p, what);
            }
            Action::Fire(p) => client::ask(state, p),
            Action::Settle(p, debt) => out = client::settle(state, self, p, debt),
            Action::Lose(p, hold) => client::lose(state, p, hold),
            Action::LateBytes(i) => {
                let (p, request) = state.stuck.remove(i);
                late(self, state, p as usize, request);
            }
            Action::Try => {
                let want = self.tries[state.tries as usize];
                state.tries += 1;
                attempt(self, state, None, want);
            }
            Action::OwnTry(p) => {
                let want = self.own_tries[state.own_tries as usize];
                state.own_tries += 1;
                attempt(self, state, Some(p), want);
            }
            Action::TryRelease(owner) => {
                let mut released = Outcome::new(state.not_heard());
                let permits = state.server.grants.find(owner)?.permits;
                server::release(&mut state.server, self, owner, permits, &mut released);
                out = Some(released);
            }
            Action::ForeignTake => {
                state.foreign -= 1;
                server::foreign_take(&mut state.server, self, Owner::foreign(state.foreign));
            }
            Action::ForeignRelease(owner) => {
                state.ghost.prompt = false;
                state.ghost.told = false;
                server::foreign_release(&mut state.server, owner);
            }
            Action::SetTotal => {
                let total = self.totals[state.totals as usize];
                state.totals += 1;
                state.ghost.total = total;
                let mut set = Outcome::new(state.not_heard());
                server::set_total(&mut state.server, self, total, &mut set);
                if state.server.available < 0 {
                    state.ghost.happened |= happened::OVER_TOTAL;
                }
                out = Some(set);
            }
            Action::Fault(fault) => faults::happen(state, self, fault),
            Action::Tick => tick(self, state),
        }
        Some(out)
    }
}

/// What the callers of a process that runs may do.
fn callers(config: &Config, state: &State, p: usize, process: &Process, actions: &mut Vec<Action>) {
    if !process.to_come.is_empty() {
        actions.push(Action::Arrive(p));
    }
    if state.cancels > 0 {
        actions.extend((0..process.line.len()).map(|caller| Action::GiveUp(p, caller)));
    }
    // Also when it is no longer valid: the process may have stopped between its check and its release.
    actions.extend((0..process.holds.len()).map(|hold| Action::Release(p, hold)));
    if state.downgrades > 0 {
        let all = (0..process.holds.len()).filter(|hold| process.holds[*hold].permits == config.total);
        actions.extend(all.map(|hold| Action::Downgrade(p, hold)));
    }
    if (state.own_tries as usize) < config.own_tries.len() {
        actions.push(Action::OwnTry(p));
    }
    actions.extend(message::ALL.iter().filter(|m| process.late & *m != 0).map(|m| Action::LateMessage(p, *m)));
}

/// What others may do at any time.
fn others(config: &Config, state: &State, actions: &mut Vec<Action>) {
    if (state.tries as usize) < config.tries.len() {
        actions.push(Action::Try);
    }
    if state.foreign > 0 && state.server.available > 0 {
        actions.push(Action::ForeignTake);
    }
    if (state.totals as usize) < config.totals.len() {
        actions.push(Action::SetTotal);
    }
    for grant in state.server.grants.all().iter().filter(|g| g.owner.attempt().is_none()) {
        let foreign = grant.owner.is_foreign();
        actions.push(if foreign { Action::ForeignRelease(grant.owner) } else { Action::TryRelease(grant.owner) });
    }
}

/// A non-blocking attempt. Its request takes no time here: what can happen to one under way is seen with those that wait.
fn attempt(config: &Config, state: &mut State, process: Option<usize>, want: u8) {
    let (mut out, before) = (Outcome::new(state.not_heard()), state.server);
    let owner = Owner::trier(state.tries + state.own_tries);
    let ask = Acquire { process, owner, want, waits: false, too_late: false };
    let reply = server::acquire(&mut state.server, config, &ask, &mut out);
    let queue = &state.server.queue;
    if reply == Reply::Granted && queue.at(0).is_some() {
        state.ghost.happened |= if out.jumped { happened::BARGED } else { happened::TRY_BESIDE };
        // What stood in front of it then: entries that it dropped were not jumped.
        let in_front: i8 = state.server.entries().map(|p| before.wants[p] as i8).sum();
        if in_front > state.server.available {
            let same = queue.at(0) == before.queue.at(0);
            let jumps = if same { state.ghost.overtaken } else { 0 };
            state.ghost.overtaken = (jumps + 1).min(MAY_BARGE + 1);
        }
    } else if reply != Reply::Granted && want as i8 <= state.server.available {
        state.ghost.happened |= happened::TRY_REFUSED;
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
        if matches!(process.phase, Phase::Sleeping { timer: 0, .. }) {
            actions.push(Action::Fire(p));
        }
        let over = (0..process.holds.len()).filter(|hold| process.holds[*hold].valid == 0);
        actions.extend(over.map(|hold| Action::Lose(p, hold)));
        // Not while a request is in flight: bytes of the earlier one may have been carried out after it. Nor while the hold of
        // the attempt lasts, which may end before its permits expire: it is valid from when the first request was sent.
        let rests = matches!(process.phase, Phase::Idle | Phase::Sleeping { .. });
        let settled = |debt: &Debt| rests && !process.holds.iter().any(|h| debt.attempt == Some(h.attempt));
        let due = |(i, debt): (usize, &Debt)| {
            (debt.due == 0 && (settled(debt) || !config.rules.clean_up_waits)).then_some(Action::Settle(p, i))
        };
        actions.extend(process.debts.iter().enumerate().filter_map(due));
    }
}

/// The server carries out a request.
fn carry_out(config: &Config, state: &mut State, p: usize, request: Request) -> Reply {
    let before = state.server;
    let mut out = Outcome::new(state.not_heard());
    let keys = &mut state.server;
    let reply = match request {
        Request::Acquire { attempt, want, left } => {
            let owner = Owner::ours(p, attempt);
            let ask = Acquire { process: Some(p), owner, want, waits: true, too_late: left == 0 };
            server::acquire(keys, config, &ask, &mut out)
        }
        Request::Cancel { left } => server::cancel(keys, config, p, left == 0, &mut out),
        Request::Subscribe => {
            let process = &mut state.processes[p];
            process.listens = process.up != Up::Crashed;
            Reply::Subscribed
        }
    };
    if let Request::Acquire { attempt, want, .. } = request {
        if config.count_asks {
            let asks = &mut state.processes[p].asks;
            *asks = (*asks + 1).min(properties::ASKS + 1);
        }
        if before.grants.has(Owner::ours(p, attempt)) && reply != Reply::TooLate {
            let sums = |s: &Server| (s.available, s.grants.taken(), s.queue, s.wants);
            state.ghost.repeat_changed |= reply != Reply::Granted || sums(&before) != sums(&state.server);
        } else if reply == Reply::Granted {
            let room = before.available + out.reclaimed as i8;
            state.ghost.order_broken |= properties::needed_in_front(state, &before, &out, p) + want as i8 > room;
        } else if matches!(reply, Reply::Busy { .. }) && want as i8 <= state.server.available {
            state.ghost.happened |= happened::HELD_BACK;
        }
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
    if queued && state.server.queue.rank(p).is_none() {
        if matches!(request, Request::Cancel { .. }) {
            now |= happened::LATE_CANCEL;
        }
        state.ghost.disturbed = true;
    }
    state.ghost.happened = was.happened | now;
    state.ghost.prompt = false;
    state.ghost.told = false;
    state.ghost.free_for = [0; MAX];
}

/// What a script did becomes known: to the processes by messages, to the properties at once.
fn publish(state: &mut State, out: Outcome) {
    for (p, process) in state.processes.iter_mut().enumerate() {
        if process.listens {
            process.inbox |= out.told[p];
        }
    }
    let told = out.told.iter().filter(|told| *told & message::FREE != 0).count();
    let ghost = &mut state.ghost;
    ghost.overdrawn |= out.granted.is_some() && state.server.grants.taken() > ghost.total;
    let mut saw = |it: bool, what: u32| ghost.happened |= if it { what } else { 0 };
    saw(told > 1, happened::TOLD_TOGETHER);
    saw(out.granted.is_some() && out.rank > 0, happened::ADMITTED_BEHIND);
    saw(out.reclaimed > 0, happened::RECLAIMED);
    saw(out.reclaimed > 0 && told > 0, happened::RECLAIM_WOKE);
    saw(out.smaller && told > 0, happened::SMALLER);
    saw(out.repeated, happened::REPEAT_GRANTED);
    saw(out.passed_on, happened::PASSED_ON);
    saw(out.by_entry, happened::ENTRY_DROPPED);
    saw(out.by_deafness, happened::DEAF_DROPPED);
    saw(out.drops() && !out.by_entry && !out.by_deafness, happened::PRUNED);
    for p in (0..state.processes.len()).filter(|p| out.dropped[*p]) {
        ghost.behind_dead = 0;
        ghost.dropped_live |= state.processes[p].contends() && !ghost.disturbed;
        if !ghost.told {
            ghost.free_for = [0; MAX];
        }
    }
    if let Some((p, _)) = out.granted.and_then(|g| g.owner.attempt()) {
        ghost.free_for[p] = 0;
    }
    for p in 0..MAX {
        state.ghost.unheard[p] &= state.server.told[p];
    }
    if out.made_room {
        state.ghost.prompt = all_are_told(state);
        let told = !state.ghost.missed && live_are_told(state);
        if told && !state.ghost.told {
            state.ghost.free_for = [0; MAX];
        }
        state.ghost.told = told;
    }
}

/// Whether room that was made can count on its messages: everybody in the queue runs and waits, and the following.
fn all_are_told(state: &State) -> bool {
    // A grant on its way to a process that is in the queue: late bytes put it there.
    let granted = |p: usize| state.processes[p].reply == Some(Reply::Granted);
    live_are_told(state) && state.server.entries().all(|p| state.processes[p].contends() && !granted(p))
}

/// Nobody is stopped, nobody lost its place by a fault, no bytes of a dead process are under way, and nobody has to see to an
/// unanswered request.
fn live_are_told(state: &State) -> bool {
    let engaged = |p: &Process| p.up == Up::Running && p.phase != Phase::Idle && p.wire.is_none();
    let lost = |p: &Process, at: usize| engaged(p) && state.server.queue.rank(at).is_none();
    let lost_place = state.ghost.disturbed && state.processes.iter().enumerate().any(|(at, p)| lost(p, at));
    let last_words = |p: &Process| p.up != Up::Running && p.wire.is_some();
    let unsettled = |p: &Process| p.up == Up::Paused || last_words(p) || !p.debts.is_empty();
    let unheard = state.server.entries().any(|p| state.ghost.unheard[p]);
    !state.ghost.failed_over && !lost_place && !unheard && !state.processes.iter().any(unsettled)
}

/// Time passes, for all.
fn tick(config: &Config, state: &mut State) {
    let mut free_for = [0; MAX];
    for p in properties::admissible(state, true) {
        free_for[p] = (state.ghost.free_for[p] + 1).min(properties::WORST + 1);
        state.ghost.overdue |= free_for[p] > properties::bound(state);
    }
    state.ghost.free_for = free_for;
    if server::tick(&mut state.server, config) {
        state.ghost.prompt = false;
        state.ghost.told = false;
    }
    let queue = state.server.queue;
    let behind = (1..).map_while(|rank| Some((queue.at(rank - 1)?, queue.at(rank)?)));
    let gone = |p: usize| state.processes[p].up == Up::Crashed && state.server.silent[p] >= ENTRY_LIMIT;
    let behind_dead = behind.clone().any(|(front, p)| gone(front) && state.processes[p].contends());
    state.ghost.behind_dead = if behind_dead { (state.ghost.behind_dead + 1).min(LONG + 1) } else { 0 };
    if let Some(replica) = &mut state.replica {
        server::tick(replica, config);
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
