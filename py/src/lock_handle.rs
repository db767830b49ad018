//! The base class of the locks of both packages.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use libdlock::ErrorKind;
use libdlock_bridge::{Handle, Process, ops, this_thread};
use pyo3::prelude::*;

use crate::call::{blocking, free};

/// A lock's handle, given back with the object, and how much was acquired through it, so that one that is lost sight of
/// while held can be warned about.
#[pyclass(subclass, frozen, module = "libdlock._native")]
pub(crate) struct LockHandle {
    #[pyo3(get, name = "_handle")]
    pub(crate) handle: Handle,
    /// Acquired less released through this object.
    levels: AtomicI64,
    process: Process,
}

impl LockHandle {
    pub(crate) fn entered(&self) {
        self.levels.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn left(&self) {
        self.levels.fetch_sub(1, Ordering::Relaxed);
    }
}

#[pymethods]
impl LockHandle {
    #[new]
    fn new(lock: u64) -> Self {
        LockHandle { handle: lock, levels: AtomicI64::new(0), process: Process::current() }
    }

    #[pyo3(name = "_entered")]
    fn py_entered(&self) {
        self.entered();
    }

    #[pyo3(name = "_left")]
    fn py_left(&self) {
        self.left();
    }

    /// The `__exit__` of the lock of threads. Native because a signal may arrive just as a function written in Python begins:
    /// its body, and with it the release, would never run. Between the call of a native function and its first act Python
    /// runs no handlers.
    fn _exit(
        this: &Bound<'_, Self>,
        kind: Option<&Bound<'_, PyAny>>,
        error: Option<&Bound<'_, PyAny>>,
        traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let _ = (kind, traceback);
        let released = release(this.py(), "LockHandle._exit", this.get());
        match (released, error) {
            (Err(failed), Some(_)) => {
                this.call_method1("_release_failed", (failed,))?;
                Ok(())
            }
            (released, _) => released,
        }
    }

    /// Whether more was acquired through this object, in this process, than was released through it.
    #[getter]
    fn _left_held(&self) -> bool {
        self.levels.load(Ordering::Relaxed) > 0 && self.process.is_current()
    }
}

impl Drop for LockHandle {
    fn drop(&mut self) {
        free(self.process, |state| ops::lock_free(state, self.handle));
    }
}

/// Gives up one level of the calling thread's, waiting for the answer.
pub(crate) fn release(py: Python<'_>, export: &'static str, lock: &LockHandle) -> PyResult<()> {
    let holder = this_thread();
    let held = AtomicBool::new(true);
    let noting = &held;
    let released = blocking(py, export, |state| async move {
        let released = ops::lock_release_directly(state, lock.handle, holder).await;
        let not_held = released.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotHeld);
        noting.store(!not_held, Ordering::Relaxed);
        released
    });
    // Any other failure ends the hold too. Who did not hold it took nothing off what others have.
    if held.into_inner() {
        lock.left();
    }
    released
}
