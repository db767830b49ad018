//! Holds: what is known of one without asking the server.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};

use libdlock::lease::LossReason;
use libdlock::{ErrorKind, Result};
use libdlock_bridge::{Handle, HandleKind, Held, Process, State, ops};
use pyo3::exceptions::PyResourceWarning;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::call::{blocking, free, quick, unheard};
use crate::greenlets;

/// A hold's handle with what does not change about it. The handle is given back with the object.
#[pyclass(frozen, module = "libdlock._native")]
pub(crate) struct Grant {
    #[pyo3(get)]
    pub(crate) handle: Handle,
    #[pyo3(get)]
    token: u64,
    /// Which of its holder's holds it is: what the functions that end or extend one hold take.
    #[pyo3(get)]
    pub(crate) number: u64,
    #[pyo3(get)]
    owner: String,
    process: Process,
}

impl From<Held> for Grant {
    fn from(held: Held) -> Self {
        let Held { handle, token, number, owner } = held;
        Grant { handle, token, number, owner, process: Process::current() }
    }
}

#[pymethods]
impl Grant {
    /// Gives back one acquire of a hold that reached nobody: its holder has it no more when this returns, the server is told
    /// in the background.
    pub(crate) fn undo(&self) {
        free(self.process, |state| {
            state.undo(self.handle);
            Ok(())
        });
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        free(self.process, |state| state.free(HandleKind::Held, self.handle));
    }
}

/// The base class of holds that belong to their object: what ends it may come from any thread.
#[pyclass(subclass, frozen, module = "libdlock._native")]
pub(crate) struct HoldHandle {
    grant: Py<Grant>,
    /// For the warning about one that is lost sight of while held.
    description: String,
    /// A release or a detach went through this object, so the end of its scope has nothing left to do.
    ended: AtomicBool,
}

/// Native, and not a `__del__`: a signal handler that raises in one has its exception swallowed, and each hold comes here.
impl Drop for HoldHandle {
    fn drop(&mut self) {
        let Grant { handle, process, .. } = *self.grant.get();
        let held =
            unheard(process, |state| Ok(ops::held_valid(state, handle)? && ops::held_loss(state, handle)?.is_none()));
        if *self.ended.get_mut() || held != Some(true) {
            return;
        }
        Python::attach(|py| {
            // It may go while an exception is on its way.
            let pending = PyErr::take(py);
            let text = format!("{} collected while held: its lease is not renewed any more", self.description);
            let text = CString::new(text.replace('\0', "")).unwrap_or_default();
            if let Err(raised) = PyErr::warn(py, &py.get_type::<PyResourceWarning>(), &text, 1) {
                raised.write_unraisable(py, None);
            }
            pending.into_iter().for_each(|pending| pending.restore(py));
        });
    }
}

#[pymethods]
impl HoldHandle {
    #[new]
    fn new(grant: Py<Grant>, description: String) -> Self {
        HoldHandle { grant, description, ended: AtomicBool::new(false) }
    }

    /// The `__enter__` of a scope. Native for the reason that `ScopedHandle::_exit` is: an interrupt at the beginning of a
    /// Python function would leave the scope unentered, and the hold unreleased.
    fn _enter(this: Py<Self>) -> Py<Self> {
        this
    }

    /// The `__exit__` of a scope.
    fn _exit(
        this: &Bound<'_, Self>,
        kind: Option<&Bound<'_, PyAny>>,
        error: Option<&Bound<'_, PyAny>>,
        traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        if this.get().ended.load(Ordering::Relaxed) {
            return Ok(());
        }
        if greenlets::seen() {
            return this.call_method1("_exit_among_greenlets", (kind, error, traceback)).map(drop);
        }
        match (this.get().release(this.py(), "HoldHandle._exit"), error) {
            (Err(failed), Some(_)) => {
                this.call_method1("_release_failed", (failed,))?;
                Ok(())
            }
            (released, _) => released,
        }
    }

    fn __repr__(&self) -> &str {
        &self.description
    }

    fn _release(&self, py: Python<'_>) -> PyResult<()> {
        self.release(py, "HoldHandle._release")
    }

    /// Notes that it was ended by a submitted operation.
    fn _end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    fn _detach(&self, py: Python<'_>) -> PyResult<String> {
        let handle = self.grant.get().handle;
        let text = blocking(py, "HoldHandle._detach", |state| ops::held_detach(state, handle))?;
        self.ended.store(true, Ordering::Relaxed);
        Ok(text)
    }
}

impl HoldHandle {
    fn release(&self, py: Python<'_>, export: &'static str) -> PyResult<()> {
        self.ended.store(true, Ordering::Relaxed);
        let handle = self.grant.get().handle;
        blocking(py, export, |state| ops::held_release(state, handle))
    }
}

/// `into`, as in `lock_acquire`, gets the hold of the read side.
#[pyfunction]
pub(crate) fn held_downgrade(into: &Bound<'_, PyList>, held: u64) -> PyResult<()> {
    let reads = blocking(into.py(), "held_downgrade", |state| ops::held_downgrade(state, held))?;
    into.append(Grant::from(reads))
}

#[pyfunction]
pub(crate) fn held_extend(py: Python<'_>, held: u64, lease_ms: i64) -> PyResult<()> {
    blocking(py, "held_extend", |state| ops::held_extend(state, held, lease_ms))
}

#[pyfunction]
pub(crate) fn held_valid(py: Python<'_>, held: u64) -> PyResult<bool> {
    quick(py, "held_valid", |state| ops::held_valid(state, held))
}

#[pyfunction]
pub(crate) fn held_permits(py: Python<'_>, held: u64) -> PyResult<Vec<String>> {
    quick(py, "held_permits", |state| ops::held_permits(state, held))
}

/// Of several locks held as one: each name, and its fencing token.
#[pyfunction]
pub(crate) fn held_tokens(py: Python<'_>, held: u64) -> PyResult<Vec<(String, u64)>> {
    quick(py, "held_tokens", |state| ops::held_tokens(state, held))
}

/// Of several locks held as one: the name of the one that was lost.
#[pyfunction]
pub(crate) fn held_lost_member(py: Python<'_>, held: u64) -> PyResult<Option<String>> {
    quick(py, "held_lost_member", |state| ops::held_lost_member(state, held)).map(|lost| lost.map(|(name, _)| name))
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
