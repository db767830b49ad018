//! Bloom filters: opened by name, added to, looked into.

use libdlock_bridge::ops::{self, BloomItems};
use libdlock_bridge::{HandleKind, State};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::call::{blocking, quick, submit};
use crate::object_handle::ObjectHandle;
use crate::port::Port;

#[pyfunction]
#[pyo3(signature = (client, name, expected, rate, ttl_ms))]
pub(crate) fn bloom_filter_open(
    py: Python<'_>,
    client: u64,
    name: Vec<u8>,
    expected: i64,
    rate: f64,
    ttl_ms: Option<i64>,
) -> PyResult<ObjectHandle> {
    let handle =
        quick(py, "bloom_filter_open", |state| ops::bloom_filter_open(state, client, &name, expected, rate, ttl_ms))?;
    Ok(ObjectHandle::new(HandleKind::BloomFilter, handle))
}

#[pyfunction]
pub(crate) fn bloom_filter_size(py: Python<'_>, filter: u64) -> PyResult<i64> {
    quick(py, "bloom_filter_size", |state| ops::bloom_filter_size(state, filter))
}

#[pyfunction]
pub(crate) fn bloom_filter_hashes(py: Python<'_>, filter: u64) -> PyResult<i64> {
    quick(py, "bloom_filter_hashes", |state| ops::bloom_filter_hashes(state, filter))
}

#[pyfunction]
pub(crate) fn bloom_filter_add(py: Python<'_>, filter: u64, items: Vec<PyBackedBytes>) -> PyResult<Vec<bool>> {
    let items = hashed(&items);
    blocking(py, "bloom_filter_add", |state| ops::bloom_filter_add(state, filter, items)).map(|answers| answers.0)
}

#[pyfunction]
pub(crate) fn bloom_filter_contains(py: Python<'_>, filter: u64, items: Vec<PyBackedBytes>) -> PyResult<Vec<bool>> {
    let items = hashed(&items);
    let answers = blocking(py, "bloom_filter_contains", |state| ops::bloom_filter_contains(state, filter, items));
    answers.map(|answers| answers.0)
}

#[pyfunction]
pub(crate) fn bloom_filter_count(py: Python<'_>, filter: u64) -> PyResult<i64> {
    blocking(py, "bloom_filter_count", |state| ops::bloom_filter_count(state, filter))
}

#[pyfunction]
pub(crate) fn bloom_filter_false_positive_rate(py: Python<'_>, filter: u64) -> PyResult<f64> {
    let rate = |state: &'static State| ops::bloom_filter_false_positive_rate(state, filter);
    blocking(py, "bloom_filter_false_positive_rate", rate).map(|rate| rate.0)
}

#[pyfunction]
pub(crate) fn bloom_filter_clear(py: Python<'_>, filter: u64) -> PyResult<bool> {
    blocking(py, "bloom_filter_clear", |state| ops::bloom_filter_clear(state, filter))
}

#[pyfunction]
pub(crate) fn submit_bloom_filter_add(
    py: Python<'_>,
    port: &Port,
    key: u64,
    filter: u64,
    items: Vec<PyBackedBytes>,
) -> PyResult<u64> {
    let items = hashed(&items);
    submit(py, "submit_bloom_filter_add", port, key, |state| ops::bloom_filter_add(state, filter, items))
}

#[pyfunction]
pub(crate) fn submit_bloom_filter_contains(
    py: Python<'_>,
    port: &Port,
    key: u64,
    filter: u64,
    items: Vec<PyBackedBytes>,
) -> PyResult<u64> {
    let items = hashed(&items);
    submit(py, "submit_bloom_filter_contains", port, key, |state| ops::bloom_filter_contains(state, filter, items))
}

#[pyfunction]
pub(crate) fn submit_bloom_filter_count(py: Python<'_>, port: &Port, key: u64, filter: u64) -> PyResult<u64> {
    submit(py, "submit_bloom_filter_count", port, key, |state| ops::bloom_filter_count(state, filter))
}

#[pyfunction]
pub(crate) fn submit_bloom_filter_false_positive_rate(
    py: Python<'_>,
    port: &Port,
    key: u64,
    filter: u64,
) -> PyResult<u64> {
    let rate = |state: &'static State| ops::bloom_filter_false_positive_rate(state, filter);
    submit(py, "submit_bloom_filter_false_positive_rate", port, key, rate)
}

#[pyfunction]
pub(crate) fn submit_bloom_filter_clear(py: Python<'_>, port: &Port, key: u64, filter: u64) -> PyResult<u64> {
    submit(py, "submit_bloom_filter_clear", port, key, |state| ops::bloom_filter_clear(state, filter))
}

fn hashed(items: &[PyBackedBytes]) -> BloomItems {
    items.iter().collect()
}
