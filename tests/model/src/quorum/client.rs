//! What a client does in each of its rounds.

use super::config::{Config, LEASE, MOST, NOT_AFTER, POLL, SOON};
use super::state::{Answer, Ask, Client, Debt, Late, Owner, Phase, Slot, State, happened};

/// What a client can do next about its round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Answers are missing that decide.
    Wait,
    /// Enough servers have granted it.
    Granted,
    /// They cannot any more, or every server has answered a release.
    Over,
}

/// A caller comes, or tries again: all servers are asked at once.
pub fn begin(state: &mut State, config: &Config, c: usize) {
    let others = state.clients.iter().enumerate().any(|(other, client)| other != c && client.phase != Phase::Idle);
    let quiet = state.late.is_empty() && state.servers.iter().all(|server| server.owner.is_none());
    let open = state.majority_is_free();
    state.ghost.alone = (!others && quiet && open).then_some(c as u8);
    let client = &mut state.clients[c];
    client.attempts -= 1;
    client.attempt += 1;
    (client.since, client.token, client.told, client.overslept) = (0, -1, false, 0);
    (client.granted, client.unanswered, client.missed) = (0, 0, false);
    client.phase = Phase::Asking;
    ask(state, config, c, u8::MAX);
}

/// Sends the request of the client's phase to these servers. One that is down cannot be asked.
fn ask(state: &mut State, config: &Config, c: usize, servers: u8) {
    state.clients[c].age = 0;
    for s in 0..config.servers.len() {
        state.clients[c].slots[s] = match (servers & 1 << s != 0, state.servers[s].up) {
            (false, _) => Slot::Empty,
            (true, true) => Slot::Asked { slow: false },
            (true, false) => Slot::Unanswered,
        };
        let releases = matches!(state.clients[c].ask(), Ask::Release { .. });
        if servers & 1 << s != 0 && !state.servers[s].up && releases {
            owe(&mut state.clients[c], s, 0);
        }
    }
}

/// The request as it is under way.
pub fn request(client: &Client, c: usize, s: usize) -> Late {
    let owner = Owner { client: c as u8, attempt: client.attempt };
    Late { server: s as u8, owner, ask: client.ask(), token: client.token, age: client.age }
}

/// A server answers.
pub fn answered(state: &mut State, c: usize, s: usize, answer: Answer) {
    let client = &mut state.clients[c];
    client.slots[s] = Slot::Answered(answer);
    if matches!(client.ask(), Ask::Acquire | Ask::Renew) && matches!(answer, Answer::Granted { .. }) {
        client.granted |= 1 << s;
    }
}

/// No answer will come from a server. The request itself `may_arrive`.
pub fn unanswered(state: &mut State, config: &Config, c: usize, s: usize, may_arrive: bool) {
    if may_arrive && matches!(state.clients[c].slots[s], Slot::Asked { .. }) {
        let late = request(&state.clients[c], c, s);
        state.late.push(late);
        state.late.sort_unstable();
    }
    let client = &mut state.clients[c];
    client.slots[s] = Slot::Unanswered;
    match client.ask() {
        Ask::Acquire | Ask::Renew => {
            client.unanswered |= 1 << s;
            if config.rules.releases_again {
                let due = (NOT_AFTER + 1).saturating_sub(client.age);
                owe(client, s, due);
            }
        }
        Ask::Release { .. } => owe(client, s, 0),
        Ask::Raise => {}
    }
}

fn owe(client: &mut Client, s: usize, due: u8) {
    let (server, attempt) = (s as u8, client.attempt);
    match client.debts.iter_mut().find(|debt| debt.server == server && debt.attempt == attempt) {
        Some(debt) => debt.due = debt.due.max(due),
        None => client.debts.push(Debt { server, attempt, due }),
    }
    client.debts.sort_unstable();
}

/// Ends a round: no answer is waited for any longer.
fn close(state: &mut State, config: &Config, c: usize) {
    for s in 0..config.servers.len() {
        if state.clients[c].slots[s].is_open() {
            unanswered(state, config, c, s, true);
        }
    }
}

