//! Locks: opened by name, acquired for a hold that is its handle's own.

use libdlock_bridge::HandleKind;
use libdlock_bridge::ops::{self, Holding};
use napi_derive::napi;

use crate::answer::{Answer, Given, answer, give, handle};
use crate::environment::Environment;

#[napi]
impl Environment {
    /// The lock's handle. No I/O.
    #[napi(catch_unwind)]
    pub fn lock_open(
        &self,
        client: Given,
        name: String,
        lease_ms: Option<i64>,
        watchdog_lease_ms: Option<i64>,
        reentrant: Option<bool>,
    ) -> Answer<Given> {
        answer("lockOpen", |state| {
            let lock = ops::lock_open(state, handle(client), name.as_bytes(), lease_ms, watchdog_lease_ms, reentrant)?;
            self.inner.lend(HandleKind::Lock, lock);
            Ok(give(lock))
        })
    }

    #[napi(catch_unwind)]
    pub fn lock_acquire(&self, id: i64, lock: Given, wait_ms: Option<i64>, lease_ms: Option<i64>) -> Answer<Given> {
        self.submit("lockAcquire", id, |state| {
            ops::lock_acquire(state, handle(lock), Holding::ByHandle, wait_ms, lease_ms)
        })
    }

    #[napi(catch_unwind)]
    pub fn lock_attach(&self, id: i64, lock: Given, detached: String) -> Answer<Given> {
        self.submit("lockAttach", id, |state| {
            ops::lock_attach(state, handle(lock), Holding::ByHandle, detached.into_bytes())
        })
    }

    #[napi(catch_unwind)]
    pub fn lock_force_release(&self, id: i64, lock: Given) -> Answer<Given> {
        self.submit("lockForceRelease", id, |state| ops::lock_force_release(state, handle(lock)))
    }

    #[napi(catch_unwind)]
    pub fn lock_inspect(&self, id: i64, lock: Given) -> Answer<Given> {
        self.submit("lockInspect", id, |state| ops::lock_inspect(state, handle(lock)))
    }
}
