//! Rate limiters: opened by name and rate, asked.

use libdlock_bridge::HandleKind;
use libdlock_bridge::ops::{self, RateArgs};
use napi::bindgen_prelude::{Float64ArraySlice, Utf16String};
use napi_derive::napi;

use crate::answer::{Answer, Given, answer, give, handle};
use crate::environment::Environment;

/// A rate as JavaScript gives it.
#[napi(object, object_to_js = false)]
pub struct Rate {
    pub tokens: i64,
    pub per_us: i64,
    pub burst: Option<i64>,
    /// Its word.
    pub algorithm: String,
}

impl Rate {
    fn read(&self) -> libdlock::Result<RateArgs> {
        let algorithm = self.algorithm.parse()?;
        Ok(RateArgs { tokens: self.tokens, per_us: self.per_us, burst: self.burst, algorithm })
    }
}

#[napi]
impl Environment {
    /// The limiter's handle. No I/O. `absent` is a policy's word, `share_of` belongs to `local_share`.
    #[napi(catch_unwind)]
    pub fn limiter_open(
        &self,
        client: Given,
        name: String,
        rates: Vec<Rate>,
        absent: String,
        share_of: Option<i64>,
        prefetch: Option<f64>,
    ) -> Answer<Given> {
        answer("limiterOpen", |state| {
            let rates: Vec<RateArgs> = rates.iter().map(Rate::read).collect::<libdlock::Result<_>>()?;
            let absent = ops::absent(&absent, share_of)?;
            let limiter = ops::limiter_open(state, handle(client), name.as_bytes(), &rates, absent, prefetch)?;
            self.inner.lend(HandleKind::Limiter, limiter);
            Ok(give(limiter))
        })
    }

    #[napi(catch_unwind)]
    pub fn limiter_acquire(
        &self,
        id: i64,
        limiter: Given,
        cost: i64,
        wait_ms: Option<i64>,
        of_key: Option<String>,
    ) -> Answer<Given> {
        let of_key = of_key.map(String::into_bytes);
        self.submit("limiterAcquire", id, |state| ops::limiter_acquire(state, handle(limiter), of_key, cost, wait_ms))
    }

    /// Without the server, as far as that goes: 0 when it has to be asked, 1 for a refusal, 2 for a grant. `numbers` gets the
    /// six numbers of the decision; those that are not there are -1.
    #[napi(catch_unwind)]
    pub fn limiter_try_acquire_now(
        &self,
        limiter: Given,
        cost: i64,
        mut numbers: Float64ArraySlice<'_>,
    ) -> Answer<u32> {
        // SAFETY: no JavaScript runs before this returns, so nobody else looks at the array or detaches it.
        let numbers = unsafe { numbers.as_mut() };
        answer("limiterTryAcquireNow", |state| {
            let Some(decision) = ops::limiter_try_acquire_now(state, handle(limiter), cost)? else { return Ok(0) };
            let told = [
                decision.granted as f64,
                decision.remaining as f64,
                decision.retry_after_us.map_or(-1.0, |us| us as f64 / 1_000.0),
                decision.reset_after_us as f64 / 1_000.0,
                decision.limit as f64,
                decision.server_time_us.map_or(-1.0, |us| us as f64),
            ];
            numbers.iter_mut().zip(told).for_each(|(into, number)| *into = number);
            Ok(1 + u32::from(decision.allowed))
        })
    }

    /// Without a wait, `count` of them. `asks` has an id and a cost of each; there are as many `keys`, or none. Of each part of
    /// them that is answered together: how many they are, and its operation, which brings [`Decisions`] under the id of the first.
    ///
    /// [`Decisions`]: crate::completion::Decisions
    #[napi(catch_unwind)]
    pub fn limiter_submit_each(
        &self,
        limiter: Given,
        count: u32,
        asks: Float64ArraySlice<'_>,
        keys: Vec<String>,
    ) -> Answer<Vec<f64>> {
        let pairs = asks.chunks_exact(2).take(count as usize);
        let ids: Vec<u64> = pairs.clone().map(|pair| (pair[0] as i64).cast_unsigned()).collect();
        let mut keys = keys.into_iter().map(String::into_bytes);
        let asks = pairs.map(|pair| (keys.next(), pair[1] as i64)).collect();
        answer("limiterSubmitEach", |state| {
            let submit = |first: usize, asking| state.submit(self.inner.port(), ids[first], asking);
            let parts = ops::limiter_submit_each(state, handle(limiter), asks, submit)?;
            Ok(parts.iter().flat_map(|part| [part.callers as f64, give(part.op)]).collect())
        })
    }

    /// As many costs as keys.
    #[napi(catch_unwind)]
    pub fn limiter_acquire_many(
        &self,
        id: i64,
        limiter: Given,
        keys: Vec<Utf16String>,
        costs: Vec<i64>,
    ) -> Answer<Given> {
        let items = keys.iter().map(|key| utf8(key)).zip(costs).collect();
        self.submit("limiterAcquireMany", id, |state| ops::limiter_acquire_many(state, handle(limiter), items))
    }

    #[napi(catch_unwind)]
    pub fn limiter_reset(&self, id: i64, limiter: Given, of_key: Option<String>) -> Answer<Given> {
        let of_key = of_key.map(String::into_bytes);
        self.submit("limiterReset", id, |state| ops::limiter_reset(state, handle(limiter), of_key))
    }

    #[napi(catch_unwind)]
    pub fn limiter_reserve(
        &self,
        id: i64,
        limiter: Given,
        cost: i64,
        wait_ms: Option<i64>,
        of_key: Option<String>,
    ) -> Answer<Given> {
        let of_key = of_key.map(String::into_bytes);
        self.submit("limiterReserve", id, |state| ops::limiter_reserve(state, handle(limiter), of_key, cost, wait_ms))
    }

    #[napi(catch_unwind)]
    pub fn limiter_penalty(&self, id: i64, limiter: Given, tokens: i64, of_key: Option<String>) -> Answer<Given> {
        let of_key = of_key.map(String::into_bytes);
        self.submit("limiterPenalty", id, |state| ops::limiter_penalty(state, handle(limiter), of_key, tokens))
    }

    #[napi(catch_unwind)]
    pub fn limiter_reward(&self, id: i64, limiter: Given, tokens: i64, of_key: Option<String>) -> Answer<Given> {
        let of_key = of_key.map(String::into_bytes);
        self.submit("limiterReward", id, |state| ops::limiter_reward(state, handle(limiter), of_key, tokens))
    }

    #[napi(catch_unwind)]
    pub fn limiter_block(&self, id: i64, limiter: Given, length_ms: i64, of_key: Option<String>) -> Answer<Given> {
        let of_key = of_key.map(String::into_bytes);
        self.submit("limiterBlock", id, |state| ops::limiter_block(state, handle(limiter), of_key, length_ms))
    }
}

/// A key as UTF-8; a lone surrogate, which has none, as the three bytes that the bridge refuses.
fn utf8(key: &[u16]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(key.len());
    for decoded in char::decode_utf16(key.iter().copied()) {
        match decoded {
            Ok(char) => bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
            Err(lone) => {
                let unit = lone.unpaired_surrogate();
                bytes.extend([0xe0 | (unit >> 12) as u8, 0x80 | (unit >> 6 & 0x3f) as u8, 0x80 | (unit & 0x3f) as u8]);
            }
        }
    }
    bytes
}