/// What the answers of a round say so far. A client decides once everything that comes without a fault has come.
pub fn verdict(client: &Client, config: &Config) -> Verdict {
    if client.slots.contains(&Slot::Asked { slow: false }) {
        return Verdict::Wait;
    }
    let counting = client.slots.iter().filter(|slot| slot.counts()).count();
    let open = client.slots.iter().filter(|slot| slot.is_open()).count();
    let needed = match client.phase {
        Phase::Asking if !config.rules.majority_is_enough => config.servers.len(),
        Phase::Raising if !config.rules.writes_back_to_a_majority => 1,
        Phase::Asking | Phase::Raising | Phase::Holding { renews: true } => config.majority(),
        Phase::Undoing { .. } => return Verdict::Over,
        Phase::Idle | Phase::Sleeping { .. } | Phase::Holding { renews: false } => return Verdict::Wait,
    };
    match () {
        () if counting >= needed => Verdict::Granted,
        () if counting + open < needed => Verdict::Over,
        () => Verdict::Wait,
    }
}

/// Acts on the verdict.
pub fn decide(state: &mut State, config: &Config, c: usize) {
    let verdict = verdict(&state.clients[c], config);
    match (state.clients[c].phase, verdict) {
        (Phase::Asking, Verdict::Granted) => granted(state, config, c),
        (Phase::Raising, Verdict::Granted) => give_out(state, config, c),
        (Phase::Holding { .. }, Verdict::Granted) => renewed(state, config, c),
        (Phase::Holding { .. }, _) => not_renewed(state, config, c),
        (Phase::Undoing { again_in, .. }, _) => undone(state, config, c, again_in),
        _ => undo(state, config, c, true),
    }
}

/// The first round succeeded.
fn granted(state: &mut State, config: &Config, c: usize) {
    let tokens = state.clients[c].slots.iter().filter_map(|slot| match slot {
        Slot::Answered(Answer::Granted { token, .. }) => Some(*token),
        _ => None,
    });
    let token = if config.rules.takes_the_largest { tokens.max() } else { tokens.min() };
    close(state, config, c);
    let client = &mut state.clients[c];
    client.token = token.expect("a majority has granted");
    if client.slots.contains(&Slot::Answered(Answer::Granted { token: client.token, counts: false })) {
        state.ghost.happened |= happened::NOT_COUNTED;
    }
    client.phase = Phase::Raising;
    match config.rules.writes_back {
        true => {
            let servers = if config.rules.raises_for_the_owner { client.granted } else { u8::MAX };
            ask(state, config, c, servers);
        }
        false => give_out(state, config, c),
    }
}

/// The second round succeeded, and the caller gets its hold, if that is still valid.
fn give_out(state: &mut State, config: &Config, c: usize) {
    close(state, config, c);
    let client = &mut state.clients[c];
    if !config.rules.valid_from_first_send {
        client.since = 0;
    }
    if config.rules.checks_before_giving_out && client.since >= config.valid() {
        state.ghost.happened |= happened::TOO_LATE_TO_GIVE_OUT;
        return undo(state, config, c, true);
    }
    client.phase = Phase::Holding { renews: false };
    client.slots = [Slot::Empty; MOST];
    let (token, attempt) = (client.token, client.attempt);
    let ghost = &mut state.ghost;
    ghost.token_fell |= token <= ghost.greatest;
    ghost.greatest = ghost.greatest.max(token);
    ghost.latest = Some(Owner { client: c as u8, attempt });
    if state.servers.iter().any(|server| !server.up) {
        state.ghost.happened |= happened::MINORITY_DOWN;
    }
}

/// The holder renews.
pub fn renew(state: &mut State, config: &Config, c: usize) {
    state.renewals -= 1;
    state.clients[c].phase = Phase::Holding { renews: true };
    ask(state, config, c, u8::MAX);
}

fn renewed(state: &mut State, config: &Config, c: usize) {
    close(state, config, c);
    let client = &mut state.clients[c];
    client.phase = Phase::Holding { renews: false };
    client.slots = [Slot::Empty; MOST];
    if client.since < config.valid() || !config.rules.lost_is_lost {
        client.since = if config.rules.valid_from_first_send { client.age } else { 0 };
        state.ghost.happened |= happened::RENEWED;
    }
}

