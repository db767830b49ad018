//! The synchronisation primitives of the slab and of the completion port, under one name.
//!
//! Here they are std's. `tests/shuttle.rs` compiles the very same `slab.rs`, `port/queue.rs` and `port/pending.rs` beside a
//! module of this name that holds shuttle's, so that every interleaving it can think of is tried on the code that ships.

pub(crate) use std::sync::{Arc, Mutex, MutexGuard};

/// Locks `mutex`, also when a thread panicked while it held it: what it guards is changed in single steps that cannot
/// panic half-way, and one panic must not turn every later call of the process into another.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
