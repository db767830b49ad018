//! Count-down latches: opened by name, counted down, waited for.

use libdlock_bridge::HandleKind;
use libdlock_bridge::ops;
use pyo3::prelude::*;

use crate::call::{blocking, quick, submit};
use crate::object_handle::ObjectHandle;
use crate::port::Port;

#[pyfunction]
pub(crate) fn latch_open(py: Python<'_>, client: u64, name: Vec<u8>) -> PyResult<ObjectHandle> {
    let handle = quick(py, "latch_open", |state| ops::latch_open(state, client, &name))?;
    Ok(ObjectHandle::new(HandleKind::Latch, handle))
}

#[pyfunction]
pub(crate) fn latch_try_set_count(py: Python<'_>, latch: u64, count: i64) -> PyResult<bool> {
    blocking(py, "latch_try_set_count", |state| ops::latch_try_set_count(state, latch, count))
}

#[pyfunction]
pub(crate) fn latch_count_down(py: Python<'_>, latch: u64, by: i64) -> PyResult<i64> {
    blocking(py, "latch_count_down", |state| ops::latch_count_down(state, latch, by))
}

#[pyfunction]
pub(crate) fn latch_count(py: Python<'_>, latch: u64) -> PyResult<i64> {
    blocking(py, "latch_count", |state| ops::latch_count(state, latch))
}

#[pyfunction]
pub(crate) fn latch_wait(py: Python<'_>, latch: u64, wait_ms: Option<i64>) -> PyResult<bool> {
    blocking(py, "latch_wait", |state| ops::latch_wait(state, latch, wait_ms))
}

#[pyfunction]
pub(crate) fn latch_delete(py: Python<'_>, latch: u64) -> PyResult<bool> {
    blocking(py, "latch_delete", |state| ops::latch_delete(state, latch))
}

#[pyfunction]
pub(crate) fn submit_latch_try_set_count(
    py: Python<'_>,
    port: &Port,
    key: u64,
    latch: u64,
    count: i64,
) -> PyResult<u64> {
    submit(py, "submit_latch_try_set_count", port, key, |state| ops::latch_try_set_count(state, latch, count))
}

#[pyfunction]
pub(crate) fn submit_latch_count_down(py: Python<'_>, port: &Port, key: u64, latch: u64, by: i64) -> PyResult<u64> {
    submit(py, "submit_latch_count_down", port, key, |state| ops::latch_count_down(state, latch, by))
}

#[pyfunction]
pub(crate) fn submit_latch_count(py: Python<'_>, port: &Port, key: u64, latch: u64) -> PyResult<u64> {
    submit(py, "submit_latch_count", port, key, |state| ops::latch_count(state, latch))
}

#[pyfunction]
pub(crate) fn submit_latch_wait(
    py: Python<'_>,
    port: &Port,
    key: u64,
    latch: u64,
    wait_ms: Option<i64>,
) -> PyResult<u64> {
    submit(py, "submit_latch_wait", port, key, |state| ops::latch_wait(state, latch, wait_ms))
}

#[pyfunction]
pub(crate) fn submit_latch_delete(py: Python<'_>, port: &Port, key: u64, latch: u64) -> PyResult<u64> {
    submit(py, "submit_latch_delete", port, key, |state| ops::latch_delete(state, latch))
}
