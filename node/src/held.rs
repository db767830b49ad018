//! Holds: what is known of one without asking the server, and what ends it.

use libdlock_bridge::ops;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

use crate::answer::{Answer, answer, handle};
use crate::completion::{Loss, millis};
use crate::environment::Environment;

#[napi]
impl Environment {
    #[napi(catch_unwind)]
    pub fn held_valid(&self, held: BigInt) -> Answer<bool> {
        answer("heldValid", |state| ops::held_valid(state, handle(&held)))
    }

    #[napi(catch_unwind)]
    pub fn held_remaining_ms(&self, held: BigInt) -> Answer<f64> {
        answer("heldRemainingMs", |state| ops::held_remaining(state, handle(&held)).map(millis))
    }

    #[napi(catch_unwind)]
    pub fn held_loss(&self, held: BigInt) -> Answer<Loss> {
        answer("heldLoss", |state| ops::held_loss(state, handle(&held)).map(Loss::from))
    }

    #[napi(catch_unwind)]
    pub fn held_hold_count(&self, held: BigInt) -> Answer<u32> {
        answer("heldHoldCount", |state| ops::held_hold_count(state, handle(&held)))
    }

    /// One more level, without I/O.
    #[napi(catch_unwind)]
    pub fn held_reenter(&self, held: BigInt) -> Answer<()> {
        answer("heldReenter", |state| ops::held_reenter(state, handle(&held)))
    }

    /// Brings a `Loss` when the hold is over.
    #[napi(catch_unwind)]
    pub fn held_wait_lost(&self, id: i64, held: BigInt) -> Answer<u64> {
        self.submit("heldWaitLost", id, |state| ops::held_wait_lost(state, handle(&held), None))
    }

    #[napi(catch_unwind)]
    pub fn held_release(&self, id: i64, held: BigInt) -> Answer<u64> {
        self.submit("heldRelease", id, |state| ops::held_release(state, handle(&held)))
    }

    #[napi(catch_unwind)]
    pub fn held_extend(&self, id: i64, held: BigInt, lease_ms: i64) -> Answer<u64> {
        self.submit("heldExtend", id, |state| ops::held_extend(state, handle(&held), lease_ms))
    }

    #[napi(catch_unwind)]
    pub fn held_detach(&self, id: i64, held: BigInt) -> Answer<u64> {
        self.submit("heldDetach", id, |state| ops::held_detach(state, handle(&held)))
    }
}
