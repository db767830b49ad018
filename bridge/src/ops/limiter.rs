//! Rate limiters: opened by name and rates, asked.

use std::sync::Arc;

use libdlock::limit::{Absent, Algorithm, LimiterOptions};
use libdlock::{Error, ErrorKind, Rate, RateLimiter, Result, embed};

use super::args;
use crate::client::ClientEntry;
use crate::ends::HandleEnd;
use crate::handle::Handle;
use crate::near::Freed;
use crate::objects::LimiterEntry;
use crate::outcome::{Decision, Decisions};
use crate::state::State;

impl HandleEnd for LimiterEntry {
    fn freed(self: Arc<Self>, _state: &'static State, _handle: Handle) -> Result<()> {
        self.freed.set();
        Ok(())
    }
}

/// A rate in plain numbers. Ranges are core's to check.
#[derive(Clone, Copy, Debug)]
pub struct RateArgs {
    /// Tokens of one period; 0 refuses everything.
    pub tokens: i64,
    /// The period in microseconds.
    pub per_us: i64,
    /// The most tokens at once; none is the tokens of one period.
    pub burst: Option<i64>,
    /// How it counts.
    pub algorithm: Algorithm,
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

/// The limiter `name` of `client`, with one rate or several. No I/O. `prefetch`: see `LimiterOptions::prefetch` of core; none fetches
/// nothing ahead.
///
/// # Errors
/// `InvalidName`, `InvalidArgument`, `Closed`.
pub fn limiter_open(
    state: &State,
    client: Handle,
    name: &[u8],
    rates: &[RateArgs],
    absent: Absent,
    prefetch: Option<f64>,
) -> Result<Handle> {
    let op = "rate limiter";
    let client = state.get::<ClientEntry>(client, op)?;
    let name = libdlock::embed::name_from_utf8(name)?;
    let rates: Result<Vec<Rate>> = rates.iter().map(|rate| read_rate(*rate, op)).collect();
    let mut options = LimiterOptions::new(rates.map_err(|error| args::on(error, &client.client, name))?).absent(absent);
    if let Some(share) = prefetch {
        options = options.prefetch(share);
    }
    let limiter = client.client.rate_limiter_with(name, options)?;
    state.insert(Arc::new(LimiterEntry { limiter, freed: Freed::default() }))
}

fn read_rate(given: RateArgs, op: &'static str) -> Result<Rate> {
    let tokens = args::count(given.tokens, "rate", "0 to 1000000000000 tokens", op)?;
    let per = args::micros(given.per_us, "period", "1 us to 100 years", op)?;
    let rate = Rate::new(tokens, per).by(given.algorithm);
    match given.burst {
        None => Ok(rate),
        Some(burst) => Ok(rate.burst(args::count(burst, "burst", "1 to 1000000000000 tokens", op)?)),
    }
}

/// The name that it was made with.
pub fn limiter_name(state: &State, limiter: Handle) -> Result<String> {
    Ok(find(state, limiter, "name")?.limiter.name().to_owned())
}

/// The name on the server, of a `key` if one is given, as errors say it.
pub fn limiter_key(state: &State, limiter: Handle, key: Option<&[u8]>) -> Result<String> {
    Ok(of_key(&find(state, limiter, "name")?.limiter, key)?.key().to_owned())
}

/// Takes `cost` tokens, of the bucket of a `key` if one is given. `wait_ms`: none waits for ever, 0 does not wait. A cost of 0
/// asks how things stand for one token, and never waits.
///
/// # Errors
/// As `RateLimiter::keyed` and `RateLimiter::acquire` of core. A refusal is no error.
///
/// # Cancel safety
/// As `RateLimiter::acquire` of core: dropped while it waits, it gives the tokens back.
pub async fn limiter_acquire(
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
    Ok(limiter.acquire(cost, wait).await?.into())
}

/// Takes `cost` tokens as far as that needs no server; none says that [`limiter_acquire`] has to be called, also where it
/// fails. Takes a fraction of a microsecond, and blocks nobody.
///
/// # Errors
/// For a handle that is no limiter.
pub fn limiter_try_acquire_now(state: &State, limiter: Handle, cost: i64) -> Result<Option<Decision>> {
    let limiter = state.near::<LimiterEntry>(limiter, "rate limit")?;
    let Ok(cost) = u64::try_from(cost) else { return Ok(None) };
    Ok(limiter.limiter.try_acquire_now(cost).map(Decision::from))
}

/// Takes tokens of several keys, with a cost for each, in one round trip. What is wrong with one item is its own answer.
///
/// # Errors
/// As `RateLimiter::try_acquire_many` of core.
pub async fn limiter_acquire_many(
    state: &'static State,
    limiter: Handle,
    items: Vec<(Vec<u8>, i64)>,
) -> Result<Decisions> {
    let op = "rate limit";
    let limiter = find(state, limiter, op)?.limiter.clone();
    embed::check_decision_batch(&limiter, items.len())?;
    let read = |(key, cost): &'_ (Vec<u8>, i64)| -> Result<u64> {
        let key = read_key(&limiter, key)?;
        let on = |error: Error| error.on(&[limiter.key(), ":", key].concat());
        args::count(*cost, "cost", "0 or more", op).map_err(on)
    };
    let costs: Vec<Result<u64>> = items.iter().map(read).collect();
    let asked = items.iter().zip(&costs).filter_map(|((key, _), cost)| {
        let key = std::str::from_utf8(key).ok()?;
        Some((key, *cost.as_ref().ok()?))
    });
    let asked: Vec<(&str, u64)> = asked.collect();
    // All may have been refused here.
    let answers = if asked.is_empty() { Vec::new() } else { limiter.try_acquire_many(&asked).await? };
    let mut answers = answers.into_iter();
    let each = costs.into_iter().map(|cost| cost.and_then(|_| answers.next().expect("an answer to each")));
    Ok(Decisions(each.map(|answer| answer.map(Decision::from)).collect()))
}

/// Fills the bucket, for everybody: that of a `key` if one is given.
pub async fn limiter_reset(state: &'static State, limiter: Handle, key: Option<Vec<u8>>) -> Result<()> {
    of_key(&find(state, limiter, "reset rate limit")?.limiter, key.as_deref())?.reset().await
}

pub(super) fn of_key(limiter: &RateLimiter, key: Option<&[u8]>) -> Result<RateLimiter> {
    match key {
        None => Ok(limiter.clone()),
        Some(key) => limiter.keyed(read_key(limiter, key)?),
    }
}

pub(super) fn read_key<'key>(limiter: &RateLimiter, key: &'key [u8]) -> Result<&'key str> {
    embed::name_from_utf8(key).map_err(|error| error.on(limiter.key()))
}

pub(super) fn find(state: &State, limiter: Handle, op: &'static str) -> Result<Arc<LimiterEntry>> {
    state.get(limiter, op)
}
