//! Counting semaphores: opened by name; permits are acquired and released by number, and nobody holds them.

use libdlock_bridge::{HandleKind, ops};
use napi_derive::napi;

use crate::answer::{Answer, Given, answer, give, handle};
use crate::environment::Environment;

#[napi]
impl Environment {
    /// The semaphore's handle. No I/O.
    #[napi(catch_unwind)]
    pub fn counting_semaphore_open(&self, client: Given, name: String) -> Answer<Given> {
        answer("countingSemaphoreOpen", |state| {
            let semaphore = ops::counting_semaphore_open(state, handle(client), name.as_bytes())?;
            self.inner.lend(HandleKind::CountingSemaphore, semaphore);
            Ok(give(semaphore))
        })
    }

    #[napi(catch_unwind)]
    pub fn counting_semaphore_try_set_permits(&self, id: i64, semaphore: Given, permits: i64) -> Answer<Given> {
        self.submit("countingSemaphoreTrySetPermits", id, |state| {
            ops::counting_semaphore_try_set_permits(state, handle(semaphore), permits)
        })
    }

    /// Permits whose completion is never drained are given back; those of a completion that was drained are JavaScript's.
    #[napi(catch_unwind)]
    pub fn counting_semaphore_acquire(
        &self,
        id: i64,
        semaphore: Given,
        permits: i64,
        wait_ms: Option<i64>,
    ) -> Answer<Given> {
        self.submit("countingSemaphoreAcquire", id, |state| {
            ops::counting_semaphore_acquire(state, handle(semaphore), permits, wait_ms)
        })
    }

    #[napi(catch_unwind)]
    pub fn counting_semaphore_release(&self, id: i64, semaphore: Given, permits: i64) -> Answer<Given> {
        self.submit("countingSemaphoreRelease", id, |state| {
            ops::counting_semaphore_release(state, handle(semaphore), permits)
        })
    }

    #[napi(catch_unwind)]
    pub fn counting_semaphore_add_permits(&self, id: i64, semaphore: Given, permits: i64) -> Answer<Given> {
        self.submit("countingSemaphoreAddPermits", id, |state| {
            ops::counting_semaphore_add_permits(state, handle(semaphore), permits)
        })
    }

    #[napi(catch_unwind)]
    pub fn counting_semaphore_drain(&self, id: i64, semaphore: Given) -> Answer<Given> {
        self.submit("countingSemaphoreDrain", id, |state| ops::counting_semaphore_drain(state, handle(semaphore)))
    }

    #[napi(catch_unwind)]
    pub fn counting_semaphore_inspect(&self, id: i64, semaphore: Given) -> Answer<Given> {
        self.submit("countingSemaphoreInspect", id, |state| ops::counting_semaphore_inspect(state, handle(semaphore)))
    }
}
