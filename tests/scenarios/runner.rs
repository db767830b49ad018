//! The runner of scenarios for Rust: see README.md and runner.py.

use std::collections::HashMap;
use std::error::Error;
use std::fmt::Display;
use std::io::{BufRead, stdin};
use std::time::Duration;

use libdlock::id::{Layout, encode, parse};
use libdlock::lease::{HolderId, Lease, LossReason};
use libdlock::limit::{Absent, LimiterOptions};
use libdlock::lock::{AcquireOptions, LockOptions};
use libdlock::{Client, Decision, Held, Rate, RateLimiter, Result, Snowflake, Wait};

/// A step taken apart.
struct Step<'a> {
    verb: &'a str,
    objects: Vec<&'a str>,
    options: HashMap<&'a str, &'a str>,
}

impl<'a> Step<'a> {
    fn of(line: &'a str) -> Self {
        let mut words = line.split_whitespace();
        let verb = words.next().unwrap_or_default();
        let (options, objects): (Vec<_>, Vec<_>) = words.partition(|word| word.contains('='));
        Self { verb, objects, options: options.into_iter().filter_map(|word| word.split_once('=')).collect() }
    }

    fn number(&self, name: &str) -> i64 {
        self.given(name).unwrap_or_else(|| panic!("{} has no {name}", self.verb))
    }

    fn given(&self, name: &str) -> Option<i64> {
        self.options.get(name).map(|value| value.parse().expect("a number"))
    }

    /// Core has no negative numbers: what the other languages refuse in the bridge cannot be said here.
    fn count(&self, name: &str) -> u64 {
        self.number(name).try_into().expect("0 or more")
    }

    fn millis(&self, name: &str) -> Option<Duration> {
        self.given(name).map(|ms| Duration::from_millis(ms.try_into().expect("0 or more")))
    }
}

/// The values of an answer, as words.
#[derive(Default)]
struct Values(String);

impl Values {
    fn add(mut self, name: &str, value: impl Display) -> Self {
        self.0 += &format!(" {name}={value}");
        self
    }

    fn maybe(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.add(name, value),
            None => self.add(name, "none"),
        }
    }
}

#[derive(Default)]
struct Runner {
    url: String,
    clients: HashMap<String, Client>,
    holds: HashMap<String, Held>,
    limiters: HashMap<String, RateLimiter>,
    generators: HashMap<String, Snowflake>,
}

impl Runner {
    async fn run(&mut self, step: &Step<'_>) -> Result<Values> {
        let nothing = Values::default;
        Ok(match step.verb {
            "forget" => {
                self.holds.clear();
                self.limiters.clear();
                for client in std::mem::take(&mut self.clients).into_values() {
                    client.close().await;
                }
                nothing()
            }
            "open" => {
                let query: Vec<String> = step.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
                let url = if query.is_empty() { self.url.clone() } else { format!("{}?{}", self.url, query.join("&")) };
                self.clients.insert(step.objects[0].to_owned(), Client::connect(&url).await?);
                nothing()
            }
            "close" if step.options.contains_key("release") => {
                self.client(step).close_releasing().await?;
                nothing()
            }
            "close" => {
                self.client(step).close().await;
                nothing()
            }
            "take" => {
                let mut options = LockOptions::default();
                if let Some(lease) = step.millis("lease_ms") {
                    options.lease = Lease::Fixed(lease);
                }
                options.watchdog_lease = step.millis("watchdog_lease_ms");
                let lock = self.client(step).lock_with(step.objects[1], options)?;
                let how = AcquireOptions::default().wait(step.millis("wait_ms").map_or(Wait::Forever, Wait::For));
                let held = lock.acquire_as(HolderId::fresh(), how).await?;
                self.keep(step.objects[2], held)
            }
            "attach" => {
                let lock = self.client(step).lock(step.objects[1])?;
                let held = lock.attach_as(HolderId::fresh(), step.options["text"]).await?;
                self.keep(step.objects[2], held)
            }
            "release" => {
                self.take_out(step).release().await?;
                nothing()
            }
            "extend" => {
                self.held(step).extend(step.millis("lease_ms").expect("a lease")).await?;
                nothing()
            }
            "detach" => nothing().add("text", self.take_out(step).detach().await?),
            "see" => {
                let held = self.held(step);
                nothing()
                    .add("valid", held.is_valid())
                    .add("remaining_ms", held.remaining().as_millis())
                    .maybe("lost", held.loss().map(LossReason::as_str))
            }
            "wait_lost" => {
                let wait = step.millis("wait_ms").expect("a wait");
                let lost = tokio::time::timeout(wait, self.held(step).lost()).await.ok().flatten();
                nothing().maybe("lost", lost.map(LossReason::as_str))
            }
            "inspect" => {
                let seen = self.client(step).lock(step.objects[1])?.inspect().await?;
                nothing()
                    .add("held", seen.holder.is_some())
                    .add("ours", seen.ours)
                    .maybe("ttl_ms", seen.ttl.map(|ttl| ttl.as_millis()))
                    .maybe("token", seen.token)
                    .add("queued", seen.queued)
            }
            "force" => nothing().add("was_held", self.client(step).lock(step.objects[1])?.force_release().await?),
            "limiter" => {
                let mut rate = Rate::new(step.count("tokens"), Duration::from_micros(step.count("per_us")));
                if step.given("burst").is_some() {
                    rate = rate.burst(step.count("burst"));
                }
                let options = LimiterOptions::new(rate).absent(policy(step));
                let limiter = self.client(step).rate_limiter_with(step.objects[1], options)?;
                self.limiters.insert(step.objects[2].to_owned(), limiter);
                nothing()
            }
            "spend" => {
                let wait = Wait::For(step.millis("wait_ms").unwrap_or_default());
                decided(&self.limiters[step.objects[0]].acquire(step.count("cost"), wait).await?)
            }
            "peek" => decided(&self.limiters[step.objects[0]].peek().await?),
            "reset" => {
                self.limiters[step.objects[0]].reset().await?;
                nothing()
            }
            _ => self.of_ids(step)?,
        })
    }

