//! Counting semaphores: opened by name, permits taken and brought back by anybody.

use std::sync::Mutex;

use libdlock_bridge::ops;
use libdlock_bridge::{CountingSemaphoreInspection, Granted, HandleKind, Process};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::call::{blocking, quick, submit, unheard};
use crate::object_handle::ObjectHandle;
use crate::port::Port;

/// Permits that were acquired, on their way to a caller. When the object goes the permits stay acquired.
#[pyclass(frozen, module = "libdlock._native")]
pub(crate) struct Permits {
    granted: Mutex<Option<Granted>>,
    process: Process,
}

impl Permits {
    pub(crate) fn new(granted: Granted) -> Self {
        Permits { granted: Mutex::new(Some(granted)), process: Process::current() }
    }
}

#[pymethods]
impl Permits {
    /// Gives them back, once, without waiting for it: they reached nobody.
    fn undo(&self) {
        let granted = self.granted.lock().ok().and_then(|mut granted| granted.take());
        if let Some(granted) = granted {
            unheard(self.process, |state| {
                state.give_back(granted);
                Ok(())
            });
        }
    }
}

#[pyfunction]
pub(crate) fn counting_semaphore_open(py: Python<'_>, client: u64, name: Vec<u8>) -> PyResult<ObjectHandle> {
    let handle = quick(py, "counting_semaphore_open", |state| ops::counting_semaphore_open(state, client, &name))?;
    Ok(ObjectHandle::new(HandleKind::CountingSemaphore, handle))
}

#[pyfunction]
pub(crate) fn counting_semaphore_try_set_permits(py: Python<'_>, semaphore: u64, permits: i64) -> PyResult<bool> {
    blocking(py, "counting_semaphore_try_set_permits", |state| {
        ops::counting_semaphore_try_set_permits(state, semaphore, permits)
    })
}

/// `into`, as in `lock_acquire`, gets the permits.
#[pyfunction]
pub(crate) fn counting_semaphore_acquire(
    into: &Bound<'_, PyList>,
    semaphore: u64,
    permits: i64,
    wait_ms: Option<i64>,
) -> PyResult<()> {
    let granted = blocking(into.py(), "counting_semaphore_acquire", |state| {
        ops::counting_semaphore_acquire(state, semaphore, permits, wait_ms)
    })?;
    into.append(Permits::new(granted))
}

#[pyfunction]
pub(crate) fn counting_semaphore_release(py: Python<'_>, semaphore: u64, permits: i64) -> PyResult<()> {
    blocking(py, "counting_semaphore_release", |state| ops::counting_semaphore_release(state, semaphore, permits))
}

#[pyfunction]
pub(crate) fn counting_semaphore_add_permits(py: Python<'_>, semaphore: u64, permits: i64) -> PyResult<()> {
    blocking(py, "counting_semaphore_add_permits", |state| {
        ops::counting_semaphore_add_permits(state, semaphore, permits)
    })
}

#[pyfunction]
pub(crate) fn counting_semaphore_drain(py: Python<'_>, semaphore: u64) -> PyResult<i64> {
    blocking(py, "counting_semaphore_drain", |state| ops::counting_semaphore_drain(state, semaphore))
}

/// Whether it is there, available permits, processes in the queue.
pub(crate) type SeenCounting = (bool, i64, u64);

#[pyfunction]
pub(crate) fn counting_semaphore_inspect(py: Python<'_>, semaphore: u64) -> PyResult<SeenCounting> {
    blocking(py, "counting_semaphore_inspect", |state| ops::counting_semaphore_inspect(state, semaphore))
        .map(seen_counting)
}

pub(crate) fn seen_counting(seen: CountingSemaphoreInspection) -> SeenCounting {
    (seen.exists, seen.available, seen.queued)
}

#[pyfunction]
pub(crate) fn submit_counting_semaphore_try_set_permits(
    py: Python<'_>,
    port: &Port,
    key: u64,
    semaphore: u64,
    permits: i64,
) -> PyResult<u64> {
    submit(py, "submit_counting_semaphore_try_set_permits", port, key, |state| {
        ops::counting_semaphore_try_set_permits(state, semaphore, permits)
    })
}

#[pyfunction]
pub(crate) fn submit_counting_semaphore_acquire(
    py: Python<'_>,
    port: &Port,
    key: u64,
    semaphore: u64,
    permits: i64,
    wait_ms: Option<i64>,
) -> PyResult<u64> {
    submit(py, "submit_counting_semaphore_acquire", port, key, |state| {
        ops::counting_semaphore_acquire(state, semaphore, permits, wait_ms)
    })
}

#[pyfunction]
pub(crate) fn submit_counting_semaphore_release(
    py: Python<'_>,
    port: &Port,
    key: u64,
    semaphore: u64,
    permits: i64,
) -> PyResult<u64> {
    submit(py, "submit_counting_semaphore_release", port, key, |state| {
        ops::counting_semaphore_release(state, semaphore, permits)
    })
}

#[pyfunction]
pub(crate) fn submit_counting_semaphore_add_permits(
    py: Python<'_>,
    port: &Port,
    key: u64,
    semaphore: u64,
    permits: i64,
) -> PyResult<u64> {
    submit(py, "submit_counting_semaphore_add_permits", port, key, |state| {
        ops::counting_semaphore_add_permits(state, semaphore, permits)
    })
}

#[pyfunction]
pub(crate) fn submit_counting_semaphore_drain(py: Python<'_>, port: &Port, key: u64, semaphore: u64) -> PyResult<u64> {
    submit(py, "submit_counting_semaphore_drain", port, key, |state| ops::counting_semaphore_drain(state, semaphore))
}

#[pyfunction]
pub(crate) fn submit_counting_semaphore_inspect(
    py: Python<'_>,
    port: &Port,
    key: u64,
    semaphore: u64,
) -> PyResult<u64> {
    submit(py, "submit_counting_semaphore_inspect", port, key, |state| {
        ops::counting_semaphore_inspect(state, semaphore)
    })
}
