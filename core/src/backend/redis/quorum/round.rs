//! One step, asked of several servers at once.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::Quorum;
use crate::backend::{Done, Failed};
use crate::name::ObjectName;
use crate::step::Step;
use crate::time::Tick;

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
    pub(crate) open: Vec<usize>,
    answers: mpsc::UnboundedReceiver<Answer<R>>,
}

impl<R: Send + 'static> Round<R> {
    pub(super) fn begin<S: Step<Reply = R>>(
        quorum: &Arc<Quorum>,
        name: &ObjectName,
        step: &S,
        servers: &[usize],
        deadline: Tick,
    ) -> Round<R> {
        let sent = quorum.clock.now();
        let deadline = deadline.min(sent.plus(quorum.response_timeout));
        let (answer, answers) = mpsc::unbounded_channel();
        for number in servers.iter().copied() {
            let (quorum, name, step, answer) = (quorum.clone(), name.clone(), step.clone(), answer.clone());
            let tasks = quorum.tasks.clone();
            tasks.spawn_operation(async move {
                let server = &quorum.servers[number];
                let outcome = match server.is_connected() {
                    true => server.run_while_there(&name, &step, deadline, true).await,
                    // Nothing was sent, and nothing can arrive.
                    false => {
                        let why = server.why_down();
                        let error = why.unwrap_or_else(|| server.target_error(S::OP, "is not connected yet"));
                        Err(Failed { error: error.renamed(S::OP), echo_until: None, away: true })
                    }
                };
                let counts = quorum.counts(server);
                let _ = answer.send(Answer { server: number, counts, outcome });
            });
        }
        Round { sent, open: servers.to_vec(), answers }
    }

    /// The next answer; `None` when all have come. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Answer<R>> {
        let answer = self.answers.recv().await?;
        self.open.retain(|server| *server != answer.server);
        Some(answer)
    }
}
