//! The base class of the objects of both packages that threads and tasks hold: locks and semaphores.

use std::sync::{Mutex, MutexGuard, PoisonError};

use libdlock::embed;
use libdlock_bridge::{Handle, HandleKind, Process, ops, this_thread};
use pyo3::prelude::*;

use crate::call::{blocking, free, unheard};
use crate::greenlets;
use crate::held::Grant;

/// An object's handle, given back with the object, and the scopes (`with` blocks) that were entered through it.
#[pyclass(subclass, frozen, module = "libdlock._native")]
pub(crate) struct ScopedHandle {
    #[pyo3(get, name = "_handle")]
    pub(crate) handle: Handle,
    /// Entered and not left. The scope of a lost hold ends nothing else: its holder may have acquired anew.
    scopes: Mutex<Vec<Scope>>,
    process: Process,
    kind: HandleKind,
}

struct Scope {
    holder: u64,
    grant: Py<Grant>,
    /// The read side, once a scope of the write side was downgraded.
    goes_on_as: Option<Py<ScopedHandle>>,
}

/// What the end of a scope has to release.
#[derive(Default)]
struct Left {
    /// The read side, if it is a hold of that.
    goes_on_as: Option<Py<ScopedHandle>>,
    number: Option<u64>,
    /// To be kept until the release: the number of a hold of several locks is its handle, which goes with this.
    grant: Option<Py<Grant>>,
}

impl ScopedHandle {
    fn scopes(&self) -> MutexGuard<'_, Vec<Scope>> {
        self.scopes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enter_scope(&self, holder: u64, grant: Py<Grant>) {
        self.scopes().push(Scope { holder, grant, goes_on_as: None });
    }

    /// The holder's innermost scope, if it has one, ends a hold of the read side from now on.
    pub(crate) fn downgrade_scope(&self, holder: u64, reads: Py<ScopedHandle>, grant: Py<Grant>) {
        let mut scopes = self.scopes();
        let innermost = scopes.iter_mut().rfind(|scope| scope.holder == holder && scope.goes_on_as.is_none());
        let replaced = innermost.map(|scope| {
            scope.goes_on_as = Some(reads);
            std::mem::replace(&mut scope.grant, grant)
        });
        // What is dropped gives its handle back: not under the lock.
        drop(scopes);
        drop(replaced);
    }

    /// Takes out the holder's innermost scope. Its number if the release has to name its hold: when that was lost, and of
    /// permits, each acquire of which is a hold of its own, unless they were released on purpose and acquired anew within the
    /// scope: what was acquired anew is the scope's to end, what was acquired before the scope is not.
    fn leave_scope(&self, holder: u64) -> Left {
        let scope = {
            let mut scopes = self.scopes();
            let innermost = scopes.iter().rposition(|scope| scope.holder == holder);
            match innermost {
                Some(at) => scopes.remove(at),
                None => return Left::default(),
            }
        };
        let grant = scope.grant.get();
        let named = unheard(self.process, |state| {
            let lost = ops::held_loss(state, grant.handle)?.is_some();
            if self.kind != HandleKind::Semaphore || lost {
                return Ok(lost);
            }
            let holder = embed::holder(holder);
            Ok(ops::held_valid(state, grant.handle)?
                || !ops::semaphore_has_later(state, self.handle, holder, grant.handle)?)
        });
        let number = (named == Some(true)).then_some(grant.number);
        Left { goes_on_as: scope.goes_on_as, number, grant: Some(scope.grant) }
    }

    /// Gives up one level of the calling thread's, or one hold of permits, waiting for the answer: of the hold with this
    /// number, if one is given.
    pub(crate) fn release(&self, py: Python<'_>, export: &'static str, number: Option<u64>) -> PyResult<()> {
        let (holder, handle) = (this_thread(), self.handle);
        match self.kind {
            HandleKind::Semaphore => {
                blocking(py, export, |state| ops::semaphore_release(state, handle, holder, number))
            }
            HandleKind::RwLockSide => blocking(py, export, |state| ops::rw_lock_release(state, handle, holder, number)),
            HandleKind::LockAll => blocking(py, export, |state| ops::lock_all_release(state, handle, holder, number)),
            _ => blocking(py, export, |state| ops::lock_release(state, handle, holder, number)),
        }
    }
}

#[pymethods]
impl ScopedHandle {
    #[new]
    fn new(handle: u64) -> Self {
        let kind = HandleKind::of_handle(handle).unwrap_or(HandleKind::Lock);
        ScopedHandle { handle, scopes: Mutex::new(Vec::new()), process: Process::current(), kind }
    }

    #[pyo3(name = "_enter_scope")]
    fn py_enter_scope(&self, holder: u64, grant: Py<Grant>) {
        self.enter_scope(holder, grant);
    }

    #[pyo3(name = "_downgrade_scope")]
    fn py_downgrade_scope(&self, holder: u64, reads: Py<ScopedHandle>, grant: Py<Grant>) {
        self.downgrade_scope(holder, reads, grant);
    }

    /// The object of the hold that the scope ends, the number of the hold if the release has to name it, and what has to be
    /// kept until the release.
    #[pyo3(name = "_leave_scope")]
    fn py_leave_scope(this: Py<Self>, holder: u64) -> (Py<Self>, Option<u64>, Option<Py<Grant>>) {
        let Left { goes_on_as, number, grant } = this.get().leave_scope(holder);
        (goes_on_as.unwrap_or(this), number, grant)
    }

    /// The `__exit__` of what threads hold. Native because a signal may arrive just as a function written in Python begins:
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
        let left = this.get().leave_scope(embed::holder_number(this_thread()));
        let object = left.goes_on_as.as_ref().unwrap_or(this.as_unbound()).get();
        let released = object.release(this.py(), "ScopedHandle._exit", left.number);
        drop(left.grant);
        match (released, error) {
            (Err(failed), Some(_)) => {
                this.call_method1("_release_failed", (failed,))?;
                Ok(())
            }
            (released, _) => released,
        }
    }
}

impl Drop for ScopedHandle {
    fn drop(&mut self) {
        free(self.process, |state| state.free(self.kind, self.handle));
    }
}
