//! Many requests in one write to each node that serves one of their slots, to all of these nodes at once.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use super::Cluster;
use super::routes::Place;
use crate::backend::Tried;
use crate::name::ObjectName;
use crate::step::Step;
use crate::time::Tick;

impl Cluster {
    /// See [`Backend::run_pipelined`](crate::backend::Backend::run_pipelined).
    pub(in crate::backend) async fn run_pipelined<S: Step>(
        &self,
        items: &[(&ObjectName, &S)],
        deadline: Tick,
        alone: Option<bool>,
    ) -> Vec<Tried<S::Reply>> {
        // The few nodes, each with its items: looking through them costs less than hashing.
        let mut nodes: Vec<(Place, Vec<usize>)> = Vec::new();
        for (at, (name, _)) in items.iter().enumerate() {
            let Some(place) = self.routes.place(name.slot()) else { continue };
            match nodes.iter_mut().find(|(other, _)| Arc::ptr_eq(&other.node, &place.node)) {
                Some((_, its_items)) => its_items.push(at),
                None => nodes.push((place, vec![at])),
            }
        }
        let mut tried: Vec<Tried<S::Reply>> = items.iter().map(|_| None).collect();
        let asked = nodes.iter().map(|(place, its_items)| async {
            let its_items: Vec<_> = its_items.iter().map(|&at| items[at]).collect();
            // A thread that blocks would ask one node after the other.
            place.node.server.run_pipelined(&its_items, deadline, alone, nodes.len() == 1).await
        });
        let answers = all(asked).await;
        for ((_, its_items), answers) in nodes.iter().zip(answers) {
            its_items.iter().zip(answers).for_each(|(&at, answer)| tried[at] = answer);
        }
        tried
    }
}

/// What each of these brings, in their order; they go on side by side.
async fn all<F: Future>(work: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut all: Vec<_> = work.map(|work| (Box::pin(work), None)).collect();
    poll_fn(|context| {
        let mut pending = false;
        for (work, done) in all.iter_mut().filter(|(_, done)| done.is_none()) {
            match work.as_mut().poll(context) {
                Poll::Ready(brought) => *done = Some(brought),
                Poll::Pending => pending = true,
            }
        }
        if pending { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    all.into_iter().filter_map(|(_, done)| done).collect()
}
