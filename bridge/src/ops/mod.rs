//! The operations of the library over handles: what a binding calls, once it has its arguments.
//!
//! Each is an `async fn` that owns its arguments, so that it can be waited for ([`State::wait`](crate::State::wait)) or
//! submitted to a port ([`State::submit`](crate::State::submit)). Looking a handle up is part of the operation.

mod args;
mod bloom_filter;
mod client;
mod clock;
mod counting_semaphore;
mod held;
mod id_generator;
mod latch;
mod limiter;
mod limiter_adjust;
mod limiter_each;
mod lock;
mod lock_all;
mod queue;
mod queue_jobs;
mod rw_lock;
mod semaphore;
mod snowflake;
mod stats;
mod worker;

pub use self::args::{check_wait, given};
pub use self::bloom_filter::{
    BloomItems, bloom_filter_add, bloom_filter_add_one, bloom_filter_clear, bloom_filter_contains,
    bloom_filter_contains_one, bloom_filter_count, bloom_filter_false_positive_rate, bloom_filter_hashes,
    bloom_filter_key, bloom_filter_name, bloom_filter_open, bloom_filter_size,
};
pub use self::client::{LogTo, client_abandon, client_close, client_is_closed, client_open, client_open_at};
pub use self::clock::{clock_advance, clock_new};
pub use self::counting_semaphore::{
    counting_semaphore_acquire, counting_semaphore_add_permits, counting_semaphore_drain, counting_semaphore_inspect,
    counting_semaphore_key, counting_semaphore_name, counting_semaphore_open, counting_semaphore_release,
    counting_semaphore_try_set_permits,
};
#[cfg(test)]
pub(crate) use self::held::keep;
pub use self::held::{
    Holding, held_detach, held_downgrade, held_extend, held_hold_count, held_loss, held_lost_member, held_owner,
    held_permits, held_reenter, held_release, held_remaining, held_token, held_token_of, held_tokens, held_valid,
    held_wait_lost,
};
pub use self::id_generator::{
    id_generator_block_size, id_generator_key, id_generator_name, id_generator_next_id, id_generator_next_ids,
    id_generator_open,
};
pub use self::latch::{
    latch_count, latch_count_down, latch_delete, latch_key, latch_name, latch_open, latch_try_set_count, latch_wait,
};
pub use self::limiter::{
    RateArgs, absent, limiter_acquire, limiter_acquire_many, limiter_key, limiter_name, limiter_open, limiter_reset,
    limiter_try_acquire_now,
};
pub use self::limiter_adjust::{limiter_block, limiter_penalty, limiter_reserve, limiter_reward};
pub use self::limiter_each::{Ask, Asking, Part, limiter_submit_each};
pub use self::lock::{
    lock_acquire, lock_attach, lock_detach, lock_extend, lock_force_release, lock_held, lock_hold_count, lock_inspect,
    lock_name, lock_open, lock_reenter, lock_release, lock_release_reentry,
};
pub use self::lock_all::{
    lock_all_acquire, lock_all_extend, lock_all_held, lock_all_hold_count, lock_all_names, lock_all_open,
    lock_all_release,
};
pub use self::queue::{
    JobArgs, QueueArgs, backoff_ms, delivery_ack, delivery_give_back, delivery_job, delivery_nack, delivery_queue,
    queue_ack_many, queue_followed_by, queue_key, queue_name, queue_open, queue_put, queue_put_many, queue_take,
    queue_take_many,
};
pub use self::queue_jobs::{
    listed_jobs, listed_jobs_keep, queue_cancel, queue_counts, queue_dead, queue_peek, queue_purge, queue_purge_dead,
    queue_remove_dead, queue_requeue_all_dead, queue_requeue_dead,
};
pub use self::rw_lock::{
    RwLockArgs, rw_lock_acquire, rw_lock_downgrade, rw_lock_extend, rw_lock_force_release, rw_lock_held,
    rw_lock_hold_count, rw_lock_inspect, rw_lock_name, rw_lock_open, rw_lock_release, rw_lock_steal,
};
pub use self::semaphore::{
    semaphore_acquire, semaphore_extend, semaphore_has_later, semaphore_held, semaphore_hold_count, semaphore_holds_of,
    semaphore_inspect, semaphore_name, semaphore_number, semaphore_open, semaphore_release, semaphore_set_permits,
};
pub use self::snowflake::{
    SnowflakeArgs, id_encode, id_parse, layout, layout_named, snowflake_decode, snowflake_fill, snowflake_layout,
    snowflake_next_id, snowflake_next_ids, snowflake_open,
};
pub use self::stats::{Histogram, client_stats, counters, histograms};
pub use self::worker::{worker_bits, worker_lease, worker_number, worker_pool, worker_snowflake};
pub use crate::outcome::{
    CountingSemaphoreInspection, Decision, Decisions, Delivered, Deliveries, Flags, Granted, Held, Ids, Inspection,
    Job, ListedJob, ListedJobs, Outcome, Put, Puts, QueueCounts, Real, RwLockInspection, SemaphoreInspection,
};
