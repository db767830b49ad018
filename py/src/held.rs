//! Holds: what is known of one without asking the server.

use libdlock::{ErrorKind, LossReason, Result};
use libdlock_bridge::{Handle, Held, Process, State, ops};
use pyo3::prelude::*;

use crate::call::{blocking, free, quick};

/// A hold's handle with what does not change about it. The handle is given back with the object.
#[pyclass(frozen, module = "libdlock._native")]
pub(crate) struct Grant {
    #[pyo3(get)]
    handle: Handle,
    #[pyo3(get)]
    token: u64,
    #[pyo3(get)]
    owner: String,
    process: Process,
}

impl From<Held> for Grant {
    fn from(held: Held) -> Self {
        Grant { handle: held.handle, token: held.token, owner: held.owner, process: Process::current() }
    }
}

#[pymethods]
impl Grant {
    /// Gives back one acquire of a hold that reached nobody: its holder has it no more when this returns, the server is told
    /// in the background.
    fn undo(&self) {
        free(self.process, |state| {
            ops::held_undo(state, self.handle);
            Ok(())
        });
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        free(self.process, |state| ops::held_free(state, self.handle));
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
pub(crate) fn held_wait_lost(py: Python<'_>, held: u64, timeout_ms: Option<i64>) -> PyResult<Option<&'static str>> {
    let lost = blocking(py, "held_wait_lost", |state| waiting_for_loss(state, held, timeout_ms))?;
    Ok(lost.map(|reason| reason.as_str()))
}

/// For those who wait and for those who submit; to Python a hold that was not lost in time is no error.
pub(crate) async fn waiting_for_loss(
    state: &'static State,
    held: Handle,
    timeout_ms: Option<i64>,
) -> Result<Option<LossReason>> {
    match ops::held_wait_lost(state, held, timeout_ms).await {
        Err(error) if error.kind() == ErrorKind::Busy => Ok(None),
        waited => waited,
    }
}
