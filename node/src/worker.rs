//! Worker numbers: leased from a pool. Their generators are in `snowflake.rs`.

use libdlock_bridge::ops;
use napi_derive::napi;

use crate::answer::{Answer, Given, answer, handle};
use crate::environment::Environment;

#[napi]
impl Environment {
    #[napi(catch_unwind)]
    pub fn worker_lease(
        &self,
        id: i64,
        client: Given,
        pool: String,
        bits: Option<i64>,
        lease_ms: Option<i64>,
    ) -> Answer<Given> {
        self.submit("workerLease", id, |state| {
            ops::worker_lease(state, handle(client), pool.into_bytes(), bits, lease_ms)
        })
    }

    #[napi(catch_unwind)]
    pub fn worker_number(&self, held: Given) -> Answer<i64> {
        answer("workerNumber", |state| ops::worker_number(state, handle(held)))
    }

    #[napi(catch_unwind)]
    pub fn worker_bits(&self, held: Given) -> Answer<i64> {
        answer("workerBits", |state| ops::worker_bits(state, handle(held)))
    }
}
