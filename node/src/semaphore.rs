//! Semaphores: opened by name, permits acquired for a hold that is its handle's own.

use libdlock_bridge::HandleKind;
use libdlock_bridge::ops::{self, Holding};
use napi_derive::napi;

use crate::answer::{Answer, Given, answer, give, handle};
use crate::environment::Environment;

#[napi]
impl Environment {
    /// The semaphore's handle. No I/O.
    #[napi(catch_unwind)]
    pub fn semaphore_open(
        &self,
        client: Given,
        name: String,
        permits: i64,
        lease_ms: Option<i64>,
        watchdog_lease_ms: Option<i64>,
    ) -> Answer<Given> {
        answer("semaphoreOpen", |state| {
            let (client, name) = (handle(client), name.as_bytes());
            let semaphore = ops::semaphore_open(state, client, name, permits, lease_ms, watchdog_lease_ms)?;
            self.inner.lend(HandleKind::Semaphore, semaphore);
            Ok(give(semaphore))
        })
    }

    #[napi(catch_unwind)]
    pub fn semaphore_acquire(
        &self,
        id: i64,
        semaphore: Given,
        permits: i64,
        wait_ms: Option<i64>,
        lease_ms: Option<i64>,
    ) -> Answer<Given> {
        self.submit("semaphoreAcquire", id, |state| {
            ops::semaphore_acquire(state, handle(semaphore), Holding::ByHandle, permits, wait_ms, lease_ms)
        })
    }

    #[napi(catch_unwind)]
    pub fn semaphore_set_permits(&self, id: i64, semaphore: Given, permits: i64) -> Answer<Given> {
        self.submit("semaphoreSetPermits", id, |state| ops::semaphore_set_permits(state, handle(semaphore), permits))
    }

    #[napi(catch_unwind)]
    pub fn semaphore_inspect(&self, id: i64, semaphore: Given) -> Answer<Given> {
        self.submit("semaphoreInspect", id, |state| ops::semaphore_inspect(state, handle(semaphore)))
    }
}
