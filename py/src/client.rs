//! Clients.

use libdlock_bridge::ops::{self, LogTo};
use pyo3::prelude::*;

use crate::call::{blocking, free};

#[pyfunction]
pub(crate) fn client_open(py: Python<'_>, url: String, options: Vec<(String, String)>, log_port: u64) -> PyResult<u64> {
    blocking(py, "client_open", |state| {
        let log = LogTo { port: log_port, user_data: 0 };
        ops::client_open(state, url, options, Some(log))
    })
}

#[pyfunction]
pub(crate) fn client_close(py: Python<'_>, client: u64, release: bool) -> PyResult<()> {
    blocking(py, "client_close", |state| ops::client_close(state, client, release))
}

/// Gives the handle of a closed client back.
#[pyfunction]
pub(crate) fn client_free(client: u64) {
    free(std::process::id(), |state| ops::client_free(state, client));
}
