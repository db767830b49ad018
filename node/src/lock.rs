//! Locks: opened by name, acquired for a hold that is its handle's own.

use libdlock_bridge::ops::{self, Holding};
use libdlock_bridge::{Kind, Outcome};
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

use crate::answer::{Answer, answer, handle};
use crate::environment::Environment;

#[napi]
impl Environment {
    /// The lock's handle. No I/O.
    #[napi(catch_unwind)]
    pub fn lock_open(&self, client: BigInt, name: String, lease_ms: i64, reentrant: Option<bool>) -> Answer<u64> {
        answer("lockOpen", |state| {
            let lock = ops::lock_open(state, handle(&client), name.as_bytes(), lease_ms, reentrant)?;
            self.inner.lend(Kind::Lock, lock);
            Ok(lock)
        })
    }

    #[napi(catch_unwind)]
    pub fn lock_acquire(&self, id: i64, lock: BigInt, wait_ms: i64, lease_ms: i64) -> Answer<u64> {
        let lock = handle(&lock);
        self.submit("lockAcquire", id, |state| async move {
            ops::lock_acquire(state, lock, Holding::ByHandle, wait_ms, lease_ms).await.map(Outcome::Held)
        })
    }

    #[napi(catch_unwind)]
    pub fn lock_attach(&self, id: i64, lock: BigInt, detached: String) -> Answer<u64> {
        let lock = handle(&lock);
        self.submit("lockAttach", id, |state| async move {
            ops::lock_attach(state, lock, Holding::ByHandle, detached.into_bytes()).await.map(Outcome::Held)
        })
    }

    #[napi(catch_unwind)]
    pub fn lock_force_release(&self, id: i64, lock: BigInt) -> Answer<u64> {
        let lock = handle(&lock);
        self.submit("lockForceRelease", id, |state| async move {
            ops::lock_force_release(state, lock).await.map(Outcome::Bool)
        })
    }

    #[napi(catch_unwind)]
    pub fn lock_inspect(&self, id: i64, lock: BigInt) -> Answer<u64> {
        let lock = handle(&lock);
        self.submit(
            "lockInspect",
            id,
            |state| async move { ops::lock_inspect(state, lock).await.map(Outcome::Inspection) },
        )
    }
}
