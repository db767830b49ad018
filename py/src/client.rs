//! Clients.

use std::future::Future;

use libdlock::Result;
use libdlock::embed;
use libdlock_bridge::ops::{self, LogTo};
use libdlock_bridge::{Handle, HandleKind, Process, State};
use pyo3::prelude::*;

use crate::call::{blocking, free, quick};

/// A client's handle, given back with the object.
#[pyclass(frozen, module = "libdlock._native")]
pub(crate) struct ClientHandle {
    #[pyo3(get)]
    handle: Handle,
    process: Process,
}

impl ClientHandle {
    pub(crate) fn new(handle: Handle) -> Self {
        ClientHandle { handle, process: Process::current() }
    }
}

#[pymethods]
impl ClientHandle {
    /// Closes a client that reached nobody, without waiting for it.
    fn undo(&self) {
        free(self.process, |state| {
            state.undo(self.handle);
            Ok(())
        });
    }
}

impl Drop for ClientHandle {
    fn drop(&mut self) {
        free(self.process, |state| state.free(HandleKind::Client, self.handle));
    }
}

/// How a client is opened, for those who wait and for those who submit. Its events go to `log_port`, and need no mark: one
/// process has one logger.
pub(crate) fn opening(
    state: &'static State,
    url: String,
    options: Vec<(String, String)>,
    log_port: Handle,
) -> impl Future<Output = Result<Handle>> {
    ops::client_open(state, url, options, Some(LogTo { port: log_port, user_data: 0 }))
}

#[pyfunction]
pub(crate) fn client_open(
    py: Python<'_>,
    url: String,
    options: Vec<(String, String)>,
    log_port: u64,
) -> PyResult<ClientHandle> {
    blocking(py, "client_open", |state| opening(state, url, options, log_port)).map(ClientHandle::new)
}

#[pyfunction]
pub(crate) fn client_close(py: Python<'_>, client: u64, release: bool) -> PyResult<()> {
    blocking(py, "client_close", |state| ops::client_close(state, client, release))
}

/// How a client is opened whose time a clock tells, likewise.
pub(crate) fn opening_at(
    state: &'static State,
    url: String,
    options: Vec<(String, String)>,
    log_port: Handle,
    clock: Handle,
) -> impl Future<Output = Result<Handle>> {
    ops::client_open_at(state, url, options, Some(LogTo { port: log_port, user_data: 0 }), clock)
}

#[pyfunction]
pub(crate) fn client_open_at(
    py: Python<'_>,
    url: String,
    options: Vec<(String, String)>,
    log_port: u64,
    clock: u64,
) -> PyResult<ClientHandle> {
    blocking(py, "client_open_at", |state| opening_at(state, url, options, log_port, clock)).map(ClientHandle::new)
}

/// For the end of a task: stops the renewal of what it holds.
#[pyfunction]
pub(crate) fn client_abandon(py: Python<'_>, client: u64, holder: u64) -> PyResult<()> {
    quick(py, "client_abandon", |state| ops::client_abandon(state, client, embed::holder(holder)))
}
