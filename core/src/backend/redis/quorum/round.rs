//! One request, asked of several servers at once.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::{Members, Quorum};
use crate::backend::redis::RedisBackend;
use crate::backend::{Done, Failed};
use crate::task::UnderWay;
use crate::time::{Clock, Tick};

/// What came of a request to one server.
pub(crate) struct Answer<R> {
    pub(crate) server: usize,
    /// What it grants counts.
    pub(crate) counts: bool,
    pub(crate) outcome: Result<Done<R>, Failed>,
}

/// The answers that are still to come. Whoever drops it gives them up: the requests are carried out nevertheless.
pub(crate) struct Round<R> {
    /// When the first request was sent, or before.
    pub(crate) sent: Tick,
    /// The servers whose answers are missing.
    pub(crate) open: Members,
    answers: mpsc::UnboundedReceiver<Answer<R>>,
    clock: Clock,
}

impl<R: Send + 'static> Round<R> {
    /// Has each of these servers do some `work`, all at once. Closing the client waits until that drops what says so.
    pub(super) fn begin<F>(
        quorum: &Arc<Quorum>,
        members: Members,
        work: impl Fn(usize, Arc<RedisBackend>, UnderWay) -> F,
    ) -> Round<R>
    where
        F: Future<Output = Result<Done<R>, Failed>> + Send + 'static,
    {
        let (answer, answers) = mpsc::unbounded_channel();
        let sent = quorum.clock.now();
        for number in members.numbers() {
            let (quorum, answer) = (quorum.clone(), answer.clone());
            let work = work(number, quorum.servers[number].clone(), quorum.tasks.under_way());
            // In a box: on its way into the runtime it is moved several times, and it is large.
            quorum.tasks.clone().spawn(Box::pin(async move {
                let outcome = work.await;
                let counts = quorum.counts(number);
                let _ = answer.send(Answer { server: number, counts, outcome });
            }));
        }
        Round { sent, open: members, answers, clock: quorum.clock.clone() }
    }

    /// The next answer; `None` when all have come. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Answer<R>> {
        let answer = self.answers.recv().await?;
        self.open.remove(answer.server);
        Some(answer)
    }

    /// Takes note of answers until `decided`, which learns how many are missing, or until all have come or `until` has passed.
    pub(crate) async fn read(&mut self, until: Tick, mut decided: impl FnMut(Answer<R>, usize) -> bool) {
        let clock = self.clock.clone();
        let mut over = pin!(clock.sleep_until(until));
        loop {
            tokio::select! {
                biased;
                answer = self.next() => {
                    let Some(answer) = answer else { return };
                    if decided(answer, self.open.len()) {
                        return;
                    }
                }
                () = &mut over => return,
            }
        }
    }

    /// Until when the answers of other servers, which can take no longer, are worth waiting for: as long again as it took so far.
    pub(crate) fn soon(&self) -> Tick {
        let now = self.clock.now();
        now.plus(now.since(self.sent).max(Duration::from_millis(1)))
    }
}
