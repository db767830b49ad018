//! Acknowledgements of one queue that come at the same time share a request.
//!
//! Those of one [`ack_many`](super::Queue::ack_many) are asked for by the call itself. Of others the first starts a task that lets
//! those come that are about to, and asks for all. Nobody waits for a request that is under way: who comes meanwhile is the first
//! of the next one.

use std::mem::take;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::yield_now;

use super::QueueObject;
use super::step::{Ack, AckMany, MAX_TAKEN};
use crate::backend::{Done, Failed};
use crate::blocking;
use crate::contended::{MutexOrder, Ordered, Released};
use crate::ended::cut_off;
use crate::error::{Error, ErrorKind};
use crate::step::Step;

type Ended = Result<Done<Released>, Failed>;

/// Those that are to be asked for: the owners of their deliveries, and where each wants its answer.
pub(super) struct Acks {
    waiting: Ordered<Vec<(String, oneshot::Sender<Ended>)>>,
}

impl Default for Acks {
    fn default() -> Acks {
        Acks { waiting: Ordered::new(MutexOrder::Acks) }
    }
}

/// What asks for all that wait. Should it end before it has asked, they hear of it.
struct Asking(Option<Arc<QueueObject>>);

impl Drop for Asking {
    fn drop(&mut self) {
        drop(self.all());
    }
}

impl Asking {
    /// All that wait. Those that come from now on are asked for by another.
    fn all(&mut self) -> Vec<(String, oneshot::Sender<Ended>)> {
        self.0.take().map_or_else(Vec::new, |queue| take(&mut *queue.primitive().acks.waiting.lock()))
    }
}

/// Ends the delivery of this owner. `alone`: this process has no other delivery of the queue.
pub(super) async fn ack(queue: &Arc<QueueObject>, owner: String, alone: bool) -> Ended {
    let client = queue.client();
    // A thread that may block makes its round trip itself.
    let acks = &queue.primitive().acks;
    if blocking::is_allowed() || alone && acks.waiting.lock().is_empty() {
        return client.operate(queue.name(), &Ack { owner }).await;
    }
    let (answer, answered) = oneshot::channel();
    let is_first = {
        let mut waiting = acks.waiting.lock();
        waiting.push((owner, answer));
        waiting.len() == 1
    };
    if is_first {
        // In a task: a caller that does not poll its acknowledgement holds up no other.
        let (queue, mut asking) = (queue.clone(), Asking(Some(queue.clone())));
        client.tasks.spawn_operation(async move {
            yield_now().await;
            let mut all = asking.all();
            // All at once: none waits for the answer to others.
            while all.len() > MAX_TAKEN {
                let (queue, some) = (queue.clone(), all.split_off(all.len() - MAX_TAKEN));
                queue.clone().client().tasks.spawn_operation(async move { send(&queue, some).await });
            }
            send(&queue, all).await;
        });
    }
    answered.await.unwrap_or_else(|_| Err(was_cut_off(queue)))
}

fn was_cut_off(queue: &QueueObject) -> Failed {
    let error = cut_off(Ack::OP, &queue.client().tasks, "the end of the hold");
    Failed { error, echo_until: None, away: false }
}

async fn send(queue: &QueueObject, some: Vec<(String, oneshot::Sender<Ended>)>) {
    let (owners, answers): (Vec<String>, Vec<_>) = some.into_iter().unzip();
    for (answer, ended) in answers.into_iter().zip(ask(queue, owners).await) {
        // One whose caller is gone is ended all the same.
        drop(answer.send(ended));
    }
}

/// Ends the deliveries of these owners, at most [`MAX_TAKEN`], by one request: what became of each.
async fn ask(queue: &QueueObject, owners: Vec<String>) -> Vec<Ended> {
    let count = owners.len();
    let done = queue.client().operate(queue.name(), &AckMany { owners }).await;
    let each = |at: usize| match &done {
        Ok(Done { reply, sent, echo_until, reached }) => match reply.get(at) {
            Some(&reply) => Ok(Done { reply, sent: *sent, echo_until: *echo_until, reached: *reached }),
            None => {
                let message = "the server acknowledged fewer deliveries than it was asked to";
                let error = Error::new(ErrorKind::Server, Ack::OP, message).on(queue.name().as_str());
                Err(Failed { error, echo_until: *echo_until, away: false })
            }
        },
        Err(failed) => Err(Failed { error: failed.error.clone(), echo_until: failed.echo_until, away: failed.away }),
    };
    (0..count).map(each).collect()
}

/// As [`ask`], of any number, by as few requests as can be. They are sent at once: else many would take as many times as long as one
/// when the server does not answer, and leases that nothing renews any more would run out meanwhile.
pub(super) async fn ack_all(queue: Arc<QueueObject>, owners: Vec<String>) -> Vec<Ended> {
    if owners.len() <= MAX_TAKEN {
        return ask(&queue, owners).await;
    }
    let asking = |some: &[String]| {
        let (runtime, queue, some) = (queue.client().tasks.runtime(), queue.clone(), some.to_vec());
        (some.len(), runtime.spawn(async move { ask(&queue, some).await }))
    };
    let asked: Vec<_> = owners.chunks(MAX_TAKEN).map(asking).collect();
    let mut ended = Vec::with_capacity(owners.len());
    for (count, asked) in asked {
        ended.extend(asked.await.unwrap_or_else(|_| (0..count).map(|_| Err(was_cut_off(&queue))).collect()));
    }
    ended
}
