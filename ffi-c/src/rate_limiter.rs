//! Rate limiters.

use std::ffi::c_char;
use std::time::Duration;

use libdlock::limit::Absent;
use libdlock::{Error, ErrorKind, Result};
use libdlock_bridge::ops::{self, Decision, RateArgs};
use libdlock_bridge::{Handle, HandleKind, State};

use crate::call::{Buffer, call, free, tell};
use crate::decision::dlock_decision_t;
use crate::error::{dlock_error_t, dlock_status_t, refuse_for};
use crate::out::{Out, sized, sized_out};
use crate::rate::{DLOCK_ALGORITHM_GCRA, algorithm, dlock_algorithm_t, dlock_rate_t, read_more};
use crate::text;
use crate::types::{dlock_cancel_t, dlock_client_t, handle, id, optional_id, wait};

/// A rate limiter, by name and rate.
pub struct dlock_rate_limiter_t(());

/// What a rate limiter answers while the server cannot be reached.
pub type dlock_absent_t = i32;
/// Returns the error: DLOCK_CONNECTION, DLOCK_OUTCOME_UNKNOWN.
pub const DLOCK_ABSENT_FAIL: dlock_absent_t = 0;
/// No to everything.
pub const DLOCK_ABSENT_DENY: dlock_absent_t = 1;
/// Yes to everything.
pub const DLOCK_ABSENT_ALLOW: dlock_absent_t = 2;
/// What this client's share of the rate allows; see `share_of`.
pub const DLOCK_ABSENT_LOCAL_SHARE: dlock_absent_t = 3;

/// How to make a rate limiter. Begin with DLOCK_RATE_LIMITER_OPTIONS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_rate_limiter_options_t {
    /// `sizeof(dlock_rate_limiter_options_t)`.
    pub struct_size: usize,
    /// Whether `burst` is given; otherwise it is the tokens of one period.
    pub has_burst: bool,
    /// The most tokens that can be had at once, the whole bucket.
    pub burst: i64,
    /// What it answers while the server cannot be reached.
    pub absent: dlock_absent_t,
    /// With DLOCK_ABSENT_LOCAL_SHARE: among how many clients the rate is shared then, 1 to 1000000.
    pub share_of: i64,
    /// How the rate counts.
    pub algorithm: dlock_algorithm_t,
    /// Further rates, each of which has to grant a request too for any of them to be charged; of two rates, the one with the longer
    /// period has more tokens. May be NULL.
    pub more_rates: *const dlock_rate_t,
    /// How many further rates: 0 to 7.
    pub more_rates_count: usize,
    /// The largest part of the burst that this client may fetch ahead, more than 0 and at most 1; 0 fetches nothing ahead. A
    /// client that has tokens decides in less than a microsecond, and asks the server some 25 times a second, up to 45 when
    /// there is less than is wanted. The rate is kept as without it. The price: a client that has fetched its share goes on
    /// for 80 ms or so while another is refused, and what a process has that dies, never more than the rate brings in 0.9 s,
    /// is lost. A key of the limiter fetches nothing ahead.
    pub prefetch: f64,
}

/// Makes a limiter of `tokens` (0 to 10^12; 0 refuses everything) in each `per_us` microseconds (1 to 100 years), shared by
/// all that use the name; they should give the same rate. No I/O. `options` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rate_limiter_open(
    client: *const dlock_client_t,
    name: *const c_char,
    name_len: usize,
    tokens: i64,
    per_us: i64,
    options: *const dlock_rate_limiter_options_t,
    out_limiter: *mut *mut dlock_rate_limiter_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_rate_limiter_open";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_limiter, "out_limiter", op)?;
            let name = text::name(name, name_len, op)?;
            let mut rates =
                vec![RateArgs { tokens, per_us, burst: None, algorithm: algorithm(DLOCK_ALGORITHM_GCRA, op)? }];
            let mut policy = Absent::default();
            let mut prefetch = None;
            if !options.is_null() {
                let given = sized(options, "options", op)?;
                rates[0].burst = given.has_burst.then_some(given.burst);
                rates[0].algorithm = algorithm(given.algorithm, op)?;
                read_more(&mut rates, given.more_rates, given.more_rates_count, op)?;
                policy = absent(given.absent, given.share_of, op)?;
                prefetch = (given.prefetch != 0.0).then_some(given.prefetch);
            }
            out.put(handle(ops::limiter_open(state, id(client), name, &rates, policy, prefetch)?));
            Ok(())
        })
    }
}

