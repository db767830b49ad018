//! Locks: opened by name, acquired and released for a holder.

use libdlock::embed;
use libdlock_bridge::ops::{self, Holding};
use libdlock_bridge::{Held, Inspection, this_thread};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::call::{blocking, quick};
use crate::held::Grant;
use crate::scoped_handle::ScopedHandle;

#[pyfunction]
pub(crate) fn thread_holder() -> u64 {
    embed::holder_number(this_thread())
}

#[pyfunction]
#[pyo3(signature = (client, name, lease_ms, watchdog_lease_ms, wait_ms, reentrant))]
pub(crate) fn lock_open(
    py: Python<'_>,
    client: u64,
    name: Vec<u8>,
    lease_ms: Option<i64>,
    watchdog_lease_ms: Option<i64>,
    wait_ms: Option<i64>,
    reentrant: Option<bool>,
) -> PyResult<u64> {
    quick(py, "lock_open", |state| {
        ops::check_wait(wait_ms, "lock")?;
        ops::lock_open(state, client, &name, lease_ms, watchdog_lease_ms, reentrant)
    })
}

/// For the calling thread. The grant is appended to `into`, not returned: a signal handler may raise just after this
/// function, when a returned value would be lost, and with it the knowledge that there is a hold to give back. With `scope` it
/// is the hold of a `with` block, which `ScopedHandle._exit` ends.
#[pyfunction]
pub(crate) fn lock_acquire(
    into: &Bound<'_, PyList>,
    lock: &ScopedHandle,
    wait_ms: Option<i64>,
    scope: bool,
) -> PyResult<()> {
    let holder = this_thread();
    let held = blocking(into.py(), "lock_acquire", |state| {
        ops::lock_acquire(state, lock.handle, Holding::ByHolder(holder), wait_ms, None)
    })?;
    let grant = Py::new(into.py(), Grant::from(held))?;
    if scope {
        lock.enter_scope(embed::holder_number(holder), grant.clone_ref(into.py()));
    }
    into.append(grant)
}

/// As `lock_acquire`, for a hold that belongs to the grant and to no thread.
#[pyfunction]
pub(crate) fn lock_take(into: &Bound<'_, PyList>, lock: u64, wait_ms: Option<i64>) -> PyResult<()> {
    let held =
        blocking(into.py(), "lock_take", |state| ops::lock_acquire(state, lock, Holding::ByHandle, wait_ms, None))?;
    into.append(Grant::from(held))
}

/// As `lock_acquire` for `into`.
#[pyfunction]
pub(crate) fn lock_attach(into: &Bound<'_, PyList>, lock: u64, detached: String) -> PyResult<()> {
    let holding = Holding::ByHolder(this_thread());
    let held =
        blocking(into.py(), "lock_attach", |state| ops::lock_attach(state, lock, holding, detached.into_bytes()))?;
    into.append(Grant::from(held))
}

#[pyfunction]
pub(crate) fn lock_release(py: Python<'_>, lock: &ScopedHandle, number: Option<u64>) -> PyResult<()> {
    lock.release(py, "lock_release", number)
}

#[pyfunction]
pub(crate) fn lock_extend(py: Python<'_>, lock: u64, holder: u64, lease_ms: i64) -> PyResult<()> {
    blocking(py, "lock_extend", |state| ops::lock_extend(state, lock, embed::holder(holder), lease_ms))
}

#[pyfunction]
pub(crate) fn lock_detach(py: Python<'_>, lock: u64) -> PyResult<String> {
    let holder = this_thread();
    blocking(py, "lock_detach", |state| ops::lock_detach(state, lock, holder))
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

/// None also after a loss, which this tells the holder.
#[pyfunction]
pub(crate) fn lock_grant(py: Python<'_>, lock: u64, holder: u64) -> PyResult<Option<Grant>> {
    let holder = embed::holder(holder);
    let held = quick(py, "lock_grant", |state| match ops::lock_hold_count(state, lock, holder)? {
        0 => Ok(None),
        _ => ops::lock_held(state, lock, holder),
    })?;
    going_on(py, "lock_grant", held)
}

/// A hold, unless it is lost: a loss is announced a little before the end of validity.
pub(crate) fn going_on(py: Python<'_>, export: &'static str, held: Option<Held>) -> PyResult<Option<Grant>> {
    let Some(grant) = held.map(Grant::from) else { return Ok(None) };
    let lost = quick(py, export, |state| ops::held_loss(state, grant.handle))?.is_some();
    Ok((!lost).then_some(grant))
}

#[pyfunction]
pub(crate) fn lock_hold_count(py: Python<'_>, lock: u64, holder: u64) -> PyResult<u32> {
    quick(py, "lock_hold_count", |state| ops::lock_hold_count(state, lock, embed::holder(holder)))
}
