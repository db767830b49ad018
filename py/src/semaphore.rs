//! Semaphores: opened by name, permits acquired and released for a holder.

use libdlock::embed;
use libdlock_bridge::ops::{self, Holding};
use libdlock_bridge::{SemaphoreInspection, this_thread};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::call::{blocking, quick, submit};
use crate::held::Grant;
use crate::lock::going_on;
use crate::port::Port;
use crate::scoped_handle::ScopedHandle;

#[pyfunction]
pub(crate) fn semaphore_open(
    py: Python<'_>,
    client: u64,
    name: Vec<u8>,
    permits: i64,
    lease_ms: Option<i64>,
    watchdog_lease_ms: Option<i64>,
    wait_ms: Option<i64>,
) -> PyResult<u64> {
    quick(py, "semaphore_open", |state| {
        ops::check_wait(wait_ms, "semaphore")?;
        ops::semaphore_open(state, client, &name, permits, lease_ms, watchdog_lease_ms)
    })
}

/// For the calling thread; `into` and `scope` as in `lock_acquire`.
#[pyfunction]
pub(crate) fn semaphore_acquire(
    into: &Bound<'_, PyList>,
    semaphore: &ScopedHandle,
    permits: i64,
    wait_ms: Option<i64>,
    lease_ms: Option<i64>,
    scope: bool,
) -> PyResult<()> {
    let holder = this_thread();
    let holding = Holding::ByHolder(holder);
    let held = blocking(into.py(), "semaphore_acquire", |state| {
        ops::semaphore_acquire(state, semaphore.handle, holding, permits, wait_ms, lease_ms)
    })?;
    let grant = Py::new(into.py(), Grant::from(held))?;
    if scope {
        semaphore.enter_scope(embed::holder_number(holder), grant.clone_ref(into.py()));
    }
    into.append(grant)
}

/// As `semaphore_acquire`, for a hold that belongs to the grant and to no thread.
#[pyfunction]
pub(crate) fn semaphore_take(
    into: &Bound<'_, PyList>,
    semaphore: u64,
    permits: i64,
    wait_ms: Option<i64>,
    lease_ms: Option<i64>,
) -> PyResult<()> {
    let held = blocking(into.py(), "semaphore_take", |state| {
        ops::semaphore_acquire(state, semaphore, Holding::ByHandle, permits, wait_ms, lease_ms)
    })?;
    into.append(Grant::from(held))
}

#[pyfunction]
pub(crate) fn semaphore_release(py: Python<'_>, semaphore: &ScopedHandle, number: Option<u64>) -> PyResult<()> {
    semaphore.release(py, "semaphore_release", number)
}

#[pyfunction]
pub(crate) fn semaphore_extend(
    py: Python<'_>,
    semaphore: u64,
    holder: u64,
    number: Option<u64>,
    lease_ms: i64,
) -> PyResult<()> {
    let holder = embed::holder(holder);
    blocking(py, "semaphore_extend", |state| ops::semaphore_extend(state, semaphore, holder, number, lease_ms))
}

#[pyfunction]
pub(crate) fn semaphore_set_permits(py: Python<'_>, semaphore: u64, permits: i64) -> PyResult<()> {
    blocking(py, "semaphore_set_permits", |state| ops::semaphore_set_permits(state, semaphore, permits))
}

/// All permits (none: it is not there), available ones, processes in the queue.
pub(crate) type SeenPermits = (Option<u64>, i64, u64);

#[pyfunction]
pub(crate) fn semaphore_inspect(py: Python<'_>, semaphore: u64) -> PyResult<SeenPermits> {
    blocking(py, "semaphore_inspect", |state| ops::semaphore_inspect(state, semaphore)).map(seen_permits)
}

pub(crate) fn seen_permits(seen: SemaphoreInspection) -> SeenPermits {
    (seen.permits, seen.available, seen.queued)
}

/// The latest hold; none also after a loss.
#[pyfunction]
pub(crate) fn semaphore_grant(py: Python<'_>, semaphore: u64, holder: u64) -> PyResult<Option<Grant>> {
    let holder = embed::holder(holder);
    let held = quick(py, "semaphore_grant", |state| match ops::semaphore_hold_count(state, semaphore, holder)? {
        0 => Ok(None),
        _ => ops::semaphore_held(state, semaphore, holder),
    })?;
    going_on(py, "semaphore_grant", held)
}

#[pyfunction]
pub(crate) fn semaphore_hold_count(py: Python<'_>, semaphore: u64, holder: u64) -> PyResult<u32> {
    quick(py, "semaphore_hold_count", |state| ops::semaphore_hold_count(state, semaphore, embed::holder(holder)))
}

/// How many of the latest holds have exactly so many permits together.
#[pyfunction]
pub(crate) fn semaphore_holds_of(py: Python<'_>, semaphore: u64, holder: u64, permits: i64) -> PyResult<u32> {
    let holder = embed::holder(holder);
    quick(py, "semaphore_holds_of", |state| ops::semaphore_holds_of(state, semaphore, holder, permits))
}

#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "what crosses is flat")]
pub(crate) fn submit_semaphore_acquire(
    py: Python<'_>,
    port: &Port,
    key: u64,
    semaphore: u64,
    holder: u64,
    permits: i64,
    wait_ms: Option<i64>,
    lease_ms: Option<i64>,
) -> PyResult<u64> {
    let holding = Holding::ByHolder(embed::holder(holder));
    submit(py, "submit_semaphore_acquire", port, key, |state| {
        ops::semaphore_acquire(state, semaphore, holding, permits, wait_ms, lease_ms)
    })
}

#[pyfunction]
pub(crate) fn submit_semaphore_take(
    py: Python<'_>,
    port: &Port,
    key: u64,
    semaphore: u64,
    permits: i64,
    wait_ms: Option<i64>,
    lease_ms: Option<i64>,
) -> PyResult<u64> {
    submit(py, "submit_semaphore_take", port, key, |state| {
        ops::semaphore_acquire(state, semaphore, Holding::ByHandle, permits, wait_ms, lease_ms)
    })
}

#[pyfunction]
pub(crate) fn submit_semaphore_release(
    py: Python<'_>,
    port: &Port,
    key: u64,
    semaphore: u64,
    holder: u64,
    number: Option<u64>,
) -> PyResult<u64> {
    let holder = embed::holder(holder);
    submit(py, "submit_semaphore_release", port, key, |state| ops::semaphore_release(state, semaphore, holder, number))
}

#[pyfunction]
pub(crate) fn submit_semaphore_extend(
    py: Python<'_>,
    port: &Port,
    key: u64,
    semaphore: u64,
    holder: u64,
    number: Option<u64>,
    lease_ms: i64,
) -> PyResult<u64> {
    let holder = embed::holder(holder);
    submit(py, "submit_semaphore_extend", port, key, |state| {
        ops::semaphore_extend(state, semaphore, holder, number, lease_ms)
    })
}

#[pyfunction]
pub(crate) fn submit_semaphore_set_permits(
    py: Python<'_>,
    port: &Port,
    key: u64,
    semaphore: u64,
    permits: i64,
) -> PyResult<u64> {
    submit(py, "submit_semaphore_set_permits", port, key, |state| ops::semaphore_set_permits(state, semaphore, permits))
}

#[pyfunction]
pub(crate) fn submit_semaphore_inspect(py: Python<'_>, port: &Port, key: u64, semaphore: u64) -> PyResult<u64> {
    submit(py, "submit_semaphore_inspect", port, key, |state| ops::semaphore_inspect(state, semaphore))
}
