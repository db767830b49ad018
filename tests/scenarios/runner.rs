//! The runner of scenarios for Rust: see README.md and runner.py.

mod bloom_filter_verbs;
mod counting_semaphore_verbs;
mod hold_verbs;
mod id_generator_verbs;
mod ids_verbs;
mod latch_verbs;
mod lock_all_verbs;
mod lock_verbs;
mod queue_verbs;
mod rate_limiter_verbs;
mod rw_lock_verbs;
mod semaphore_verbs;
mod step;
mod worker_verbs;

use std::error::Error;
use std::io::{BufRead, stdin};

use libdlock::{Client, Result};

use crate::bloom_filter_verbs::BloomFilters;
use crate::counting_semaphore_verbs::CountingSemaphores;
use crate::hold_verbs::Holds;
use crate::id_generator_verbs::IdGenerators;
use crate::ids_verbs::Generators;
use crate::latch_verbs::Latches;
use crate::lock_all_verbs::Sets;
use crate::queue_verbs::Queues;
use crate::rate_limiter_verbs::Limiters;
use crate::rw_lock_verbs::RwLocks;
use crate::semaphore_verbs::Semaphores;
use crate::step::{Clients, Step, Values};
use crate::worker_verbs::Workers;

/// The objects of a scenario that its clients have made.
#[derive(Default)]
struct Objects {
    holds: Holds,
    semaphores: Semaphores,
    counting: CountingSemaphores,
    rw_locks: RwLocks,
    latches: Latches,
    queues: Queues,
    id_generators: IdGenerators,
    filters: BloomFilters,
    sets: Sets,
    limiters: Limiters,
    generators: Generators,
    workers: Workers,
}

impl Objects {
    async fn run(&mut self, clients: &Clients, step: &Step<'_>) -> Result<Values> {
        if let Some(values) = self.holds.run(clients, step).await? {
            return Ok(values);
        }
        if let Some(values) = lock_verbs::run(&mut self.holds, clients, step).await? {
            return Ok(values);
        }
        if let Some(values) = self.semaphores.run(&mut self.holds, clients, step).await? {
            return Ok(values);
        }
        if let Some(values) = self.rw_locks.run(&mut self.holds, clients, step).await? {
            return Ok(values);
        }
        if let Some(values) = self.counting.run(clients, step).await? {
            return Ok(values);
        }
        if let Some(values) = self.latches.run(clients, step).await? {
            return Ok(values);
        }
        if let Some(values) = self.queues.run(clients, step).await? {
            return Ok(values);
        }
        if let Some(values) = self.id_generators.run(clients, step).await? {
            return Ok(values);
        }
        if let Some(values) = self.filters.run(clients, step).await? {
            return Ok(values);
        }
        if let Some(values) = self.sets.run(&mut self.holds, clients, step).await? {
            return Ok(values);
        }
        if let Some(values) = self.limiters.run(clients, step).await? {
            return Ok(values);
        }
        if let Some(values) = self.workers.run(&mut self.generators, clients, step).await? {
            return Ok(values);
        }
        Ok(self.generators.run(step)?.unwrap_or_else(|| panic!("there is no verb {}", step.verb)))
    }
}

#[derive(Default)]
struct Runner {
    url: String,
    clients: Clients,
    objects: Objects,
}

impl Runner {
    async fn run(&mut self, step: &Step<'_>) -> Result<Values> {
        match step.verb {
            "forget" => {
                self.objects = Objects::default();
                for client in std::mem::take(&mut self.clients).into_values() {
                    client.close().await;
                }
            }
            "open" => {
                let options = step.options.iter().filter(|(name, _)| **name != "at");
                let query: Vec<String> = options.map(|(name, value)| format!("{name}={value}")).collect();
                let at = step.options.get("at").map_or(self.url.as_str(), |at| at);
                let url = if query.is_empty() { at.to_owned() } else { format!("{at}?{}", query.join("&")) };
                self.clients.insert(step.objects[0].to_owned(), Client::connect(&url).await?);
            }
            "close" if step.options.contains_key("release") => step.client(&self.clients).close_releasing().await?,
            "close" => step.client(&self.clients).close().await,
            _ => return self.objects.run(&self.clients, step).await,
        }
        Ok(Values::default())
    }
}

fn facts(error: &libdlock::Error) -> Values {
    Values::default()
        .maybe("holder", error.holder())
        .maybe("remaining_ms", error.remaining().map(|left| left.as_millis()))
        .maybe("retry_after_us", error.retry_after().map(|after| after.as_micros()))
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
