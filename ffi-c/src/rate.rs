//! The rates of a rate limiter.

use libdlock::Result;
use libdlock::limit::Algorithm;
use libdlock_bridge::ops::{RateArgs, given};

use crate::error::{refuse, refuse_for};

/// How a rate counts.
pub type dlock_algorithm_t = i32;
/// A bucket that fills evenly: never more than the burst and what the rate brings in any interval.
pub const DLOCK_ALGORITHM_GCRA: dlock_algorithm_t = 0;
/// At most the tokens in each window, which begins with the first request after the last one is over.
pub const DLOCK_ALGORITHM_FIXED_WINDOW: dlock_algorithm_t = 1;
/// As DLOCK_ALGORITHM_FIXED_WINDOW, with windows at full minutes, hours, days of the server's clock, in UTC.
pub const DLOCK_ALGORITHM_ALIGNED_WINDOW: dlock_algorithm_t = 2;
/// At most the tokens in any interval of a period, exactly; 100000 tokens at most.
pub const DLOCK_ALGORITHM_SLIDING_LOG: dlock_algorithm_t = 3;
/// As DLOCK_ALGORITHM_SLIDING_LOG in about, in four numbers.
pub const DLOCK_ALGORITHM_SLIDING_COUNTER: dlock_algorithm_t = 4;
/// That of Redisson's `RRateLimiter`, on its keys, for all clients together. The rate on the server counts.
pub const DLOCK_ALGORITHM_REDISSON: dlock_algorithm_t = 5;
/// As DLOCK_ALGORITHM_REDISSON, for each client by itself.
pub const DLOCK_ALGORITHM_REDISSON_PER_CLIENT: dlock_algorithm_t = 6;

/// A rate of a limiter that has several. All zero but for the first two is a rate with a burst of its tokens, by
/// DLOCK_ALGORITHM_GCRA.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_rate_t {
    /// The tokens of one period, 0 to 10^12; 0 refuses everything.
    pub tokens: i64,
    /// The period in microseconds, 1 to 100 years.
    pub per_us: i64,
    /// The most tokens that can be had at once, under DLOCK_ALGORITHM_GCRA; 0 is the tokens of one period.
    pub burst: i64,
    /// How it counts.
    pub algorithm: dlock_algorithm_t,
}

/// More rates are a wild length. Core says how many there may be.
const RATES_MAX: usize = 1 << 10;

pub(crate) fn algorithm(number: dlock_algorithm_t, op: &'static str) -> Result<Algorithm> {
    let word = match number {
        DLOCK_ALGORITHM_GCRA => "gcra",
        DLOCK_ALGORITHM_FIXED_WINDOW => "fixed_window",
        DLOCK_ALGORITHM_ALIGNED_WINDOW => "aligned_window",
        DLOCK_ALGORITHM_SLIDING_LOG => "sliding_log",
        DLOCK_ALGORITHM_SLIDING_COUNTER => "sliding_counter",
        DLOCK_ALGORITHM_REDISSON => "redisson",
        DLOCK_ALGORITHM_REDISSON_PER_CLIENT => "redisson_per_client",
        _ => {
            return Err(refuse_for(op, format_args!("algorithm is {number}"), "the DLOCK_ALGORITHM_ numbers, 0 to 6"));
        }
    };
    word.parse()
}

/// Puts the rates at `start` behind those that are there.
///
/// # Safety
/// As the header says: `start` is NULL or readable for `count` rates.
pub(crate) unsafe fn read_more(
    rates: &mut Vec<RateArgs>,
    start: *const dlock_rate_t,
    count: usize,
    op: &'static str,
) -> Result<()> {
    if count > RATES_MAX {
        return Err(refuse_for(op, format_args!("more_rates_count is {count}"), "0 to 7"));
    }
    if start.is_null() && count > 0 {
        return Err(refuse(op, format!("more_rates is NULL with a count of {count}")));
    }
    for at in 0..count {
        // SAFETY: not null, and `at` is below `count`, for which it is readable by the promise.
        let dlock_rate_t { tokens, per_us, burst, algorithm: number } = unsafe { start.add(at).read_unaligned() };
        rates.push(RateArgs { tokens, per_us, burst: given(burst, 0), algorithm: algorithm(number, op)? });
    }
    Ok(())
}
