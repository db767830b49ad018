//! The base class of the locks of both packages.

use std::sync::{Mutex, MutexGuard, PoisonError};

use libdlock::embed;
use libdlock_bridge::{Handle, HandleKind, Process, ops, this_thread};
use pyo3::prelude::*;

use crate::call::{blocking, free, unheard};
use crate::greenlets;
use crate::held::Grant;

/// A lock's handle, given back with the object, and the scopes (`with` blocks) that were entered through it.
#[pyclass(subclass, frozen, module = "libdlock._native")]
pub(crate) struct LockHandle {
    #[pyo3(get, name = "_handle")]
    pub(crate) handle: Handle,
    /// Entered and not left. The scope of a lost hold ends nothing else: its holder may have acquired anew.
    scopes: Mutex<Vec<Scope>>,
    process: Process,
}

struct Scope {
    holder: u64,
    grant: Py<Grant>,
}

impl LockHandle {
    fn scopes(&self) -> MutexGuard<'_, Vec<Scope>> {
        self.scopes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enter_scope(&self, holder: u64, grant: Py<Grant>) {
        self.scopes().push(Scope { holder, grant });
    }

    /// Takes out the holder's innermost scope. Its token if its hold was lost: then the release names it. A hold that was
    /// released on purpose and acquired anew within the scope is the scope's to end.
    fn leave_scope(&self, holder: u64) -> Option<u64> {
        let scope = {
            let mut scopes = self.scopes();
            let innermost = scopes.iter().rposition(|scope| scope.holder == holder)?;
            scopes.remove(innermost)
        };
        let grant = scope.grant.get();
        let lost = unheard(self.process, |state| Ok(ops::held_loss(state, grant.handle)?.is_some()));
        (lost == Some(true)).then_some(grant.token)
    }
}

#[pymethods]
impl LockHandle {
    #[new]
    fn new(lock: u64) -> Self {
        LockHandle { handle: lock, scopes: Mutex::new(Vec::new()), process: Process::current() }
    }

    #[pyo3(name = "_enter_scope")]
    fn py_enter_scope(&self, holder: u64, grant: Py<Grant>) {
        self.enter_scope(holder, grant);
    }

    #[pyo3(name = "_leave_scope")]
    fn py_leave_scope(&self, holder: u64) -> Option<u64> {
        self.leave_scope(holder)
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
        if greenlets::seen() {
            return this.call_method1("_exit_among_greenlets", (kind, error, traceback)).map(drop);
        }
        Self::_exit_thread(this, kind, error, traceback)
    }

    /// As `_exit`, for the calling thread.
    fn _exit_thread(
        this: &Bound<'_, Self>,
        kind: Option<&Bound<'_, PyAny>>,
        error: Option<&Bound<'_, PyAny>>,
        traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let _ = (kind, traceback);
        let lock = this.get();
        let token = lock.leave_scope(embed::holder_number(this_thread()));
        match (release(this.py(), "LockHandle._exit", lock.handle, token), error) {
            (Err(failed), Some(_)) => {
                this.call_method1("_release_failed", (failed,))?;
                Ok(())
            }
            (released, _) => released,
        }
    }
}

impl Drop for LockHandle {
    fn drop(&mut self) {
        free(self.process, |state| state.free(HandleKind::Lock, self.handle));
    }
}

/// Gives up one level of the calling thread's, waiting for the answer: of the hold with this token, if one is given.
pub(crate) fn release(py: Python<'_>, export: &'static str, lock: Handle, token: Option<u64>) -> PyResult<()> {
    let holder = this_thread();
    blocking(py, export, |state| ops::lock_release(state, lock, holder, token))
}
