//! Queues: opened by name, jobs put, taken and ended, lists of jobs.

use libdlock_bridge::HandleKind;
use libdlock_bridge::ops::{self, JobArgs, QueueArgs};
use napi::bindgen_prelude::{Either, Uint8Array};
use napi_derive::napi;

use crate::answer::{Answer, Given, answer, give, handle};
use crate::environment::Environment;

/// A job as JavaScript gives it. Its texts have no lone surrogates.
#[napi(object, object_to_js = false)]
pub struct NewJob {
    pub payload: Either<String, Uint8Array>,
    pub id: Option<String>,
    pub delay_ms: Option<i64>,
    pub at_ms: Option<i64>,
    pub priority: i64,
}

impl From<NewJob> for JobArgs {
    fn from(job: NewJob) -> Self {
        let payload = match job.payload {
            Either::A(text) => text.into_bytes(),
            Either::B(bytes) => bytes.to_vec(),
        };
        let id = job.id.map(String::into_bytes);
        JobArgs { payload, id, delay_ms: job.delay_ms, at_ms: job.at_ms, priority: job.priority }
    }
}

#[napi]
impl Environment {
    /// The queue's handle. No I/O.
    #[napi(catch_unwind)]
    // Not `expect`: napi puts it on a function of its own, too, which has not so many.
    #[allow(clippy::too_many_arguments)]
    pub fn queue_open(
        &self,
        client: Given,
        name: String,
        lease_ms: Option<i64>,
        watchdog_lease_ms: Option<i64>,
        max_attempts: Option<i64>,
        max_payload: Option<i64>,
        max_length: Option<i64>,
    ) -> Answer<Given> {
        let how = QueueArgs { lease_ms, watchdog_lease_ms, max_attempts, max_payload, max_length };
        answer("queueOpen", |state| {
            let queue = ops::queue_open(state, handle(client), name.as_bytes(), how)?;
            self.inner.lend(HandleKind::Queue, queue);
            Ok(give(queue))
        })
    }

    #[napi(catch_unwind)]
    pub fn queue_followed_by(&self, queue: Given, other: Given) -> Answer<Given> {
        answer("queueFollowedBy", |state| {
            let both = ops::queue_followed_by(state, handle(queue), handle(other))?;
            self.inner.lend(HandleKind::Queue, both);
            Ok(give(both))
        })
    }

    #[napi(catch_unwind)]
    pub fn delivery_queue(&self, held: Given) -> Answer<String> {
        answer("deliveryQueue", |state| ops::delivery_queue(state, handle(held)))
    }

    #[napi(catch_unwind)]
    pub fn queue_put(&self, id: i64, queue: Given, job: NewJob) -> Answer<Given> {
        self.submit("queuePut", id, |state| ops::queue_put(state, handle(queue), job.into()))
    }

    #[napi(catch_unwind)]
    pub fn queue_put_many(&self, id: i64, queue: Given, jobs: Vec<NewJob>) -> Answer<Given> {
        self.submit("queuePutMany", id, |state| {
            ops::queue_put_many(state, handle(queue), jobs.into_iter().map(JobArgs::from).collect())
        })
    }

    /// Jobs whose completion is never drained go back; those of a completion that was drained are JavaScript's.
    #[napi(catch_unwind)]
    pub fn queue_take(&self, id: i64, queue: Given, wait_ms: Option<i64>) -> Answer<Given> {
        self.submit("queueTake", id, |state| ops::queue_take(state, handle(queue), wait_ms))
    }

    #[napi(catch_unwind)]
    pub fn queue_take_many(&self, id: i64, queue: Given, most: i64, wait_ms: Option<i64>) -> Answer<Given> {
        self.submit("queueTakeMany", id, |state| ops::queue_take_many(state, handle(queue), most, wait_ms))
    }

    #[napi(catch_unwind)]
    pub fn queue_counts(&self, id: i64, queue: Given) -> Answer<Given> {
        self.submit("queueCounts", id, |state| ops::queue_counts(state, handle(queue)))
    }

    #[napi(catch_unwind)]
    pub fn queue_peek(&self, id: i64, queue: Given, most: i64) -> Answer<Given> {
        self.submit("queuePeek", id, |state| ops::queue_peek(state, handle(queue), most))
    }

    #[napi(catch_unwind)]
    pub fn queue_dead(&self, id: i64, queue: Given, most: i64) -> Answer<Given> {
        self.submit("queueDead", id, |state| ops::queue_dead(state, handle(queue), most))
    }

    #[napi(catch_unwind)]
    pub fn queue_cancel(&self, id: i64, queue: Given, job: String) -> Answer<Given> {
        self.submit("queueCancel", id, |state| ops::queue_cancel(state, handle(queue), job.into_bytes()))
    }

    #[napi(catch_unwind)]
    pub fn queue_purge(&self, id: i64, queue: Given) -> Answer<Given> {
        self.submit("queuePurge", id, |state| ops::queue_purge(state, handle(queue)))
    }

    #[napi(catch_unwind)]
    pub fn queue_remove_dead(&self, id: i64, queue: Given, job: String) -> Answer<Given> {
        self.submit("queueRemoveDead", id, |state| ops::queue_remove_dead(state, handle(queue), job.into_bytes()))
    }

    #[napi(catch_unwind)]
    pub fn queue_purge_dead(&self, id: i64, queue: Given) -> Answer<Given> {
        self.submit("queuePurgeDead", id, |state| ops::queue_purge_dead(state, handle(queue)))
    }

    #[napi(catch_unwind)]
    pub fn queue_requeue_dead(&self, id: i64, queue: Given, job: String) -> Answer<Given> {
        self.submit("queueRequeueDead", id, |state| ops::queue_requeue_dead(state, handle(queue), job.into_bytes()))
    }

    #[napi(catch_unwind)]
    pub fn queue_requeue_all_dead(&self, id: i64, queue: Given) -> Answer<Given> {
        self.submit("queueRequeueAllDead", id, |state| ops::queue_requeue_all_dead(state, handle(queue)))
    }

    #[napi(catch_unwind)]
    pub fn queue_ack_many(&self, id: i64, queue: Given, helds: Vec<Given>) -> Answer<Given> {
        let helds = helds.into_iter().map(handle).collect();
        self.submit("queueAckMany", id, |state| ops::queue_ack_many(state, handle(queue), helds))
    }

    #[napi(catch_unwind)]
    pub fn delivery_ack(&self, id: i64, held: Given) -> Answer<Given> {
        self.submit("deliveryAck", id, |state| ops::delivery_ack(state, handle(held)))
    }

    #[napi(catch_unwind)]
    pub fn delivery_nack(&self, id: i64, held: Given, reason: String, delay_ms: Option<i64>) -> Answer<Given> {
        self.submit("deliveryNack", id, |state| ops::delivery_nack(state, handle(held), delay_ms, reason.into_bytes()))
    }

    #[napi(catch_unwind)]
    pub fn delivery_give_back(&self, id: i64, held: Given) -> Answer<Given> {
        self.submit("deliveryGiveBack", id, |state| ops::delivery_give_back(state, handle(held)))
    }

    /// How long a job waits that failed at this attempt.
    #[napi(catch_unwind)]
    pub fn backoff_ms(&self, attempt: i64, base_ms: i64, longest_ms: i64) -> Answer<i64> {
        answer("backoffMs", |_| ops::backoff_ms(attempt, base_ms, longest_ms))
    }
}
