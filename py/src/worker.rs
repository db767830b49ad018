//! Worker numbers, leased from a pool. What is known of one without asking the server is in `held.rs`, its generators in
//! `snowflake.rs`.

use libdlock_bridge::ops;
use pyo3::prelude::*;

use crate::call::{blocking, quick, submit};
use crate::held::Grant;
use crate::port::Port;

#[pyfunction]
pub(crate) fn worker_lease(
    py: Python<'_>,
    client: u64,
    pool: Vec<u8>,
    bits: Option<i64>,
    lease_ms: Option<i64>,
) -> PyResult<Grant> {
    blocking(py, "worker_lease", |state| ops::worker_lease(state, client, pool, bits, lease_ms)).map(Grant::from)
}

#[pyfunction]
pub(crate) fn worker_number(py: Python<'_>, held: u64) -> PyResult<i64> {
    quick(py, "worker_number", |state| ops::worker_number(state, held))
}

#[pyfunction]
pub(crate) fn worker_bits(py: Python<'_>, held: u64) -> PyResult<i64> {
    quick(py, "worker_bits", |state| ops::worker_bits(state, held))
}

#[pyfunction]
pub(crate) fn worker_release(py: Python<'_>, held: u64) -> PyResult<()> {
    blocking(py, "worker_release", |state| ops::held_release(state, held))
}

#[pyfunction]
pub(crate) fn submit_worker_lease(
    py: Python<'_>,
    port: &Port,
    key: u64,
    client: u64,
    pool: Vec<u8>,
    bits: Option<i64>,
    lease_ms: Option<i64>,
) -> PyResult<u64> {
    submit(py, "submit_worker_lease", port, key, |state| ops::worker_lease(state, client, pool, bits, lease_ms))
}
