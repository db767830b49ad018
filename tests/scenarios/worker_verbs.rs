//! The verbs of worker numbers.

use std::collections::HashMap;

use libdlock::id::{Layout, WorkerOptions};
use libdlock::{Result, Worker};

use crate::ids_verbs::Generators;
use crate::step::{Clients, Step, Values};

/// The numbers of a scenario.
#[derive(Default)]
pub(crate) struct Workers(HashMap<String, Worker>);

impl Workers {
    /// What the step answers; none if its verb is another's.
    pub(crate) async fn run(
        &mut self,
        generators: &mut Generators,
        clients: &Clients,
        step: &Step<'_>,
    ) -> Result<Option<Values>> {
        let nothing = Values::default;
        Ok(Some(match step.verb {
            "lease" => {
                let mut options = WorkerOptions::default();
                if step.given("bits").is_some() {
                    options = options.bits(u32::try_from(step.count("bits")).expect("bits"));
                }
                if let Some(lease) = step.millis("lease_ms") {
                    options = options.lease(lease);
                }
                let worker = step.client(clients).worker_with(step.objects[1], options).await?;
                let answer = nothing().add("number", worker.number()).add("valid", worker.is_valid());
                self.0.insert(step.objects[2].to_owned(), worker);
                answer
            }
            "leased" => nothing().add("valid", self.named(step).is_valid()),
            "generator_of" => {
                let layout = Layout::named(step.options.get("layout").unwrap_or(&"default"))?;
                generators.insert(step.objects[1], self.named(step).snowflake(layout)?);
                nothing()
            }
            "give_back" => {
                self.named(step).release().await?;
                nothing()
            }
            "counted_numbers" => {
                let counted = step.client(clients).stats().worker;
                nothing()
                    .add("acquired", counted.acquired)
                    .add("refused", counted.refused)
                    .add("lost", counted.lost)
                    .add("released", counted.released)
                    .add("held", counted.held)
                    .add("waits", counted.wait_time.count())
                    .add("holds", counted.hold_time.count())
            }
            _ => return Ok(None),
        }))
    }

    fn named(&self, step: &Step<'_>) -> &Worker {
        &self.0[step.objects[0]]
    }
}
