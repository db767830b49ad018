//! Holds: what is known of one without asking the server, and what ends it.

use libdlock_bridge::ops;
use napi_derive::napi;

use crate::answer::{Answer, Given, answer, handle};
use crate::completion::{Loss, millis};
use crate::environment::Environment;

#[napi]
impl Environment {
    #[napi(catch_unwind)]
    pub fn held_valid(&self, held: Given) -> Answer<bool> {
        answer("heldValid", |state| ops::held_valid(state, handle(held)))
    }

    #[napi(catch_unwind)]
    pub fn held_owner(&self, held: Given) -> Answer<String> {
        answer("heldOwner", |state| ops::held_owner(state, handle(held)))
    }

    /// The ids of the permits; of a lock's hold none.
    #[napi(catch_unwind)]
    pub fn held_permits(&self, held: Given) -> Answer<Vec<String>> {
        answer("heldPermits", |state| ops::held_permits(state, handle(held)))
    }

    #[napi(catch_unwind)]
    pub fn held_remaining_ms(&self, held: Given) -> Answer<f64> {
        answer("heldRemainingMs", |state| ops::held_remaining(state, handle(held)).map(millis))
    }

    #[napi(catch_unwind)]
    pub fn held_loss(&self, held: Given) -> Answer<Loss> {
        answer("heldLoss", |state| ops::held_loss(state, handle(held)).map(Loss::from))
    }

    #[napi(catch_unwind)]
    pub fn held_hold_count(&self, held: Given) -> Answer<u32> {
        answer("heldHoldCount", |state| ops::held_hold_count(state, handle(held)))
    }

    /// One more level, without I/O.
    #[napi(catch_unwind)]
    pub fn held_reenter(&self, held: Given) -> Answer<()> {
        answer("heldReenter", |state| ops::held_reenter(state, handle(held)))
    }

    /// Brings a `Loss` when the hold is over.
    #[napi(catch_unwind)]
    pub fn held_wait_lost(&self, id: i64, held: Given) -> Answer<Given> {
        self.submit("heldWaitLost", id, |state| ops::held_wait_lost(state, handle(held), None))
    }

    #[napi(catch_unwind)]
    pub fn held_release(&self, id: i64, held: Given) -> Answer<Given> {
        self.submit("heldRelease", id, |state| ops::held_release(state, handle(held)))
    }

    #[napi(catch_unwind)]
    pub fn held_extend(&self, id: i64, held: Given, lease_ms: i64) -> Answer<Given> {
        self.submit("heldExtend", id, |state| ops::held_extend(state, handle(held), lease_ms))
    }

    #[napi(catch_unwind)]
    pub fn held_detach(&self, id: i64, held: Given) -> Answer<Given> {
        self.submit("heldDetach", id, |state| ops::held_detach(state, handle(held)))
    }

    /// Brings the hold of the read side; `held` is a hold of a write side.
    #[napi(catch_unwind)]
    pub fn held_downgrade(&self, id: i64, held: Given) -> Answer<Given> {
        self.submit("heldDowngrade", id, |state| ops::held_downgrade(state, handle(held)))
    }
}
