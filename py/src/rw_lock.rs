//! Read-write locks: a handle for each side, opened by name, acquired and released for a holder.

use libdlock::embed;
use libdlock_bridge::ops::{self, Holding, RwLockArgs};
use libdlock_bridge::{RwLockInspection, this_thread};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::call::{blocking, quick, submit};
use crate::held::Grant;
use crate::lock::going_on;
use crate::port::Port;
use crate::scoped_handle::ScopedHandle;

#[pyfunction]
#[pyo3(signature = (client, name, write, lease_ms, watchdog_lease_ms, wait_ms, reentrant, shared_age_ms))]
#[expect(clippy::too_many_arguments, reason = "what crosses is flat")]
pub(crate) fn rw_lock_open(
    py: Python<'_>,
    client: u64,
    name: Vec<u8>,
    write: bool,
    lease_ms: Option<i64>,
    watchdog_lease_ms: Option<i64>,
    wait_ms: Option<i64>,
    reentrant: Option<bool>,
    shared_age_ms: Option<i64>,
) -> PyResult<u64> {
    quick(py, "rw_lock_open", |state| {
        ops::check_wait(wait_ms, "rw_lock")?;
        let given = RwLockArgs { lease_ms, watchdog_lease_ms, reentrant, shared_age_ms };
        ops::rw_lock_open(state, client, &name, write, given)
    })
}

/// For the calling thread; `into` and `scope` as in `lock_acquire`.
#[pyfunction]
pub(crate) fn rw_lock_acquire(
    into: &Bound<'_, PyList>,
    side: &ScopedHandle,
    wait_ms: Option<i64>,
    scope: bool,
) -> PyResult<()> {
    let holder = this_thread();
    let held = blocking(into.py(), "rw_lock_acquire", |state| {
        ops::rw_lock_acquire(state, side.handle, Holding::ByHolder(holder), wait_ms, None)
    })?;
    let grant = Py::new(into.py(), Grant::from(held))?;
    if scope {
        side.enter_scope(embed::holder_number(holder), grant.clone_ref(into.py()));
    }
    into.append(grant)
}

/// As `rw_lock_acquire`, for a hold that belongs to the grant and to no thread.
#[pyfunction]
pub(crate) fn rw_lock_take(into: &Bound<'_, PyList>, side: u64, wait_ms: Option<i64>) -> PyResult<()> {
    let held = blocking(into.py(), "rw_lock_take", |state| {
        ops::rw_lock_acquire(state, side, Holding::ByHandle, wait_ms, None)
    })?;
    into.append(Grant::from(held))
}

#[pyfunction]
pub(crate) fn rw_lock_release(py: Python<'_>, side: &ScopedHandle, number: Option<u64>) -> PyResult<()> {
    side.release(py, "rw_lock_release", number)
}

#[pyfunction]
pub(crate) fn rw_lock_extend(py: Python<'_>, side: u64, holder: u64, lease_ms: i64) -> PyResult<()> {
    blocking(py, "rw_lock_extend", |state| ops::rw_lock_extend(state, side, embed::holder(holder), lease_ms))
}

/// For the calling thread; `into`, as in `lock_acquire`, gets the hold of the read side. What the innermost `with` block of the
/// write side ends is that hold then.
#[pyfunction]
pub(crate) fn rw_lock_downgrade(
    into: &Bound<'_, PyList>,
    side: &ScopedHandle,
    reads: Py<ScopedHandle>,
    number: Option<u64>,
) -> PyResult<()> {
    let holder = this_thread();
    let held =
        blocking(into.py(), "rw_lock_downgrade", |state| ops::rw_lock_downgrade(state, side.handle, holder, number))?;
    let grant = Py::new(into.py(), Grant::from(held))?;
    side.downgrade_scope(embed::holder_number(holder), reads, grant.clone_ref(into.py()));
    into.append(grant)
}

#[pyfunction]
pub(crate) fn rw_lock_force_release(py: Python<'_>, side: u64) -> PyResult<bool> {
    blocking(py, "rw_lock_force_release", |state| ops::rw_lock_force_release(state, side))
}