/// Gives the handle up; the bucket stays.
#[unsafe(no_mangle)]
pub extern "C" fn dlock_rate_limiter_free(limiter: *mut dlock_rate_limiter_t) -> dlock_status_t {
    free("dlock_rate_limiter_free", HandleKind::Limiter, limiter)
}

/// Writes the limiter's name and a NUL to `buffer`, and its bytes without the NUL to
/// `out_len`. A buffer of DLOCK_NAME_SIZE is always large enough.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rate_limiter_name(
    limiter: *const dlock_rate_limiter_t,
    buffer: *mut c_char,
    buffer_size: usize,
    out_len: *mut usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let into = Buffer { start: buffer, size: buffer_size, out_len };
    // SAFETY: the caller's promise, see the header.
    unsafe { tell("dlock_rate_limiter_name", into, error, |state| ops::limiter_name(state, id(limiter))) }
}

/// Takes `cost` tokens, waiting for them at most `wait_ms`: -1 for ever, 0 not at all. All that wait, in all
/// processes, are served in the order in which their requests reach the server. DLOCK_LIMITED, at once, when they are not to be
/// had within the wait. A cost of 0 asks how things stand for one token, and never waits. The decision is written with DLOCK_OK
/// and DLOCK_LIMITED alike; `out_decision` may be NULL. More than the burst can never be granted: `retry_after_us` is -1. After
/// DLOCK_OUTCOME_UNKNOWN count the tokens as spent; DLOCK_CANCELLED gives them back, unless the decision was under way.
/// `cancel` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rate_limiter_acquire(
    limiter: *const dlock_rate_limiter_t,
    cost: i64,
    wait_ms: i64,
    cancel: *const dlock_cancel_t,
    out_decision: *mut dlock_decision_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_rate_limiter_acquire", error, |state| {
            decide(state, id(limiter), None, cost, wait_ms, optional_id(cancel), out_decision)
        })
    }
}

/// Takes `cost` tokens if they are there now. Otherwise as dlock_rate_limiter_acquire(). Does not ask the server for what a
/// limiter with `prefetch` can decide by itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rate_limiter_try_acquire(
    limiter: *const dlock_rate_limiter_t,
    cost: i64,
    out_decision: *mut dlock_decision_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_rate_limiter_try_acquire", error, |state| {
            decide(state, id(limiter), None, cost, 0, None, out_decision)
        })
    }
}

/// How things stand for one token; spends nothing. DLOCK_OK when it could be had now, DLOCK_LIMITED when not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rate_limiter_peek(
    limiter: *const dlock_rate_limiter_t,
    out_decision: *mut dlock_decision_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_rate_limiter_peek", error, |state| decide(state, id(limiter), None, 0, 0, None, out_decision))
    }
}

/// Forgets what was taken, and a block, for everybody.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rate_limiter_reset(
    limiter: *const dlock_rate_limiter_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_rate_limiter_reset", error, |state| state.wait(ops::limiter_reset(state, id(limiter), None), None))
    }
}

/// As dlock_rate_limiter_acquire(), of one key of many, such as a user's id: each has a bucket of its own, that of the limiter
/// `NAME:KEY`. Nothing is kept of a key that nobody waits for, so there may be millions of them. DLOCK_INVALID_NAME for a key
/// that is empty, or with which that is no name: too long, not UTF-8, with a NUL or odd braces.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rate_limiter_acquire_keyed(
    limiter: *const dlock_rate_limiter_t,
    key: *const c_char,
    key_len: usize,
    cost: i64,
    wait_ms: i64,
    cancel: *const dlock_cancel_t,
    out_decision: *mut dlock_decision_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_rate_limiter_acquire_keyed";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let key = text::name(key, key_len, op)?;
            decide(state, id(limiter), Some(key), cost, wait_ms, optional_id(cancel), out_decision)
        })
    }
}

