//! A rate limiter's answer.

use libdlock_bridge::ops::Decision;

/// What a rate limiter answers. Begin with DLOCK_DECISION_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_decision_t {
    /// `sizeof(dlock_decision_t)`.
    pub struct_size: usize,
    // <api:decision> written by `python3 api/write.py` from api/records.json
    /// Whether the tokens were granted; of a `peek`, whether one could be had.
    pub allowed: bool,
    /// How many were: the cost, or 0.
    pub granted: i64,
    /// How many could be had at once now; zero while a block refuses all.
    pub remaining: i64,
    /// How long until the same cost can be granted, at the soonest: zero when it was granted, -1 for never.
    pub retry_after_us: i64,
    /// How long until the bucket is full again, and a block over.
    pub reset_after_us: i64,
    /// The most that can be had at once: the burst, or this client's share of it when a policy granted that.
    pub limit: i64,
    /// Which of the limiter's rates is the last to have the tokens of a request that was refused, counted from 0; -1
    /// when it was granted, and when a block or a policy refused it.
    pub refused_by: i64,
    /// How long until the tokens that were granted may be used: zero except after `reserve`.
    pub usable_after_us: i64,
    /// When it was decided, or from when on the tokens that were waited for may be used, on the server's clock, in
    /// microseconds since 1970; -1 when a policy decided without the server.
    pub server_time_us: i64,
    // </api:decision>
}

impl dlock_decision_t {
    pub(crate) const EMPTY: Self = Self {
        struct_size: size_of::<Self>(),
        allowed: false,
        granted: 0,
        remaining: 0,
        retry_after_us: 0,
        reset_after_us: 0,
        limit: 0,
        refused_by: -1,
        usable_after_us: 0,
        server_time_us: -1,
    };

    pub(crate) fn of(decision: &Decision) -> Self {
        Self {
            // <api:decision-of> written by `python3 api/write.py` from api/records.json
            allowed: decision.allowed,
            granted: decision.granted as i64,
            remaining: decision.remaining as i64,
            retry_after_us: decision.retry_after_us.map_or(-1, |number| number as i64),
            reset_after_us: decision.reset_after_us as i64,
            limit: decision.limit as i64,
            refused_by: decision.refused_by.map_or(-1, |number| number as i64),
            usable_after_us: decision.usable_after_us as i64,
            server_time_us: decision.server_time_us.map_or(-1, |number| number as i64),
            // </api:decision-of>
            ..Self::EMPTY
        }
    }
}
