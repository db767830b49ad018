//! The verbs of ids. None of them waits.

use std::collections::HashMap;
use std::time::SystemTime;

use libdlock::id::{Layout, encode, parse};
use libdlock::{Result, Snowflake};

use crate::step::{Step, Values};

/// The generators of a scenario.
#[derive(Default)]
pub(crate) struct Generators(HashMap<String, Snowflake>);

impl Generators {
    /// A generator that another verb has made.
    pub(crate) fn insert(&mut self, name: &str, ids: Snowflake) {
        self.0.insert(name.to_owned(), ids);
    }

    /// What the step answers; none if its verb is another's.
    pub(crate) fn run(&mut self, step: &Step<'_>) -> Result<Option<Values>> {
        let nothing = Values::default;
        Ok(Some(match step.verb {
            "generator" => {
                let mut layout = Layout::named(step.options.get("layout").unwrap_or(&"default"))?;
                if let Some(begins_in_ms) = step.given("begins_in_ms") {
                    let now = SystemTime::UNIX_EPOCH.elapsed().expect("a clock after 1970").as_millis();
                    layout.epoch_ms = i64::try_from(now).expect("a time") + begins_in_ms;
                }
                let builder = Snowflake::builder(step.count("datacenter"), step.count("worker")).layout(layout);
                self.0.insert(step.objects[0].to_owned(), builder.build()?);
                nothing()
            }
            "ids" => {
                let count = usize::try_from(step.count("count")).expect("a count");
                let ids = self.0[step.objects[0]].next_ids(count)?;
                let increasing = ids.is_sorted_by(|id, next| id < next);
                nothing().add("first", ids[0]).add("last", ids[ids.len() - 1]).add("increasing", increasing)
            }
            "decode" => {
                let parts = self.0[step.objects[0]].decode(step.number("id"))?;
                nothing()
                    .add("datacenter", parts.datacenter)
                    .add("worker", parts.worker)
                    .add("sequence", parts.sequence)
            }
            "encode" => nothing().add("text", encode(step.number("id"), radix(step))?),
            "parse" => nothing().add("id", parse(step.options["text"], radix(step))?),
            _ => return Ok(None),
        }))
    }
}

fn radix(step: &Step<'_>) -> u32 {
    step.number("base").try_into().expect("a base")
}
