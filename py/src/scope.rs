//! The base class of `libdlock.Lock`: the lock's handle, and the end of a `with` block.

use libdlock_bridge::{ops, this_thread};
use pyo3::prelude::*;

use crate::call::{blocking, free};

/// `__exit__` is native because a signal may arrive just as a function written in Python begins: its body, and with it the
/// release, would never run. Between the call of a native function and its first act Python runs no handlers.
#[pyclass(subclass, frozen, module = "libdlock._native")]
pub(crate) struct Scope {
    #[pyo3(get)]
    handle: u64,
    process: u32,
}

#[pymethods]
impl Scope {
    #[new]
    fn new(lock: u64) -> Self {
        Scope { handle: lock, process: std::process::id() }
    }

    fn __exit__(
        this: &Bound<'_, Self>,
        kind: Option<&Bound<'_, PyAny>>,
        error: Option<&Bound<'_, PyAny>>,
        traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (py, lock) = (this.py(), this.get().handle);
        let _ = (kind, traceback);
        let released = blocking(py, "Scope.__exit__", |state| ops::lock_release(state, lock, this_thread()));
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
