//! Locks: opened by name, acquired and released for a holder.

use libdlock::HolderId;
use libdlock_bridge::ops::{self, Holding};
use libdlock_bridge::{Inspection, this_thread};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::call::{blocking, quick};
use crate::held::Grant;
use crate::lock_handle::{LockHandle, release};

#[pyfunction]
pub(crate) fn thread_holder() -> u64 {
    this_thread().0
}

#[pyfunction]
#[pyo3(signature = (client, name, lease_ms, reentrant))]
pub(crate) fn lock_open(
    py: Python<'_>,
    client: u64,
    name: Vec<u8>,
    lease_ms: Option<i64>,
    reentrant: Option<bool>,
) -> PyResult<u64> {
    quick(py, "lock_open", |state| ops::lock_open(state, client, &name, lease_ms, reentrant))
}

/// For the calling thread. The grant is appended to `into`, not returned: a signal handler may raise just after this
/// function, when a returned value would be lost, and with it the knowledge that there is a hold to give back.
#[pyfunction]
pub(crate) fn lock_acquire(
    into: &Bound<'_, PyList>,
    lock: &LockHandle,
    wait_ms: Option<i64>,
    lease_ms: Option<i64>,
) -> PyResult<()> {
    let holding = Holding::ByHolder(this_thread());
    let held = blocking(into.py(), "lock_acquire", |state| {
        ops::lock_acquire_directly(state, lock.handle, holding, wait_ms, lease_ms)
    })?;
    lock.entered();
    into.append(Grant::from(held))
}

/// As `lock_acquire` for `into`.
#[pyfunction]
pub(crate) fn lock_attach(into: &Bound<'_, PyList>, lock: &LockHandle, detached: String) -> PyResult<()> {
    let holding = Holding::ByHolder(this_thread());
    let held = blocking(into.py(), "lock_attach", |state| {
        ops::lock_attach(state, lock.handle, holding, detached.into_bytes())
    })?;
    lock.entered();
    into.append(Grant::from(held))
}

#[pyfunction]
pub(crate) fn lock_release(py: Python<'_>, lock: &LockHandle) -> PyResult<()> {
    release(py, "lock_release", lock)
}

#[pyfunction]
pub(crate) fn lock_extend(py: Python<'_>, lock: u64, holder: u64, lease_ms: i64) -> PyResult<()> {
    blocking(py, "lock_extend", |state| ops::lock_extend(state, lock, HolderId(holder), lease_ms))
}

#[pyfunction]
pub(crate) fn lock_detach(py: Python<'_>, lock: &LockHandle) -> PyResult<String> {
    let holder = this_thread();
    let text = blocking(py, "lock_detach", |state| ops::lock_detach(state, lock.handle, holder))?;
    lock.left();
    Ok(text)
}

#[pyfunction]
pub(crate) fn lock_force_release(py: Python<'_>, lock: u64) -> PyResult<bool> {
    blocking(py, "lock_force_release", |state| ops::lock_force_release(state, lock))
}

/// Holder, whether that is this client, seconds left, last token, processes in the queue.
pub(crate) type Inspected = (Option<String>, bool, Option<f64>, Option<u64>, u64);

#[pyfunction]
pub(crate) fn lock_inspect(py: Python<'_>, lock: u64) -> PyResult<Inspected> {
    blocking(py, "lock_inspect", |state| ops::lock_inspect(state, lock)).map(inspected)
}

pub(crate) fn inspected(seen: Inspection) -> Inspected {
    (seen.holder, seen.ours, seen.ttl.map(|ttl| ttl.as_secs_f64()), seen.token, seen.queued)
}

#[pyfunction]
pub(crate) fn lock_grant(py: Python<'_>, lock: u64, holder: u64) -> PyResult<Option<Grant>> {
    quick(py, "lock_grant", |state| ops::lock_held(state, lock, HolderId(holder))).map(|held| held.map(Grant::from))
}

#[pyfunction]
pub(crate) fn lock_hold_count(py: Python<'_>, lock: u64, holder: u64) -> PyResult<u32> {
    quick(py, "lock_hold_count", |state| ops::lock_hold_count(state, lock, HolderId(holder)))
}
