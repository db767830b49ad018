//! The operations of the library over handles: what a binding calls, once it has its arguments.
//!
//! Each is an `async fn` that owns its arguments, so that it can be waited for ([`State::wait`](crate::State::wait)) or
//! submitted to a port ([`State::submit`](crate::State::submit)). Looking a handle up is part of the operation.

mod args;
mod client;
mod held;
mod limiter;
mod lock;
mod semaphore;
mod snowflake;
mod stats;

pub use self::args::given;
pub use self::client::{LogTo, client_abandon, client_close, client_is_closed, client_open};
#[cfg(test)]
pub(crate) use self::held::keep;
pub use self::held::{
    Holding, held_detach, held_extend, held_hold_count, held_loss, held_owner, held_permits, held_reenter,
    held_release, held_remaining, held_token, held_valid, held_wait_lost,
};
pub use self::limiter::{RateArgs, absent, limiter_acquire, limiter_key, limiter_name, limiter_open, limiter_reset};
pub use self::lock::{
    lock_acquire, lock_attach, lock_check_wait, lock_detach, lock_extend, lock_force_release, lock_held,
    lock_hold_count, lock_inspect, lock_name, lock_open, lock_reenter, lock_release, lock_release_reentry,
};
pub use self::semaphore::{
    semaphore_acquire, semaphore_extend, semaphore_held, semaphore_hold_count, semaphore_inspect, semaphore_name,
    semaphore_open, semaphore_release, semaphore_set_permits,
};
pub use self::snowflake::{
    SnowflakeArgs, id_encode, id_parse, layout, layout_named, snowflake_decode, snowflake_fill, snowflake_layout,
    snowflake_next_id, snowflake_next_ids, snowflake_open,
};
pub use self::stats::{Histogram, client_stats, counters, histograms};
pub use crate::outcome::{Decision, Held, Inspection, Outcome, SemaphoreInspection};
