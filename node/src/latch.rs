//! Count-down latches: opened by name, counted down, waited for.

use libdlock_bridge::{HandleKind, ops};
use napi_derive::napi;

use crate::answer::{Answer, Given, answer, give, handle};
use crate::environment::Environment;

#[napi]
impl Environment {
    /// The latch's handle. No I/O.
    #[napi(catch_unwind)]
    pub fn latch_open(&self, client: Given, name: String) -> Answer<Given> {
        answer("latchOpen", |state| {
            let latch = ops::latch_open(state, handle(client), name.as_bytes())?;
            self.inner.lend(HandleKind::Latch, latch);
            Ok(give(latch))
        })
    }

    #[napi(catch_unwind)]
    pub fn latch_try_set_count(&self, id: i64, latch: Given, count: i64) -> Answer<Given> {
        self.submit("latchTrySetCount", id, |state| ops::latch_try_set_count(state, handle(latch), count))
    }

    #[napi(catch_unwind)]
    pub fn latch_count_down(&self, id: i64, latch: Given, by: i64) -> Answer<Given> {
        self.submit("latchCountDown", id, |state| ops::latch_count_down(state, handle(latch), by))
    }

    #[napi(catch_unwind)]
    pub fn latch_count(&self, id: i64, latch: Given) -> Answer<Given> {
        self.submit("latchCount", id, |state| ops::latch_count(state, handle(latch)))
    }

    #[napi(catch_unwind)]
    pub fn latch_wait(&self, id: i64, latch: Given, wait_ms: Option<i64>) -> Answer<Given> {
        self.submit("latchWait", id, |state| ops::latch_wait(state, handle(latch), wait_ms))
    }

    #[napi(catch_unwind)]
    pub fn latch_delete(&self, id: i64, latch: Given) -> Answer<Given> {
        self.submit("latchDelete", id, |state| ops::latch_delete(state, handle(latch)))
    }
}