    fn of_ids(&mut self, step: &Step<'_>) -> Result<Values> {
        let nothing = Values::default;
        Ok(match step.verb {
            "generator" => {
                let layout = Layout::named(step.options.get("layout").unwrap_or(&"default"))?;
                let builder = Snowflake::builder(step.count("datacenter"), step.count("worker")).layout(layout);
                self.generators.insert(step.objects[0].to_owned(), builder.build()?);
                nothing()
            }
            "ids" => {
                let count = usize::try_from(step.count("count")).expect("a count");
                let ids = self.generators[step.objects[0]].next_ids(count)?;
                let increasing = ids.is_sorted_by(|id, next| id < next);
                nothing().add("first", ids[0]).add("last", ids[ids.len() - 1]).add("increasing", increasing)
            }
            "decode" => {
                let parts = self.generators[step.objects[0]].decode(step.number("id"))?;
                nothing()
                    .add("datacenter", parts.datacenter)
                    .add("worker", parts.worker)
                    .add("sequence", parts.sequence)
            }
            "encode" => nothing().add("text", encode(step.number("id"), radix(step))?),
            "parse" => nothing().add("id", parse(step.options["text"], radix(step))?),
            other => panic!("there is no verb {other}"),
        })
    }

    fn client(&self, step: &Step<'_>) -> &Client {
        &self.clients[step.objects[0]]
    }

    fn held(&self, step: &Step<'_>) -> &Held {
        &self.holds[step.objects[0]]
    }

    /// A release or detach consumes the hold in Rust.
    fn take_out(&mut self, step: &Step<'_>) -> Held {
        self.holds.remove(step.objects[0]).expect("a hold")
    }

    fn keep(&mut self, name: &str, held: Held) -> Values {
        let values = Values::default().add("token", held.token()).add("owner", held.owner());
        self.holds.insert(name.to_owned(), held);
        values
    }
}

fn radix(step: &Step<'_>) -> u32 {
    step.number("base").try_into().expect("a base")
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
}

fn facts(error: &libdlock::Error) -> Values {
    Values::default()
        .maybe("holder", error.holder())
        .maybe("remaining_ms", error.remaining().map(|left| left.as_millis()))
        .maybe("allowed", error.allowed().map(|allowed| allowed.replace(' ', "_")))
        .add("retryable", error.is_retryable())
}

#[tokio::main(worker_threads = 1)]
async fn main() -> std::result::Result<(), Box<dyn Error>> {
    let url = std::env::args().nth(1).ok_or("usage: scenario-runner URL")?;
    let mut runner = Runner { url, ..Runner::default() };
    println!("ready");
    // Blocks its thread between steps; clients work on the runtime's own.
    for line in stdin().lock().lines() {
        match runner.run(&Step::of(&line?)).await {
            Ok(values) => println!("ok{}", values.0),
            Err(error) => println!("error {}{} : {error}", error.kind().as_str(), facts(&error).0),
        }
    }
    Ok(())
}