/// Writer, whether that is this client, readers, seconds left, last token, processes in the queue.
pub(crate) type SeenSides = (Option<String>, bool, u64, Option<f64>, Option<u64>, u64);

#[pyfunction]
pub(crate) fn rw_lock_inspect(py: Python<'_>, side: u64) -> PyResult<SeenSides> {
    blocking(py, "rw_lock_inspect", |state| ops::rw_lock_inspect(state, side)).map(seen_sides)
}

pub(crate) fn seen_sides(seen: RwLockInspection) -> SeenSides {
    let ttl = seen.ttl.map(|ttl| ttl.as_secs_f64());
    (seen.writer, seen.ours, seen.readers, ttl, seen.token, seen.queued)
}

/// None also after a loss, which this tells the holder.
#[pyfunction]
pub(crate) fn rw_lock_grant(py: Python<'_>, side: u64, holder: u64) -> PyResult<Option<Grant>> {
    let holder = embed::holder(holder);
    let held = quick(py, "rw_lock_grant", |state| match ops::rw_lock_hold_count(state, side, holder)? {
        0 => Ok(None),
        _ => ops::rw_lock_held(state, side, holder),
    })?;
    going_on(py, "rw_lock_grant", held)
}

#[pyfunction]
pub(crate) fn rw_lock_hold_count(py: Python<'_>, side: u64, holder: u64) -> PyResult<u32> {
    quick(py, "rw_lock_hold_count", |state| ops::rw_lock_hold_count(state, side, embed::holder(holder)))
}

#[pyfunction]
pub(crate) fn submit_rw_lock_acquire(
    py: Python<'_>,
    port: &Port,
    key: u64,
    side: u64,
    holder: u64,
    wait_ms: Option<i64>,
    lease_ms: Option<i64>,
) -> PyResult<u64> {
    let holding = Holding::ByHolder(embed::holder(holder));
    submit(py, "submit_rw_lock_acquire", port, key, |state| {
        ops::rw_lock_acquire(state, side, holding, wait_ms, lease_ms)
    })
}

#[pyfunction]
pub(crate) fn submit_rw_lock_take(
    py: Python<'_>,
    port: &Port,
    key: u64,
    side: u64,
    wait_ms: Option<i64>,
) -> PyResult<u64> {
    submit(py, "submit_rw_lock_take", port, key, |state| {
        ops::rw_lock_acquire(state, side, Holding::ByHandle, wait_ms, None)
    })
}

#[pyfunction]
pub(crate) fn submit_rw_lock_release(
    py: Python<'_>,
    port: &Port,
    key: u64,
    side: u64,
    holder: u64,
    number: Option<u64>,
) -> PyResult<u64> {
    let holder = embed::holder(holder);
    submit(py, "submit_rw_lock_release", port, key, |state| ops::rw_lock_release(state, side, holder, number))
}

#[pyfunction]
pub(crate) fn submit_rw_lock_extend(
    py: Python<'_>,
    port: &Port,
    key: u64,
    side: u64,
    holder: u64,
    lease_ms: i64,
) -> PyResult<u64> {
    let holder = embed::holder(holder);
    submit(py, "submit_rw_lock_extend", port, key, |state| ops::rw_lock_extend(state, side, holder, lease_ms))
}

#[pyfunction]
pub(crate) fn submit_rw_lock_downgrade(
    py: Python<'_>,
    port: &Port,
    key: u64,
    side: u64,
    holder: u64,
    number: Option<u64>,
) -> PyResult<u64> {
    let holder = embed::holder(holder);
    submit(py, "submit_rw_lock_downgrade", port, key, |state| ops::rw_lock_downgrade(state, side, holder, number))
}

#[pyfunction]
pub(crate) fn submit_rw_lock_force_release(py: Python<'_>, port: &Port, key: u64, side: u64) -> PyResult<u64> {
    submit(py, "submit_rw_lock_force_release", port, key, |state| ops::rw_lock_force_release(state, side))
}

#[pyfunction]
pub(crate) fn submit_rw_lock_inspect(py: Python<'_>, port: &Port, key: u64, side: u64) -> PyResult<u64> {
    submit(py, "submit_rw_lock_inspect", port, key, |state| ops::rw_lock_inspect(state, side))
}