/// As dlock_rate_limiter_try_acquire(), of one key; see dlock_rate_limiter_acquire_keyed().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rate_limiter_try_acquire_keyed(
    limiter: *const dlock_rate_limiter_t,
    key: *const c_char,
    key_len: usize,
    cost: i64,
    out_decision: *mut dlock_decision_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_rate_limiter_try_acquire_keyed";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let key = text::name(key, key_len, op)?;
            decide(state, id(limiter), Some(key), cost, 0, None, out_decision)
        })
    }
}

/// As dlock_rate_limiter_peek(), of one key; see dlock_rate_limiter_acquire_keyed().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rate_limiter_peek_keyed(
    limiter: *const dlock_rate_limiter_t,
    key: *const c_char,
    key_len: usize,
    out_decision: *mut dlock_decision_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_rate_limiter_peek_keyed";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let key = text::name(key, key_len, op)?;
            decide(state, id(limiter), Some(key), 0, 0, None, out_decision)
        })
    }
}

/// As dlock_rate_limiter_reset(), of one key; see dlock_rate_limiter_acquire_keyed().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rate_limiter_reset_keyed(
    limiter: *const dlock_rate_limiter_t,
    key: *const c_char,
    key_len: usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_rate_limiter_reset_keyed";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let key = text::name(key, key_len, op)?.to_vec();
            state.wait(ops::limiter_reset(state, id(limiter), Some(key)), None)
        })
    }
}

unsafe fn decide(
    state: &'static State,
    limiter: Handle,
    key: Option<&[u8]>,
    cost: i64,
    wait_ms: i64,
    cancel: Option<Handle>,
    out_decision: *mut dlock_decision_t,
) -> Result<()> {
    let decide = || {
        let at_once = match (key, wait_ms) {
            (None, 0) => ops::limiter_try_acquire_now(state, limiter, cost)?,
            _ => None,
        };
        if let Some(decision) = at_once {
            return Ok(decision);
        }
        let deciding = ops::limiter_acquire(state, limiter, key.map(<[u8]>::to_vec), cost, wait(wait_ms));
        state.wait(state.with_cancel(cancel, deciding), None)
    };
    // SAFETY: passed on.
    unsafe { tell_decision(state, limiter, key, out_decision, decide) }
}

/// Waits for a decision and writes it; a refusal is the error of its status.
///
/// # Safety
/// As the header says: `out_decision` is NULL or writable.
pub(crate) unsafe fn tell_decision(
    state: &'static State,
    limiter: Handle,
    key: Option<&[u8]>,
    out_decision: *mut dlock_decision_t,
    decide: impl FnOnce() -> Result<Decision>,
) -> Result<()> {
    let out = if out_decision.is_null() {
        None
    } else {
        // SAFETY: passed on.
        Some(unsafe { sized_out(out_decision, "out_decision", "rate limit")? })
    };
    let decision = decide()?;
    if let Some(out) = out {
        out.put(dlock_decision_t::of(&decision));
    }
    if decision.allowed {
        return Ok(());
    }
    let refused = refused(&decision);
    Err(match ops::limiter_key(state, limiter, key) {
        Ok(name) => refused.on(&name),
        // Freed meanwhile.
        Err(_) => refused,
    })
}

/// A refusal as the error of a status that must not be taken for success.
pub(crate) fn refused(decision: &Decision) -> Error {
    let message = match decision.retry_after_us {
        Some(us) => format!("rate limited: {} tokens available, retry in {us} us", decision.remaining),
        None if decision.limit == 0 => "a rate of 0 tokens refuses everything".to_owned(),
        None => format!("rate limited: more than can ever be had, {} tokens", decision.limit),
    };
    Error::new(ErrorKind::Limited, "rate limit", message).retry_in(decision.retry_after_us.map(Duration::from_micros))
}

fn absent(given: dlock_absent_t, share_of: i64, op: &'static str) -> Result<Absent> {
    let word = match given {
        DLOCK_ABSENT_FAIL => "fail",
        DLOCK_ABSENT_DENY => "deny",
        DLOCK_ABSENT_ALLOW => "allow",
        DLOCK_ABSENT_LOCAL_SHARE => "local_share",
        _ => return Err(refuse_for(op, format_args!("absent is {given}"), "the DLOCK_ABSENT_ numbers, 0 to 3")),
    };
    ops::absent(word, ops::given(share_of, 0))
}
