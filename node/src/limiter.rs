//! Rate limiters: opened by name and rate, asked.

use libdlock_bridge::HandleKind;
use libdlock_bridge::ops::{self, RateArgs};
use napi_derive::napi;

use crate::answer::{Answer, Given, answer, give, handle};
use crate::environment::Environment;

/// A rate as JavaScript gives it.
#[napi(object, object_to_js = false)]
pub struct Rate {
    pub tokens: i64,
    pub per_us: i64,
    pub burst: Option<i64>,
}

#[napi]
impl Environment {
    /// The limiter's handle. No I/O. `absent` is a policy's word, `share_of` belongs to `local_share`.
    #[napi(catch_unwind)]
    pub fn limiter_open(
        &self,
        client: Given,
        name: String,
        rate: Rate,
        absent: String,
        share_of: Option<i64>,
    ) -> Answer<Given> {
        answer("limiterOpen", |state| {
            let Rate { tokens, per_us, burst } = rate;
            let rate = RateArgs { tokens, per_us, burst };
            let absent = ops::absent(&absent, share_of)?;
            let limiter = ops::limiter_open(state, handle(client), name.as_bytes(), rate, absent)?;
            self.inner.lend(HandleKind::Limiter, limiter);
            Ok(give(limiter))
        })
    }

    #[napi(catch_unwind)]
    pub fn limiter_acquire(&self, id: i64, limiter: Given, cost: i64, wait_ms: Option<i64>) -> Answer<Given> {
        self.submit("limiterAcquire", id, |state| ops::limiter_acquire(state, handle(limiter), cost, wait_ms))
    }

    #[napi(catch_unwind)]
    pub fn limiter_reset(&self, id: i64, limiter: Given) -> Answer<Given> {
        self.submit("limiterReset", id, |state| ops::limiter_reset(state, handle(limiter)))
    }
}
