//! The verbs of counting semaphores.

use std::collections::HashMap;

use libdlock::{CountingSemaphore, ErrorKind, Result, Wait};
use tokio::task::JoinHandle;

use crate::step::{Clients, Step, Values};

/// The counting semaphores of a scenario, and those that wait for permits beside the steps.
#[derive(Default)]
pub(crate) struct CountingSemaphores {
    semaphores: HashMap<String, CountingSemaphore>,
    takes: HashMap<String, JoinHandle<Result<bool>>>,
}

impl CountingSemaphores {
    /// What the step answers; none if its verb is another's.
    pub(crate) async fn run(&mut self, clients: &Clients, step: &Step<'_>) -> Result<Option<Values>> {
        let nothing = Values::default;
        Ok(Some(match step.verb {
            "counting" => {
                let semaphore = step.client(clients).counting_semaphore(step.objects[1])?;
                self.semaphores.insert(step.objects[2].to_owned(), semaphore);
                nothing()
            }
            "make_permits" => nothing().add("made", self.named(step).try_set_permits(permits(step)).await?),
            "take_permits" => nothing().add("taken", taken(self.named(step).clone(), permits(step), wait(step)).await?),
            "begin_take" => {
                let takes = tokio::spawn(taken(self.named(step).clone(), permits(step), wait(step)));
                self.takes.insert(step.objects[1].to_owned(), takes);
                nothing()
            }
            "end_take" => {
                let takes = self.takes.remove(step.objects[0]).expect("a take");
                nothing().add("taken", takes.await.expect("no panic")?)
            }
            "give" => {
                self.give(step).await?;
                nothing()
            }
            "add_permits" => {
                let permits = step.number("permits").try_into().expect("a signed number of 32 bits");
                self.named(step).add_permits(permits).await?;
                nothing()
            }
            "drain" => nothing().add("drained", self.named(step).drain().await?),
            "inspect_counting" => {
                let seen = self.named(step).inspect().await?;
                nothing().add("exists", seen.exists).add("available", seen.available).add("queued", seen.queued)
            }
            "counted_takes" => {
                let counted = step.client(clients).stats().counting_semaphore;
                nothing()
                    .add("acquired", counted.acquired)
                    .add("contended", counted.contended)
                    .add("wait_timeouts", counted.wait_timeouts)
                    .add("released", counted.released)
                    .add("waiting", counted.waiting)
                    .add("waits", counted.wait_time.count())
            }
            _ => return Ok(None),
        }))
    }

    async fn give(&self, step: &Step<'_>) -> Result<()> {
        match step.given("permits") {
            None => self.named(step).release().await,
            Some(_) => self.named(step).release_many(permits(step)).await,
        }
    }

    fn named(&self, step: &Step<'_>) -> &CountingSemaphore {
        &self.semaphores[step.objects[0]]
    }
}

/// Whether they were acquired in time.
async fn taken(semaphore: CountingSemaphore, permits: u32, wait: Wait) -> Result<bool> {
    match semaphore.acquire_within(permits, wait).await {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::Busy => Ok(false),
        Err(error) => Err(error),
    }
}

fn wait(step: &Step<'_>) -> Wait {
    step.millis("wait_ms").map_or(Wait::Forever, Wait::For)
}

/// One, if the step names no number.
fn permits(step: &Step<'_>) -> u32 {
    step.given("permits").map_or(1, |permits| permits.try_into().expect("a number of 32 bits"))
}
