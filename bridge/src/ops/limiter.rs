//! Rate limiters: opened by name and rate, asked.

use std::sync::Arc;
use std::time::Duration;

use libdlock::limit::{Absent, LimiterOptions};
use libdlock::{Error, ErrorKind, Rate, Result, Wait};

use super::args;
use crate::client::ClientEntry;
use crate::ends::HandleEnd;
use crate::handle::Handle;
use crate::objects::LimiterEntry;
use crate::outcome::Decision;
use crate::state::State;

impl HandleEnd for LimiterEntry {}

/// A rate in plain numbers. Ranges are core's to check.
#[derive(Clone, Copy, Debug)]
pub struct RateArgs {
    /// Tokens of one period; 0 refuses everything.
    pub tokens: i64,
    /// The period in microseconds.
    pub per_us: i64,
    /// The most tokens at once; none is the tokens of one period.
    pub burst: Option<i64>,
}

/// A policy for an absent server by its word: `fail`, `deny`, `allow`, or `local_share`, and for that alone `share_of`, among
/// how many clients the rate is shared.
///
/// # Errors
/// `InvalidArgument` for any other word, and for a share that is missing, negative or out of place.
pub fn absent(word: &str, share_of: Option<i64>) -> Result<Absent> {
    const WORDS: &str = "fail, deny, allow and local_share";
    let refuse =
        |what: String, allowed: &str| Err(Error::refused(ErrorKind::InvalidArgument, "rate limiter", what, allowed));
    match (word, share_of) {
        ("fail", None) => Ok(Absent::Fail),
        ("deny", None) => Ok(Absent::Deny),
        ("allow", None) => Ok(Absent::Allow),
        ("local_share", Some(share_of)) => match u32::try_from(share_of) {
            Ok(of) => Ok(Absent::LocalShare { of }),
            Err(_) => refuse(format!("local share of one in {share_of} is out of range"), "one in 1 to 1000000"),
        },
        ("local_share", None) => {
            refuse("the policy local_share was given without its share".to_owned(), "one in 1 to 1000000")
        }
        ("fail" | "deny" | "allow", Some(share_of)) => {
            let what = format!("a share of one in {share_of} was given with the policy {word}");
            refuse(what, "a share with local_share alone")
        }
        _ => refuse(format!("there is no policy {word:?}"), WORDS),
    }
}

/// The limiter `name` of `client`. No I/O.
///
/// # Errors
/// `InvalidName`, `InvalidArgument`, `Closed`.
pub fn limiter_open(state: &State, client: Handle, name: &[u8], rate: RateArgs, absent: Absent) -> Result<Handle> {
    let op = "rate limiter";
    let client = state.get::<ClientEntry>(client, op)?;
    let name = libdlock::embed::name_from_utf8(name)?;
    let key = client.client.key_of(name)?;
    let rate = read_rate(rate, op).map_err(|error| error.on(&key))?;
    let options = LimiterOptions::new(rate).absent(absent);
    let limiter = client.client.rate_limiter_with(name, options)?;
    state.insert(Arc::new(LimiterEntry { limiter }))
}

fn read_rate(given: RateArgs, op: &'static str) -> Result<Rate> {
    let tokens = args::count(given.tokens, "rate", "0 to 1000000000000 tokens", op)?;
    let per = Duration::from_micros(args::count(given.per_us, "period", "1 us to 100 years", op)?);
    let rate = Rate::new(tokens, per);
    match given.burst {
        None => Ok(rate),
        Some(burst) => Ok(rate.burst(args::count(burst, "burst", "1 to 1000000000000 tokens", op)?)),
    }
}

/// The name that it was made with.
pub fn limiter_name(state: &State, limiter: Handle) -> Result<String> {
    Ok(find(state, limiter, "name")?.limiter.name().to_owned())
}

/// The name on the server, as errors say it.
pub fn limiter_key(state: &State, limiter: Handle) -> Result<String> {
    Ok(find(state, limiter, "name")?.limiter.key().to_owned())
}

/// Takes `cost` tokens. `wait_ms`: none waits for ever, 0 does not wait. A cost of 0 asks how things stand
/// for one token, and never waits.
///
/// # Errors
/// As `RateLimiter::acquire` of core. A refusal is no error.
///
/// # Cancel safety
/// As `RateLimiter::acquire` of core: dropped while it waits, it gives the tokens back.
pub async fn limiter_acquire(
    state: &'static State,
    limiter: Handle,
    cost: i64,
    wait_ms: Option<i64>,
) -> Result<Decision> {
    let (entry, cost, wait) = asked(state, limiter, cost, wait_ms)?;
    Ok(entry.limiter.acquire(cost, wait).await?.into())
}

fn asked(state: &State, limiter: Handle, cost: i64, wait_ms: Option<i64>) -> Result<(Arc<LimiterEntry>, u64, Wait)> {
    let op = "rate limit";
    let entry = find(state, limiter, op)?;
    let on = |error: Error| error.on(entry.limiter.key());
    let cost = args::count(cost, "cost", "0 to the burst", op).map_err(on)?;
    let wait = args::wait(wait_ms, op).map_err(on)?;
    Ok((entry, cost, wait))
}

/// Fills the bucket, for everybody.
pub async fn limiter_reset(state: &'static State, limiter: Handle) -> Result<()> {
    find(state, limiter, "reset rate limit")?.limiter.reset().await
}

fn find(state: &State, limiter: Handle, op: &'static str) -> Result<Arc<LimiterEntry>> {
    state.get(limiter, op)
}