fn not_renewed(state: &mut State, config: &Config, c: usize) {
    let client = &state.clients[c];
    // It was refused in time by a server that is free.
    let free = |s: usize| client.age <= NOT_AFTER && state.servers[s].counts() && state.servers[s].owner.is_none();
    let could_grant = |(s, slot): (usize, &Slot)| slot.counts() || *slot == Slot::Answered(Answer::Refused) && free(s);
    let could = client.slots.iter().enumerate().filter(|slot| could_grant(*slot)).count();
    state.ghost.not_kept |= could >= config.majority() && client.since < config.valid();
    close(state, config, c);
    state.clients[c].phase = Phase::Holding { renews: false };
    state.clients[c].slots = [Slot::Empty; MOST];
}

/// Releases the attempt everywhere.
pub fn undo(state: &mut State, config: &Config, c: usize, refused: bool) {
    let split = !seems_held(&state.clients[c], config);
    close(state, config, c);
    if refused && state.ghost.alone == Some(c as u8) {
        state.ghost.refused_alone = true;
    }
    state.ghost.alone = None;
    let client = &mut state.clients[c];
    let (granted, unanswered) = (client.granted, client.unanswered);
    (client.granted, client.unanswered) = (0, 0);
    client.token = -1;
    let looked_held = (granted | unanswered).count_ones() as usize >= config.majority();
    let announces = !refused || looked_held && config.rules.announces_what_looked_held;
    let again_in = if split && config.rules.splits_are_short { SOON } else { POLL };
    client.phase = Phase::Undoing { announces, again_in: refused.then_some(again_in) };
    let granted = if config.rules.releases_what_was_granted { granted } else { 0 };
    let unanswered = if config.rules.releases_what_was_unanswered { unanswered } else { 0 };
    if !config.rules.releases_what_was_unanswered {
        let attempt = client.attempt;
        client.debts.retain(|debt| debt.attempt != attempt);
    }
    if refused && granted.count_ones() > 0 {
        state.ghost.happened |= happened::SPLIT;
    }
    ask(state, config, c, granted | unanswered);
}

/// Whether one other client was seen at a majority.
fn seems_held(client: &Client, config: &Config) -> bool {
    let at = |slot: &Slot| match slot {
        Slot::Answered(Answer::Busy(owner)) => Some(*owner),
        _ => None,
    };
    let fields = |owner: Owner| client.slots.iter().filter(|slot| at(slot) == Some(owner)).count();
    client.slots.iter().filter_map(at).any(|owner| fields(owner) >= config.majority())
}

fn undone(state: &mut State, config: &Config, c: usize, again_in: Option<u8>) {
    close(state, config, c);
    let client = &mut state.clients[c];
    let passed = if config.rules.timer_from_sending { client.since } else { 0 };
    client.slots = [Slot::Empty; MOST];
    let told = std::mem::take(&mut client.told);
    client.phase = match again_in {
        Some(timer) if client.attempts > 0 => Phase::Sleeping { timer: timer.saturating_sub(passed) },
        _ => Phase::Idle,
    };
    if matches!(client.phase, Phase::Sleeping { .. }) && told && config.rules.again {
        begin(state, config, c);
    }
}

/// The validity of a hold is over.
pub fn lose(state: &mut State, config: &Config, c: usize) {
    state.ghost.happened |= happened::HOLD_LOST;
    undo(state, config, c, false);
}

/// Whether a debt is to be settled now.
pub fn is_due(state: &State, config: &Config, c: usize, debt: Debt) -> bool {
    let client = &state.clients[c];
    let alive = client.is_engaged() && client.attempt == debt.attempt;
    debt.due == 0 && state.servers[debt.server as usize].up && !(alive && config.rules.releases_again_afterwards)
}

/// Time passes for a client.
pub fn tick(client: &mut Client, config: &Config, majority_is_free: bool) {
    let polls = config.rules.polls;
    if client.phase != Phase::Idle {
        client.age = (client.age + 1).min(LEASE);
        client.since = (client.since + 1).min(LEASE);
    }
    client.overslept = if client.sleeps() && majority_is_free { (client.overslept + 1).min(POLL + 1) } else { 0 };
    if let (Phase::Sleeping { timer }, true) = (&mut client.phase, polls) {
        *timer = timer.saturating_sub(1);
    }
    for debt in &mut client.debts {
        debt.due = debt.due.saturating_sub(1);
    }
}
