//! The base class of `libdlock.Lock`: the lock's handle, and the end of a `with` block.

use std::sync::atomic::{AtomicI64, Ordering};

use libdlock::HolderId;
use libdlock_bridge::{ops, this_thread};
use pyo3::prelude::*;

use crate::call::{blocking, free};

/// `__exit__` is native because a signal may arrive just as a function written in Python begins: its body, and with it the
/// release, would never run. Between the call of a native function and its first act Python runs no handlers.
#[pyclass(subclass, frozen, module = "libdlock._native")]
pub(crate) struct Scope {
    #[pyo3(get)]
    pub(crate) handle: u64,
    /// Acquired less released through this object, so that one that is lost sight of while held can be warned about.
    levels: AtomicI64,
    process: u32,
}

impl Scope {
    pub(crate) fn entered(&self) {
        self.levels.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn left(&self) {
        self.levels.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn release(&self, py: Python<'_>, export: &'static str, holder: HolderId) -> PyResult<()> {
        // Whatever comes of it: a release that failed is no hold that was forgotten.
        self.left();
        blocking(py, export, |state| ops::lock_release(state, self.handle, holder))
    }
}

#[pymethods]
impl Scope {
    #[new]
    fn new(lock: u64) -> Self {
        Scope { handle: lock, levels: AtomicI64::new(0), process: std::process::id() }
    }

    /// Whether more was acquired through this object, in this process, than was released through it.
    #[getter]
    fn left_held(&self) -> bool {
        self.levels.load(Ordering::Relaxed) > 0 && self.process == std::process::id()
    }

    fn __exit__(
        this: &Bound<'_, Self>,
        kind: Option<&Bound<'_, PyAny>>,
        error: Option<&Bound<'_, PyAny>>,
        traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let _ = (kind, traceback);
        let released = this.get().release(this.py(), "Scope.__exit__", this_thread());
        match (released, error) {
            (Err(failed), Some(_)) => {
                this.call_method1("_release_failed", (failed,))?;
                Ok(())
            }
            (released, _) => released,
        }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        let lock = self.handle;
        free(self.process, |state| ops::lock_free(state, lock));
    }
}
