//! The decisions that the callers of an event loop ask for in one turn of it: one call, and few operations.

use std::future::Future;
use std::pin::Pin;

use libdlock::{Error, RateLimiter, Result, embed};

use super::args;
use super::limiter::{find, read_key};
use crate::handle::Handle;
use crate::outcome::Decisions;
use crate::state::State;

/// What one caller asks for: tokens of the bucket of a key, if one is given, and how many.
pub type Ask = (Option<Vec<u8>>, i64);

/// Some of the callers, whose answers come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// How many they are.
    pub callers: usize,
    /// Their operation. It brings an answer to each.
    pub op: Handle,
}

/// The work of a part.
pub type Asking = Pin<Box<dyn Future<Output = Result<Decisions>> + Send>>;

/// Takes tokens that are there now for each of these callers, in their order: as [`limiter_acquire`](super::limiter_acquire)
/// without a wait. `submit` gets the work of each part, and the place of its first caller. What is wrong with one is its own
/// answer.
///
/// # Errors
/// As those of `submit`; for a handle that is no limiter.
pub fn limiter_submit_each(
    state: &'static State,
    limiter: Handle,
    asks: Vec<Ask>,
    mut submit: impl FnMut(usize, Asking) -> Result<Handle>,
) -> Result<Vec<Part>> {
    let limiter = find(state, limiter, OP)?.limiter.clone();
    // What is no key is not asked for, wherever it stands.
    let keys = asks.iter().map(|(key, _)| key.as_deref().and_then(|key| std::str::from_utf8(key).ok()));
    let sizes = embed::parts(&limiter, &keys.map(|key| (key, 0)).collect::<Vec<_>>());
    let mut rest = asks.into_iter();
    let mut parts = Vec::with_capacity(sizes.len());
    let mut first = 0;
    for callers in sizes {
        let asks: Vec<Ask> = rest.by_ref().take(callers).collect();
        let op = submit(first, Box::pin(try_acquire_each(limiter.clone(), asks)))?;
        parts.push(Part { callers, op });
        first += callers;
    }
    Ok(parts)
}

const OP: &str = "rate limit";

async fn try_acquire_each(limiter: RateLimiter, asks: Vec<Ask>) -> Result<Decisions> {
    let read: Vec<Result<(Option<&str>, u64)>> = asks.iter().map(|ask| read_ask(&limiter, ask)).collect();
    let asked: Vec<(Option<&str>, u64)> = read.iter().flatten().copied().collect();
    // All may have been refused here.
    let answers = if asked.is_empty() { Vec::new() } else { embed::try_acquire_each(&limiter, &asked).await };
    let mut answers = answers.into_iter();
    let each = read.into_iter().map(|ask| ask.and_then(|_| answers.next().expect("an answer to each")));
    Ok(Decisions(each.map(|answer| answer.map(Into::into)).collect()))
}

fn read_ask<'ask>(limiter: &RateLimiter, (key, cost): &'ask Ask) -> Result<(Option<&'ask str>, u64)> {
    let key = key.as_deref().map(|key| read_key(limiter, key)).transpose()?;
    let on = |error: Error| match key {
        None => error.on(limiter.key()),
        Some(key) => error.on(&[limiter.key(), ":", key].concat()),
    };
    Ok((key, args::count(*cost, "cost", "0 or more", OP).map_err(on)?))
}
