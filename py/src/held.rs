//! Holds: what is known of one without asking the server.

use libdlock::ErrorKind;
use libdlock_bridge::{Held, ops};
use pyo3::prelude::*;

use crate::call::{blocking, free, quick};

/// A hold's handle with what does not change about it. The handle is given back with the object.
#[pyclass(frozen, module = "libdlock._native")]
pub(crate) struct Grant {
    #[pyo3(get)]
    handle: u64,
    #[pyo3(get)]
    token: u64,
    #[pyo3(get)]
    owner: String,
    process: u32,
}

impl From<Held> for Grant {
    fn from(held: Held) -> Self {
        Grant { handle: held.handle, token: held.token, owner: held.owner, process: std::process::id() }
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        let held = self.handle;
        free(self.process, |state| ops::held_free(state, held));
    }
}

#[pyfunction]
pub(crate) fn held_valid(py: Python<'_>, held: u64) -> PyResult<bool> {
    quick(py, "held_valid", |state| ops::held_valid(state, held))
}

#[pyfunction]
pub(crate) fn held_remaining(py: Python<'_>, held: u64) -> PyResult<f64> {
    quick(py, "held_remaining", |state| ops::held_remaining(state, held)).map(|left| left.as_secs_f64())
}

#[pyfunction]
pub(crate) fn held_loss(py: Python<'_>, held: u64) -> PyResult<Option<&'static str>> {
    quick(py, "held_loss", |state| ops::held_loss(state, held)).map(|loss| loss.map(|reason| reason.as_str()))
}

#[pyfunction]
pub(crate) fn held_wait_lost(py: Python<'_>, held: u64, timeout_ms: i64) -> PyResult<Option<&'static str>> {
    blocking(py, "held_wait_lost", async move |state| match ops::held_wait_lost(state, held, timeout_ms).await {
        Ok(reason) => Ok(reason.map(|reason| reason.as_str())),
        Err(error) if error.kind() == ErrorKind::Busy => Ok(None),
        Err(error) => Err(error),
    })
}
