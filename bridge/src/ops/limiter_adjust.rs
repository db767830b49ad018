//! What a rate limiter is told outside of a decision, of the bucket of a `key` if one is given: tokens that are taken for later,
//! taken all the same, or given back, and a time in which nothing is granted.

use libdlock::{Error, Result};

use super::args;
use super::limiter::{find, of_key};
use crate::handle::Handle;
use crate::outcome::Decision;
use crate::state::State;

/// Takes `cost` tokens now, for use when they are there, within `wait_ms` (none: whenever that is). A refusal is no error.
///
/// # Errors and cancel safety
/// As `RateLimiter::reserve` of core.
pub async fn limiter_reserve(
    state: &'static State,
    limiter: Handle,
    key: Option<Vec<u8>>,
    cost: i64,
    wait_ms: Option<i64>,
) -> Result<Decision> {
    let op = "rate limit";
    let limiter = of_key(&find(state, limiter, op)?.limiter, key.as_deref())?;
    let on = |error: Error| error.on(limiter.key());
    let cost = args::count(cost, "cost", "0 or more", op).map_err(on)?;
    let wait = args::wait(wait_ms, op).map_err(on)?;
    Ok(limiter.reserve(cost, wait).await?.into())
}

/// Takes `tokens` whether or not they are there.
///
/// # Errors and cancel safety
/// As `RateLimiter::penalty` of core.
pub async fn limiter_penalty(state: &'static State, limiter: Handle, key: Option<Vec<u8>>, tokens: i64) -> Result<()> {
    let op = "penalty";
    let limiter = of_key(&find(state, limiter, op)?.limiter, key.as_deref())?;
    let tokens = args::count(tokens, "tokens", "1 to the burst", op).map_err(|error| error.on(limiter.key()))?;
    limiter.penalty(tokens).await
}

/// Gives `tokens` back.
///
/// # Errors and cancel safety
/// As `RateLimiter::reward` of core.
pub async fn limiter_reward(state: &'static State, limiter: Handle, key: Option<Vec<u8>>, tokens: i64) -> Result<()> {
    let op = "reward";
    let limiter = of_key(&find(state, limiter, op)?.limiter, key.as_deref())?;
    let tokens = args::count(tokens, "tokens", "1 to the burst", op).map_err(|error| error.on(limiter.key()))?;
    limiter.reward(tokens).await
}

/// Grants nothing to anybody for `length_ms` from now on; 0 ends it.
///
/// # Errors and cancel safety
/// As `RateLimiter::block` of core.
pub async fn limiter_block(state: &'static State, limiter: Handle, key: Option<Vec<u8>>, length_ms: i64) -> Result<()> {
    let op = "block";
    let limiter = of_key(&find(state, limiter, op)?.limiter, key.as_deref())?;
    let length = args::millis(length_ms, "block length", "zero to 100 years", op);
    limiter.block(length.map_err(|error| error.on(limiter.key()))?).await
}
