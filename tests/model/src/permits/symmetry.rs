//! Which of the processes is called 0 makes no difference: of all states that differ only in that, the checker need visit one.

use stateright::Representative;

use super::keys::{Grant, Grants, MAX, Owner, Server};
use super::state::State;
use crate::state::Queue;

impl Representative for State {
    /// The same state with its processes in the order of the queue, then of what they do.
    fn representative(&self) -> State {
        let mut order: Vec<usize> = (0..self.processes.len()).collect();
        let key = |p: &usize| {
            let keys = &self.server;
            (keys.queue.rank(*p).unwrap_or(MAX), keys.silent[*p], keys.deaf[*p], &self.processes[*p])
        };
        order.sort_by(|a, b| key(a).cmp(&key(b)));
        let mut new = [0; MAX];
        for (to, from) in order.iter().enumerate() {
            new[*from] = to;
        }
        let mut ghost = self.ghost;
        for (from, to) in new.iter().enumerate().take(order.len()) {
            ghost.free_for[*to] = self.ghost.free_for[from];
            ghost.unheard[*to] = self.ghost.unheard[from];
        }
        State {
            server: renamed(&self.server, &new),
            replica: self.replica.as_ref().map(|r| renamed(r, &new)),
            processes: order.iter().map(|p| self.processes[*p].clone()).collect(),
            stuck: self.stuck.iter().map(|(p, request)| (new[*p as usize] as u8, *request)).collect(),
            ghost,
            ..*self
        }
    }
}

/// The keys, with every process under its new number.
fn renamed(keys: &Server, new: &[usize; MAX]) -> Server {
    let mut grants = Grants::default();
    for grant in keys.grants.all() {
        let owner = grant.owner.attempt().map_or(grant.owner, |(p, attempt)| Owner::ours(new[p], attempt));
        grants.add(Grant { owner, ..*grant });
    }
    let mut queue = Queue::default();
    let (mut silent, mut deaf, mut wants) = ([0; MAX], [0; MAX], [0; MAX]);
    let mut told = [false; MAX];
    for p in keys.entries() {
        queue.join(new[p]);
        silent[new[p]] = keys.silent[p];
        deaf[new[p]] = keys.deaf[p];
        wants[new[p]] = keys.wants[p];
        told[new[p]] = keys.told[p];
    }
    Server { grants, queue, silent, deaf, told, wants, ..*keys }
}
