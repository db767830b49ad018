//! What is to happen when a certain command passes.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use super::{Shared, link::Link};

/// What a matching command meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It passes: for counting, and for waiting until it has come by.
    Pass,
    /// The connection is reset and the command never reaches the server.
    Refuse,
    /// The command reaches the server, and of what the server answers this many bytes pass; then the connection is
    /// reset. With 0 the server has done its work and the client does not know. "What the server answers" are the next
    /// bytes from the server on this connection: exact as long as no earlier reply is outstanding there.
    CutReply(usize),
    /// The command, and all after it on this connection, waits in the network until [`heal`](super::Proxy::heal).
    HoldRequest,
    /// The command reaches the server; from here on nothing comes back on this connection until
    /// [`heal`](super::Proxy::heal).
    HoldReply,
}

#[derive(Debug)]
struct Rule {
    id: u64,
    parts: Vec<Vec<u8>>,
    action: Action,
    times: u64,
    hits: u64,
    /// The connections on which it has fired.
    links: Vec<u64>,
}

impl Rule {
    fn matches(&self, command: &[&[u8]]) -> bool {
        // The text of a script names many commands: it counts for rules that say that they mean a script.
        let is_script = command.first().is_some_and(|name| name.eq_ignore_ascii_case(b"EVAL"))
            && !self.parts.iter().any(|part| part.eq_ignore_ascii_case(b"EVAL"));
        let words = || command.iter().enumerate().filter(|(at, _)| !(is_script && *at == 1)).map(|(_, arg)| arg);
        self.hits < self.times && self.parts.iter().all(|part| words().any(|arg| contains(arg, part)))
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}

/// All rules, in the order in which they were made: the first that matches counts.
#[derive(Debug, Default)]
pub(super) struct Rules {
    rules: Vec<Rule>,
    next_id: u64,
}

impl Rules {
    pub(super) fn add(&mut self, parts: &[&str], action: Action, times: u64) -> u64 {
        assert!(parts.iter().all(|p| !p.is_empty()), "an empty part matches everything; leave it out");
        let id = self.next_id;
        self.next_id += 1;
        let parts = parts.iter().map(|p| p.as_bytes().to_vec()).collect();
        self.rules.push(Rule { id, parts, action, times, hits: 0, links: Vec::new() });
        id
    }

    /// What this command on this connection meets; counts it.
    pub(super) fn meet(&mut self, link: u64, command: &[&[u8]]) -> Action {
        match self.rules.iter_mut().find(|rule| rule.matches(command)) {
            Some(rule) => {
                rule.hits += 1;
                rule.links.push(link);
                rule.action
            }
            None => Action::Pass,
        }
    }

    /// Rules no longer fire; what they counted stays readable.
    pub(super) fn clear(&mut self) {
        self.rules.iter_mut().for_each(|rule| rule.times = rule.hits);
    }

    fn get(&self, id: u64) -> &Rule {
        self.rules.iter().find(|rule| rule.id == id).expect("rules are never removed")
    }
}

/// A rule that was set, for asking how often it has fired. Dropping it changes nothing.
#[derive(Debug)]
pub struct Match {
    shared: Weak<Shared>,
    id: u64,
}

impl Match {
    pub(super) fn new(shared: &Arc<Shared>, id: u64) -> Self {
        Self { shared: Arc::downgrade(shared), id }
    }

    /// How many commands it has met.
    pub fn hits(&self) -> u64 {
        self.shared.upgrade().map_or(0, |shared| shared.state().rules.get(self.id).hits)
    }

    /// On how many connections it has met commands.
    pub fn connections(&self) -> usize {
        let Some(shared) = self.shared.upgrade() else { return 0 };
        let mut links = shared.state().rules.get(self.id).links.clone();
        links.sort_unstable();
        links.dedup();
        links.len()
    }

    /// Waits until it has met `count` commands; `false` when it has not within `bound`.
    pub fn wait_for(&self, count: u64, bound: Duration) -> bool {
        let Some(shared) = self.shared.upgrade() else { return false };
        let deadline = Instant::now() + bound;
        let mut state = shared.state();
        while state.rules.get(self.id).hits < count {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = shared.changed.wait_timeout(state, left).unwrap_or_else(|e| e.into_inner()).0;
        }
        true
    }

    /// Lets go on what it holds back, and nothing else: the connections on which it has fired.
    pub fn let_go(&self) {
        let Some(shared) = self.shared.upgrade() else { return };
        shared.change(|state| {
            for id in &state.rules.get(self.id).links {
                state.links.get_mut(id).into_iter().for_each(Link::heal);
            }
        });
    }

    /// Waits until it has fired once; panics when it has not within `bound`.
    #[track_caller]
    pub fn expect(&self, bound: Duration) {
        assert!(self.wait_for(1, bound), "no such command came by within {bound:?}");
    }
}
