//! The verbs of queues.

use std::collections::HashMap;
use std::time::{Duration, UNIX_EPOCH};

use libdlock::lease::{Lease, LossReason};
use libdlock::queue::{Delivery, ListedJob, NewJob, QueueOptions};
use libdlock::{Queue, Result, Wait};
use tokio::task::JoinHandle;

use crate::step::{Clients, Step, Values};

/// The queues of a scenario, its deliveries, and the takes that wait beside the steps.
#[derive(Default)]
pub(crate) struct Queues {
    queues: HashMap<String, Queue>,
    deliveries: HashMap<String, Delivery>,
    takes: HashMap<String, JoinHandle<Result<Option<Delivery>>>>,
}

impl Queues {
    /// What the step answers; none if its verb is another's.
    pub(crate) async fn run(&mut self, clients: &Clients, step: &Step<'_>) -> Result<Option<Values>> {
        let nothing = Values::default;
        let wait = || step.millis("wait_ms").map_or(Wait::Forever, Wait::For);
        let most = || step.given("most").map_or(100, |most| most.try_into().expect("0 or more"));
        let id = || step.options["id"];
        Ok(Some(match step.verb {
            "queue" => {
                let queue = step.client(clients).queue_with(step.objects[1], options(step))?;
                self.queues.insert(step.objects[2].to_owned(), queue);
                nothing()
            }
            "follow" => {
                let both = self.named(step).followed_by(&self.queues[step.objects[1]]);
                self.queues.insert(step.objects[2].to_owned(), both);
                nothing()
            }
            "job_queue" => nothing().add("queue", self.deliveries[step.objects[0]].queue()),
            "put" => {
                let put = self.named(step).put(job(step)).await?;
                nothing().add("id", put.id).add("is_new", put.is_new)
            }
            "put_all" => {
                let puts = self.named(step).put_many(step.options["payloads"].split(',')).await?;
                nothing().add("put", puts.iter().filter(|put| put.is_new).count())
            }
            "next" => {
                let taken = self.named(step).take_for(wait()).await?;
                self.came(step.objects[1], taken)
            }
            "begin_next" => {
                let (queue, wait) = (self.named(step).clone(), wait());
                let taking = tokio::spawn(async move { queue.take_for(wait).await });
                self.takes.insert(step.objects[1].to_owned(), taking);
                nothing()
            }
            "end_next" => {
                let taking = self.takes.remove(step.objects[0]).expect("a take");
                let taken = taking.await.expect("no panic")?;
                self.came(step.objects[1], taken)
            }
            "do_all" => {
                let taken = self.named(step).take_many(most(), wait()).await?;
                let payloads: Vec<_> = taken.iter().map(|each| text(each.payload())).collect();
                for delivery in taken {
                    delivery.ack().await?;
                }
                nothing().add("payloads", payloads.join(","))
            }
            "ack" => {
                self.take_out(step).ack().await?;
                nothing()
            }
            "nack" => {
                let (delivery, reason) = (self.take_out(step), step.options.get("reason").copied().unwrap_or_default());
                match step.millis("delay_ms") {
                    None => delivery.nack(reason).await?,
                    Some(delay) => delivery.nack_after(delay, reason).await?,
                }
                nothing()
            }
            "prolong" => {
                let lease = step.millis("lease_ms").expect("a lease");
                self.deliveries[step.objects[0]].extend(lease).await?;
                nothing()
            }
            "job_lost" => {
                let (delivery, wait) = (&self.deliveries[step.objects[0]], step.millis("wait_ms").expect("a wait"));
                let lost = tokio::time::timeout(wait, delivery.lost()).await.ok().flatten();
                nothing().maybe("lost", lost.map(LossReason::as_str))
            }
            "jobs" => {
                let counts = self.named(step).counts().await?;
                nothing()
                    .add("ready", counts.ready)
                    .add("delayed", counts.delayed)
                    .add("in_flight", counts.in_flight)
                    .add("dead", counts.dead)
                    .add("waiters", counts.waiters)
            }
            "list_jobs" => listed(&self.named(step).peek(most()).await?),
            "list_dead" => listed(&self.named(step).dead(most()).await?),
            "cancel_job" => nothing().add("cancelled", self.named(step).cancel(id()).await?),
            "purge" => nothing().add("purged", self.named(step).purge().await?),
            "requeue" => nothing().add("requeued", self.named(step).requeue_dead(id()).await?),
            "requeue_all" => nothing().add("requeued", self.named(step).requeue_all_dead().await?),
            "remove_dead" => nothing().add("removed", self.named(step).remove_dead(id()).await?),
            "purge_dead" => nothing().add("purged", self.named(step).purge_dead().await?),
            _ => return Ok(None),
        }))
    }

    fn came(&mut self, name: &str, taken: Option<Delivery>) -> Values {
        let Some(delivery) = taken else { return Values::default().add("came", false) };
        let values = Values::default()
            .add("came", true)
            .add("payload", text(delivery.payload()))
            .add("id", delivery.id())
            .add("attempt", delivery.attempt())
            .add("priority", delivery.priority())
            .add("token", delivery.token());
        self.deliveries.insert(name.to_owned(), delivery);
        values
    }

    fn named(&self, step: &Step<'_>) -> &Queue {
        &self.queues[step.objects[0]]
    }

    /// What ends a delivery consumes it in Rust.
    fn take_out(&mut self, step: &Step<'_>) -> Delivery {
        self.deliveries.remove(step.objects[0]).expect("a delivery")
    }
}

fn options(step: &Step<'_>) -> QueueOptions {
    let mut options = QueueOptions::default();
    if let Some(lease) = step.millis("lease_ms") {
        options = options.lease(Lease::Fixed(lease));
    }
    if step.given("max_attempts").is_some() {
        options = options.max_attempts(step.count("max_attempts").try_into().expect("a number of 32 bits"));
    }
    if step.given("max_payload").is_some() {
        options = options.max_payload(step.count("max_payload").try_into().expect("a number of 32 bits"));
    }
    if step.given("max_length").is_some() {
        options = options.max_length(step.count("max_length"));
    }
    options
}

fn job(step: &Step<'_>) -> NewJob {
    let mut job = NewJob::new(step.options["payload"]);
    if let Some(id) = step.options.get("id") {
        job = job.id(*id);
    }
    if let Some(delay) = step.millis("delay_ms") {
        job = job.delay(delay);
    }
    if step.given("at_ms").is_some() {
        job = job.at(UNIX_EPOCH + Duration::from_millis(step.count("at_ms")));
    }
    job.priority(step.given("priority").unwrap_or(0).try_into().expect("a number of 16 bits"))
}

fn listed(jobs: &[ListedJob]) -> Values {
    let each = |word: fn(&ListedJob) -> Option<String>| jobs.iter().filter_map(word).collect::<Vec<_>>().join(",");
    Values::default()
        .add("ids", each(|job| Some(job.id.clone())))
        .add("attempts", each(|job| Some(job.attempts.to_string())))
        .add("reasons", each(|job| job.dead.as_ref().map(|(_, reason)| reason.clone())))
}

fn text(payload: &[u8]) -> String {
    String::from_utf8_lossy(payload).into_owned()
}
