//! Objects that nobody holds: rate limiters, latches, counting semaphores, generators of ids in blocks.

use libdlock_bridge::{Handle, HandleKind, Process};
use pyo3::prelude::*;

use crate::call::free;

/// An object's handle, given back with the Python object that keeps it.
#[pyclass(frozen, module = "libdlock._native")]
pub(crate) struct ObjectHandle {
    #[pyo3(get)]
    handle: Handle,
    kind: HandleKind,
    process: Process,
}

impl ObjectHandle {
    pub(crate) fn new(kind: HandleKind, handle: Handle) -> Self {
        ObjectHandle { handle, kind, process: Process::current() }
    }
}

impl Drop for ObjectHandle {
    fn drop(&mut self) {
        free(self.process, |state| state.free(self.kind, self.handle));
    }
}
