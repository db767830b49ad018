//! The verbs of id generators.

use std::collections::HashMap;

use libdlock::id_generator::IdGeneratorOptions;
use libdlock::{IdGenerator, Result};

use crate::step::{Clients, Step, Values};

/// The id generators of a scenario.
#[derive(Default)]
pub(crate) struct IdGenerators(HashMap<String, IdGenerator>);

impl IdGenerators {
    /// What the step answers; none if its verb is another's.
    pub(crate) async fn run(&mut self, clients: &Clients, step: &Step<'_>) -> Result<Option<Values>> {
        let nothing = Values::default;
        Ok(Some(match step.verb {
            "id_generator" => {
                let mut options = IdGeneratorOptions::default();
                options.block = step.given("block").map_or(options.block, i64::cast_unsigned);
                options.start = step.given("start").unwrap_or(options.start);
                let ids = step.client(clients).id_generator_with(step.objects[1], options)?;
                self.0.insert(step.objects[2].to_owned(), ids);
                nothing()
            }
            "next_id" => nothing().add("id", self.named(step).next_id().await?),
            "next_ids" => {
                let count = usize::try_from(step.count("count")).expect("a number of ids");
                let made = self.named(step).next_ids(count).await?;
                assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
                nothing().add("first", made[0]).add("last", made[made.len() - 1]).add("count", made.len())
            }
            "block_size" => nothing().add("size", self.named(step).block_size()),
            _ => return Ok(None),
        }))
    }

    fn named(&self, step: &Step<'_>) -> &IdGenerator {
        &self.0[step.objects[0]]
    }
}
