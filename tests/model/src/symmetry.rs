//! Which of the processes is called 0 makes no difference: of all states that differ only in that, the checker need visit one.

use stateright::Representative;

use crate::state::{Fields, MAX, Owner, Queue, Server, State};

impl Representative for State {
    /// The same state with its processes in the order of the queue, then of what they do.
    fn representative(&self) -> State {
        let mut order: Vec<usize> = (0..self.processes.len()).collect();
        let key = |p: &usize| {
            (
                self.server.queue.rank(*p).unwrap_or(MAX),
                self.server.silent[*p],
                self.server.deaf[*p],
                &self.processes[*p],
            )
        };
        order.sort_by(|a, b| key(a).cmp(&key(b)));
        let mut new = [0; MAX];
        for (to, from) in order.iter().enumerate() {
            new[*from] = to;
        }
        State {
            server: renamed(&self.server, &new),
            replica: self.replica.as_ref().map(|r| renamed(r, &new)),
            processes: order.iter().map(|p| self.processes[*p].clone()).collect(),
            stuck: self.stuck.iter().map(|(p, request)| (new[*p as usize] as u8, *request)).collect(),
            ..*self
        }
    }
}

/// The keys, with every process under its new number.
fn renamed(keys: &Server, new: &[usize; MAX]) -> Server {
    let mut lock = Fields::default();
    for owner in keys.lock.iter() {
        lock.set(owner.attempt().map_or(owner, |(p, attempt)| Owner::ours(new[p], attempt)));
    }
    let mut queue = Queue::default();
    let (mut silent, mut deaf) = ([0; MAX], [0; MAX]);
    for (p, rank) in (0..).map_while(|rank| keys.queue.at(rank).map(|p| (p, rank))) {
        queue.join(new[p]);
        silent[new[p]] = keys.silent[p];
        deaf[new[p]] = keys.deaf[p];
        debug_assert_eq!(queue.rank(new[p]), Some(rank));
    }
    Server { lock, queue, silent, deaf, ..*keys }
}
