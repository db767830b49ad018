//! Clocks that tests move.

use libdlock_bridge::{HandleKind, ops};
use pyo3::prelude::*;

use crate::call::{blocking, quick};
use crate::object_handle::ObjectHandle;

#[pyfunction]
pub(crate) fn clock_new(py: Python<'_>) -> PyResult<ObjectHandle> {
    let handle = quick(py, "clock_new", ops::clock_new)?;
    Ok(ObjectHandle::new(HandleKind::Clock, handle))
}

#[pyfunction]
pub(crate) fn clock_advance(py: Python<'_>, clock: u64, by_ms: i64) -> PyResult<()> {
    blocking(py, "clock_advance", |state| ops::clock_advance(state, clock, by_ms))
}
