//! Several locks as one: opened by their names, acquired and released for a holder.

use libdlock::embed;
use libdlock_bridge::ops::{self, Holding};
use libdlock_bridge::this_thread;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::call::{blocking, quick, submit};
use crate::held::Grant;
use crate::lock::going_on;
use crate::port::Port;
use crate::scoped_handle::ScopedHandle;

#[pyfunction]
#[pyo3(signature = (client, names, lease_ms, watchdog_lease_ms, wait_ms, reentrant))]
pub(crate) fn lock_all_open(
    py: Python<'_>,
    client: u64,
    names: Vec<Vec<u8>>,
    lease_ms: Option<i64>,
    watchdog_lease_ms: Option<i64>,
    wait_ms: Option<i64>,
    reentrant: Option<bool>,
) -> PyResult<u64> {
    quick(py, "lock_all_open", |state| {
        ops::check_wait(wait_ms, "lock all")?;
        ops::lock_all_open(state, client, &names, lease_ms, watchdog_lease_ms, reentrant)
    })
}

#[pyfunction]
pub(crate) fn lock_all_names(py: Python<'_>, set: u64) -> PyResult<Vec<String>> {
    quick(py, "lock_all_names", |state| ops::lock_all_names(state, set))
}

/// For the calling thread; `into` and `scope` as in `lock_acquire`.
#[pyfunction]
pub(crate) fn lock_all_acquire(
    into: &Bound<'_, PyList>,
    set: &ScopedHandle,
    wait_ms: Option<i64>,
    scope: bool,
) -> PyResult<()> {
    let holder = this_thread();
    let held = blocking(into.py(), "lock_all_acquire", |state| {
        ops::lock_all_acquire(state, set.handle, Holding::ByHolder(holder), wait_ms, None)
    })?;
    let grant = Py::new(into.py(), Grant::from(held))?;
    if scope {
        set.enter_scope(embed::holder_number(holder), grant.clone_ref(into.py()));
    }
    into.append(grant)
}

/// As `lock_all_acquire`, for a hold that belongs to the grant and to no thread.
#[pyfunction]
pub(crate) fn lock_all_take(into: &Bound<'_, PyList>, set: u64, wait_ms: Option<i64>) -> PyResult<()> {
    let held = blocking(into.py(), "lock_all_take", |state| {
        ops::lock_all_acquire(state, set, Holding::ByHandle, wait_ms, None)
    })?;
    into.append(Grant::from(held))
}

#[pyfunction]
pub(crate) fn lock_all_release(py: Python<'_>, set: &ScopedHandle, number: Option<u64>) -> PyResult<()> {
    set.release(py, "lock_all_release", number)
}

#[pyfunction]
pub(crate) fn lock_all_extend(py: Python<'_>, set: u64, holder: u64, lease_ms: i64) -> PyResult<()> {
    blocking(py, "lock_all_extend", |state| ops::lock_all_extend(state, set, embed::holder(holder), lease_ms))
}

/// None also after a loss, which this tells the holder.
#[pyfunction]
pub(crate) fn lock_all_grant(py: Python<'_>, set: u64, holder: u64) -> PyResult<Option<Grant>> {
    let holder = embed::holder(holder);
    let held = quick(py, "lock_all_grant", |state| match ops::lock_all_hold_count(state, set, holder)? {
        0 => Ok(None),
        _ => ops::lock_all_held(state, set, holder),
    })?;
    going_on(py, "lock_all_grant", held)
}

#[pyfunction]
pub(crate) fn lock_all_hold_count(py: Python<'_>, set: u64, holder: u64) -> PyResult<u32> {
    quick(py, "lock_all_hold_count", |state| ops::lock_all_hold_count(state, set, embed::holder(holder)))
}

#[pyfunction]
pub(crate) fn submit_lock_all_acquire(
    py: Python<'_>,
    port: &Port,
    key: u64,
    set: u64,
    holder: u64,
    wait_ms: Option<i64>,
    lease_ms: Option<i64>,
) -> PyResult<u64> {
    let holding = Holding::ByHolder(embed::holder(holder));
    submit(py, "submit_lock_all_acquire", port, key, |state| {
        ops::lock_all_acquire(state, set, holding, wait_ms, lease_ms)
    })
}

#[pyfunction]
pub(crate) fn submit_lock_all_take(
    py: Python<'_>,
    port: &Port,
    key: u64,
    set: u64,
    wait_ms: Option<i64>,
) -> PyResult<u64> {
    submit(py, "submit_lock_all_take", port, key, |state| {
        ops::lock_all_acquire(state, set, Holding::ByHandle, wait_ms, None)
    })
}

#[pyfunction]
pub(crate) fn submit_lock_all_release(
    py: Python<'_>,
    port: &Port,
    key: u64,
    set: u64,
    holder: u64,
    number: Option<u64>,
) -> PyResult<u64> {
    let holder = embed::holder(holder);
    submit(py, "submit_lock_all_release", port, key, |state| ops::lock_all_release(state, set, holder, number))
}

#[pyfunction]
pub(crate) fn submit_lock_all_extend(
    py: Python<'_>,
    port: &Port,
    key: u64,
    set: u64,
    holder: u64,
    lease_ms: i64,
) -> PyResult<u64> {
    let holder = embed::holder(holder);
    submit(py, "submit_lock_all_extend", port, key, |state| ops::lock_all_extend(state, set, holder, lease_ms))
}
