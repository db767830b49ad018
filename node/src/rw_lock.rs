//! Read-write locks: a handle for each side, acquired for a hold that is its handle's own.

use libdlock_bridge::HandleKind;
use libdlock_bridge::ops::{self, Holding, RwLockArgs};
use napi_derive::napi;

use crate::answer::{Answer, Given, answer, give, handle};
use crate::environment::Environment;

#[napi]
impl Environment {
    /// The handle of one side. No I/O.
    #[napi(catch_unwind)]
    #[allow(clippy::too_many_arguments, reason = "what crosses is flat; the macro repeats it where it is not")]
    pub fn rw_lock_open(
        &self,
        client: Given,
        name: String,
        write: bool,
        lease_ms: Option<i64>,
        watchdog_lease_ms: Option<i64>,
        reentrant: Option<bool>,
        shared_age_ms: Option<i64>,
    ) -> Answer<Given> {
        answer("rwLockOpen", |state| {
            let given = RwLockArgs { lease_ms, watchdog_lease_ms, reentrant, shared_age_ms };
            let side = ops::rw_lock_open(state, handle(client), name.as_bytes(), write, given)?;
            self.inner.lend(HandleKind::RwLockSide, side);
            Ok(give(side))
        })
    }

    #[napi(catch_unwind)]
    pub fn rw_lock_acquire(&self, id: i64, side: Given, wait_ms: Option<i64>, lease_ms: Option<i64>) -> Answer<Given> {
        self.submit("rwLockAcquire", id, |state| {
            ops::rw_lock_acquire(state, handle(side), Holding::ByHandle, wait_ms, lease_ms)
        })
    }

    #[napi(catch_unwind)]
    pub fn rw_lock_steal(&self, id: i64, side: Given, lease_ms: Option<i64>) -> Answer<Given> {
        self.submit("rwLockSteal", id, |state| ops::rw_lock_steal(state, handle(side), Holding::ByHandle, lease_ms))
    }

    #[napi(catch_unwind)]
    pub fn rw_lock_force_release(&self, id: i64, side: Given) -> Answer<Given> {
        self.submit("rwLockForceRelease", id, |state| ops::rw_lock_force_release(state, handle(side)))
    }

    #[napi(catch_unwind)]
    pub fn rw_lock_inspect(&self, id: i64, side: Given) -> Answer<Given> {
        self.submit("rwLockInspect", id, |state| ops::rw_lock_inspect(state, handle(side)))
    }
}
