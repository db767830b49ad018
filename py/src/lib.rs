//! `libdlock._native`: carries values between Python and the bridge, and decides nothing.
//!
//! Python keeps handles (numbers), never Rust objects, so that dropping one in a forked child touches nothing. A call that may
//! wait leaves the interpreter lock first; every call comes back with a value or with one of the exceptions of
//! `libdlock._errors`. What the functions mean stands in `_native.pyi`, which `mypy.stubtest` compares with this module.

mod bloom_filter;
mod call;
mod client;
mod clock;
mod counting_semaphore;
mod error;
mod greenlets;
mod held;
mod id_generator;
mod latch;
mod limiter;
mod limiter_adjust;
mod lock;
mod lock_all;
mod main_thread;
mod object_handle;
mod port;
mod queue;
mod rw_lock;
mod scoped_handle;
mod semaphore;
mod snowflake;
mod stats;
mod submit;
mod worker;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::bloom_filter::{
        bloom_filter_add, bloom_filter_clear, bloom_filter_contains, bloom_filter_count,
        bloom_filter_false_positive_rate, bloom_filter_hashes, bloom_filter_open, bloom_filter_size,
        submit_bloom_filter_add, submit_bloom_filter_clear, submit_bloom_filter_contains, submit_bloom_filter_count,
        submit_bloom_filter_false_positive_rate,
    };
    #[pymodule_export]
    use crate::client::{ClientHandle, client_abandon, client_close, client_open, client_open_at};
    #[pymodule_export]
    use crate::clock::{clock_advance, clock_new};
    #[pymodule_export]
    use crate::counting_semaphore::{
        Permits, counting_semaphore_acquire, counting_semaphore_add_permits, counting_semaphore_drain,
        counting_semaphore_inspect, counting_semaphore_open, counting_semaphore_release,
        counting_semaphore_try_set_permits, submit_counting_semaphore_acquire, submit_counting_semaphore_add_permits,
        submit_counting_semaphore_drain, submit_counting_semaphore_inspect, submit_counting_semaphore_release,
        submit_counting_semaphore_try_set_permits,
    };
    #[pymodule_export]
    use crate::greenlets::greenlets_seen;
    #[pymodule_export]
    use crate::held::{
        Grant, HoldHandle, held_downgrade, held_extend, held_loss, held_lost_member, held_permits, held_remaining,
        held_tokens, held_valid, held_wait_lost,
    };
    #[pymodule_export]
    use crate::id_generator::{
        id_generator_block_size, id_generator_next_id, id_generator_next_ids, id_generator_open,
        submit_id_generator_next_id, submit_id_generator_next_ids,
    };
    #[pymodule_export]
    use crate::latch::{
        latch_count, latch_count_down, latch_delete, latch_open, latch_try_set_count, latch_wait, submit_latch_count,
        submit_latch_count_down, submit_latch_delete, submit_latch_try_set_count, submit_latch_wait,
    };
    #[pymodule_export]
    use crate::limiter::{
        limiter_acquire, limiter_acquire_many, limiter_open, limiter_reset, limiter_submit_each,
        limiter_try_acquire_now, submit_limiter_acquire, submit_limiter_acquire_many, submit_limiter_reset,
    };
    #[pymodule_export]
    use crate::limiter_adjust::{
        limiter_block, limiter_penalty, limiter_reserve, limiter_reward, submit_limiter_block, submit_limiter_penalty,
        submit_limiter_reserve, submit_limiter_reward,
    };
    #[pymodule_export]
    use crate::lock::{
        lock_acquire, lock_attach, lock_detach, lock_extend, lock_force_release, lock_grant, lock_hold_count,
        lock_inspect, lock_open, lock_release, lock_take, thread_holder,
    };
    #[pymodule_export]
    use crate::lock_all::{
        lock_all_acquire, lock_all_extend, lock_all_grant, lock_all_hold_count, lock_all_names, lock_all_open,
        lock_all_release, lock_all_take, submit_lock_all_acquire, submit_lock_all_extend, submit_lock_all_release,
        submit_lock_all_take,
    };
    #[pymodule_export]
    use crate::object_handle::ObjectHandle;
    #[pymodule_export]
    use crate::port::Port;
    #[pymodule_export]
    use crate::queue::{
        Delivered, backoff_ms, cancel_fire, cancel_new, delivery_ack, delivery_give_back, delivery_nack,
        delivery_queue, queue_ack_many, queue_cancel, queue_counts, queue_dead, queue_followed_by, queue_open,
        queue_peek, queue_purge, queue_purge_dead, queue_put, queue_put_many, queue_remove_dead,
        queue_requeue_all_dead, queue_requeue_dead, queue_take, queue_take_many, submit_delivery_ack,
        submit_delivery_give_back, submit_delivery_nack, submit_queue_ack_many, submit_queue_cancel,
        submit_queue_counts, submit_queue_dead, submit_queue_peek, submit_queue_purge, submit_queue_purge_dead,
        submit_queue_put, submit_queue_put_many, submit_queue_remove_dead, submit_queue_requeue_all_dead,
        submit_queue_requeue_dead, submit_queue_take, submit_queue_take_many,
    };
    #[pymodule_export]
    use crate::rw_lock::{
        rw_lock_acquire, rw_lock_downgrade, rw_lock_extend, rw_lock_force_release, rw_lock_grant, rw_lock_hold_count,
        rw_lock_inspect, rw_lock_open, rw_lock_release, rw_lock_take, submit_rw_lock_acquire, submit_rw_lock_downgrade,
        submit_rw_lock_extend, submit_rw_lock_force_release, submit_rw_lock_inspect, submit_rw_lock_release,
        submit_rw_lock_take,
    };
    #[pymodule_export]
    use crate::scoped_handle::ScopedHandle;
    #[pymodule_export]
    use crate::semaphore::{
        semaphore_acquire, semaphore_extend, semaphore_grant, semaphore_hold_count, semaphore_holds_of,
        semaphore_inspect, semaphore_open, semaphore_release, semaphore_set_permits, semaphore_take,
        submit_semaphore_acquire, submit_semaphore_extend, submit_semaphore_inspect, submit_semaphore_release,
        submit_semaphore_set_permits, submit_semaphore_take,
    };
    #[pymodule_export]
    use crate::snowflake::{Generator, id_encode, id_parse, layout_decode, layout_named};
    #[pymodule_export]
    use crate::stats::client_stats;
    #[pymodule_export]
    use crate::submit::{
        fresh_holder, submit_client_close, submit_client_open, submit_client_open_at, submit_held_detach,
        submit_held_downgrade, submit_held_extend, submit_held_release, submit_held_wait_lost, submit_lock_acquire,
        submit_lock_attach, submit_lock_detach, submit_lock_extend, submit_lock_force_release, submit_lock_inspect,
        submit_lock_release, submit_lock_take,
    };
    #[pymodule_export]
    use crate::worker::{submit_worker_lease, worker_bits, worker_lease, worker_number, worker_release};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::main_thread::watch(module.py())?;
        crate::error::prepare(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
