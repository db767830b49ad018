//! `libdlock._native`: carries values between Python and the bridge, and decides nothing.
//!
//! Python keeps handles (numbers), never Rust objects, so that dropping one in a forked child touches nothing. A call that may
//! wait leaves the interpreter lock first; every call comes back with a value or with one of the exceptions of
//! `libdlock._errors`. What the functions mean stands in `_native.pyi`, which `mypy.stubtest` compares with this module.

mod call;
mod client;
mod error;
mod greenlets;
mod held;
mod limiter;
mod lock;
mod main_thread;
mod port;
mod scoped_handle;
mod semaphore;
mod snowflake;
mod stats;
mod submit;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::client::{ClientHandle, client_abandon, client_close, client_open};
    #[pymodule_export]
    use crate::greenlets::greenlets_seen;
    #[pymodule_export]
    use crate::held::{
        Grant, HoldHandle, held_extend, held_loss, held_permits, held_remaining, held_valid, held_wait_lost,
    };
    #[pymodule_export]
    use crate::limiter::{
        LimiterHandle, limiter_acquire, limiter_open, limiter_reset, submit_limiter_acquire, submit_limiter_reset,
    };
    #[pymodule_export]
    use crate::lock::{
        lock_acquire, lock_attach, lock_detach, lock_extend, lock_force_release, lock_grant, lock_hold_count,
        lock_inspect, lock_open, lock_release, lock_take, thread_holder,
    };
    #[pymodule_export]
    use crate::port::Port;
    #[pymodule_export]
    use crate::scoped_handle::ScopedHandle;
    #[pymodule_export]
    use crate::semaphore::{
        semaphore_acquire, semaphore_extend, semaphore_grant, semaphore_hold_count, semaphore_inspect, semaphore_open,
        semaphore_release, semaphore_set_permits, semaphore_take, submit_semaphore_acquire, submit_semaphore_extend,
        submit_semaphore_inspect, submit_semaphore_release, submit_semaphore_set_permits, submit_semaphore_take,
    };
    #[pymodule_export]
    use crate::snowflake::{Generator, id_encode, id_parse, layout_decode, layout_named};
    #[pymodule_export]
    use crate::stats::client_stats;
    #[pymodule_export]
    use crate::submit::{
        fresh_holder, submit_client_close, submit_client_open, submit_held_detach, submit_held_extend,
        submit_held_release, submit_held_wait_lost, submit_lock_acquire, submit_lock_attach, submit_lock_detach,
        submit_lock_extend, submit_lock_force_release, submit_lock_inspect, submit_lock_release, submit_lock_take,
    };

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::main_thread::watch(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
