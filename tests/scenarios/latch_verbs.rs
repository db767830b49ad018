//! The verbs of latches.

use std::collections::HashMap;

use libdlock::{Latch, Result, Wait};
use tokio::task::JoinHandle;

use crate::step::{Clients, Step, Values};

/// The latches of a scenario, and those that wait for one beside the steps.
#[derive(Default)]
pub(crate) struct Latches {
    latches: HashMap<String, Latch>,
    waits: HashMap<String, JoinHandle<Result<bool>>>,
}

impl Latches {
    /// What the step answers; none if its verb is another's.
    pub(crate) async fn run(&mut self, clients: &Clients, step: &Step<'_>) -> Result<Option<Values>> {
        let nothing = Values::default;
        let wait = || step.millis("wait_ms").map_or(Wait::Forever, Wait::For);
        Ok(Some(match step.verb {
            "latch" => {
                let latch = step.client(clients).latch(step.objects[1])?;
                self.latches.insert(step.objects[2].to_owned(), latch);
                nothing()
            }
            "set_count" => nothing().add("set", self.named(step).try_set_count(step.count("count")).await?),
            "count_down" => nothing().add("left", self.count_down(step).await?),
            "count" => nothing().add("count", self.named(step).count().await?),
            "wait" => nothing().add("opened", self.named(step).wait_for(wait()).await?),
            "begin_wait" => {
                let (latch, wait) = (self.named(step).clone(), wait());
                let waits = tokio::spawn(async move { latch.wait_for(wait).await });
                self.waits.insert(step.objects[1].to_owned(), waits);
                nothing()
            }
            "end_wait" => {
                let waits = self.waits.remove(step.objects[0]).expect("a wait");
                nothing().add("opened", waits.await.expect("no panic")?)
            }
            "remove_latch" => nothing().add("removed", self.named(step).delete().await?),
            "counted_latches" => {
                let counted = step.client(clients).stats().latch;
                nothing()
                    .add("counted_down", counted.counted_down)
                    .add("opened", counted.opened)
                    .add("wait_timeouts", counted.wait_timeouts)
                    .add("waiting", counted.waiting)
                    .add("waits", counted.wait_time.count())
            }
            _ => return Ok(None),
        }))
    }

    async fn count_down(&self, step: &Step<'_>) -> Result<u64> {
        match step.given("by") {
            None => self.named(step).count_down().await,
            Some(_) => self.named(step).count_down_by(step.count("by")).await,
        }
    }

    fn named(&self, step: &Step<'_>) -> &Latch {
        &self.latches[step.objects[0]]
    }
}
