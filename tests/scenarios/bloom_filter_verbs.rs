//! The verbs of Bloom filters.

use std::collections::HashMap;
use std::time::Duration;

use libdlock::bloom::BloomFilterOptions;
use libdlock::{BloomFilter, Result};

use crate::step::{Clients, Step, Values};

/// The Bloom filters of a scenario.
#[derive(Default)]
pub(crate) struct BloomFilters(HashMap<String, BloomFilter>);

impl BloomFilters {
    /// What the step answers; none if its verb is another's.
    pub(crate) async fn run(&mut self, clients: &Clients, step: &Step<'_>) -> Result<Option<Values>> {
        let nothing = Values::default;
        Ok(Some(match step.verb {
            "bloom_filter" => {
                let rate = step.options["rate"].parse().expect("a rate");
                // A number that Rust's types do not have is out of range, too.
                let expected = u64::try_from(step.given("expected").expect("expected items")).unwrap_or(0);
                let mut options = BloomFilterOptions::new(expected, rate);
                options.ttl = step.given("ttl_ms").map(|ms| Duration::from_millis(u64::try_from(ms).unwrap_or(0)));
                let filter = step.client(clients).bloom_filter_with(step.objects[1], options)?;
                self.0.insert(step.objects[2].to_owned(), filter);
                nothing()
            }
            "bloom_sizes" => {
                let filter = self.named(step);
                nothing().add("size", filter.size()).add("hashes", filter.hashes())
            }
            "bloom_add" => nothing().add("new", digits(&self.named(step).add(step.options["items"].split(',')).await?)),
            "bloom_contains" => {
                nothing().add("found", digits(&self.named(step).contains(step.options["items"].split(',')).await?))
            }
            "bloom_count" => {
                let rate = self.named(step).false_positive_rate().await?;
                let count = self.named(step).count().await?;
                nothing().add("count", count).add("rate", if rate < 0.001 { "low" } else { "high" })
            }
            "bloom_clear" => nothing().add("cleared", self.named(step).clear().await?),
            "bloom_gone" => {
                let mut gone = false;
                for _ in 0..10_000 {
                    gone = self.named(step).contains([step.options["item"]]).await? == [false];
                    if gone {
                        break;
                    }
                }
                nothing().add("gone", gone)
            }
            _ => return Ok(None),
        }))
    }

    fn named(&self, step: &Step<'_>) -> &BloomFilter {
        &self.0[step.objects[0]]
    }
}

fn digits(answers: &[bool]) -> String {
    answers.iter().map(|answer| if *answer { '1' } else { '0' }).collect()
}
