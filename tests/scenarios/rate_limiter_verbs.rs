//! The verbs of rate limiters.

use std::collections::HashMap;
use std::time::Duration;

use libdlock::limit::{Absent, LimiterOptions};
use libdlock::{Decision, Rate, RateLimiter, Result, Wait};

use crate::step::{Clients, Step, Values};

/// The limiters of a scenario.
#[derive(Default)]
pub(crate) struct Limiters(HashMap<String, RateLimiter>);

impl Limiters {
    /// What the step answers; none if its verb is another's.
    pub(crate) async fn run(&mut self, clients: &Clients, step: &Step<'_>) -> Result<Option<Values>> {
        Ok(Some(match step.verb {
            "limiter" => {
                let mut rate = Rate::new(step.count("tokens"), Duration::from_micros(step.count("per_us")));
                rate = rate.by(step.options.get("algorithm").copied().unwrap_or("gcra").parse().expect("an algorithm"));
                if step.given("burst").is_some() {
                    rate = rate.burst(step.count("burst"));
                }
                let more = step.options.get("more").into_iter().flat_map(|more| more.split(',')).map(another);
                let rates: Vec<Rate> = std::iter::once(rate).chain(more).collect();
                let options = LimiterOptions::new(rates).absent(policy(step));
                let limiter = step.client(clients).rate_limiter_with(step.objects[1], options)?;
                self.0.insert(step.objects[2].to_owned(), limiter);
                Values::default()
            }
            "spend" => {
                let wait = Wait::For(step.millis("wait_ms").unwrap_or_default());
                decided(&self.of_key(step)?.acquire(step.count("cost"), wait).await?)
            }
            "spend_many" => {
                let item = |item: &'_ str| {
                    let (key, cost) = item.split_once('*').expect("KEY*COST");
                    (key.to_owned(), cost.parse().expect("a number"))
                };
                let items: Vec<(String, u64)> = step.options["items"].split(',').map(item).collect();
                let answers = self.0[step.objects[0]].try_acquire_many(&items).await?;
                let granted = answers.into_iter().map(|answer| match answer {
                    Ok(decision) => decision.granted.to_string(),
                    Err(error) => error.kind().as_str().to_owned(),
                });
                Values::default().add("granted", granted.collect::<Vec<_>>().join(","))
            }
            "peek" => decided(&self.of_key(step)?.peek().await?),
            "counted_decisions" => {
                let limiter = step.client(clients).stats().limiter;
                Values::default()
                    .add("granted", limiter.granted)
                    .add("refused", limiter.refused)
                    .add("tokens", limiter.tokens)
                    .add("by_policy", limiter.by_policy)
                    .add("waiting", limiter.waiting)
                    .add("waits", limiter.wait_time.count())
            }
            "reserve" => {
                let wait = step.millis("wait_ms").map_or(Wait::Forever, Wait::For);
                decided(&self.of_key(step)?.reserve(step.count("cost"), wait).await?)
            }
            "penalty" => {
                self.of_key(step)?.penalty(step.count("tokens")).await?;
                Values::default()
            }
            "reward" => {
                self.of_key(step)?.reward(step.count("tokens")).await?;
                Values::default()
            }
            "block" => {
                self.of_key(step)?.block(Duration::from_millis(step.count("length_ms"))).await?;
                Values::default()
            }
            "reset" => {
                self.of_key(step)?.reset().await?;
                Values::default()
            }
            _ => return Ok(None),
        }))
    }

    /// The limiter that the step names, or its key.
    fn of_key(&self, step: &Step<'_>) -> Result<RateLimiter> {
        let limiter = &self.0[step.objects[0]];
        step.options.get("key").map_or_else(|| Ok(limiter.clone()), |key| limiter.keyed(key))
    }
}

/// TOKENS/PER_US/ALGORITHM
fn another(rate: &str) -> Rate {
    let words: Vec<&str> = rate.split('/').collect();
    let number = |at: usize| words[at].parse().expect("a number");
    Rate::new(number(0), Duration::from_micros(number(1))).by(words[2].parse().expect("an algorithm"))
}

fn policy(step: &Step<'_>) -> Absent {
    match step.options.get("absent").copied() {
        Some("deny") => Absent::Deny,
        Some("allow") => Absent::Allow,
        Some("local_share") => Absent::LocalShare { of: step.count("share_of").try_into().expect("a share") },
        _ => Absent::Fail,
    }
}

fn decided(decision: &Decision) -> Values {
    Values::default()
        .add("allowed", decision.allowed)
        .add("granted", decision.granted)
        .add("remaining", decision.remaining)
        .maybe("retry_after_us", decision.retry_after.map(|wait| wait.as_micros()))
        .add("reset_after_us", decision.reset_after.as_micros())
        .add("limit", decision.limit)
        .maybe("refused_by", decision.refused_by)
        .add("usable_after_us", decision.usable_after.as_micros())
}
