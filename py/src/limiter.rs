//! Rate limiters: their answers as plain values.

use libdlock_bridge::ops::Decision;

/// Allowed, granted, remaining, seconds to the next try (none: never), seconds until full, the limit, and the server's time
/// in microseconds (none when a policy decided).
pub(crate) type Decided = (bool, u64, u64, Option<f64>, f64, u64, Option<u64>);

pub(crate) fn decided(decision: Decision) -> Decided {
    let seconds = |us: u64| us as f64 / 1e6;
    (
        decision.allowed,
        decision.granted,
        decision.remaining,
        decision.retry_after_us.map(seconds),
        seconds(decision.reset_after_us),
        decision.limit,
        decision.server_time_us,
    )
}
