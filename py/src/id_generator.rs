//! Generators of ids in blocks: opened by name, asked for the next ids.

use libdlock_bridge::{HandleKind, ops};
use pyo3::prelude::*;

use crate::call::{blocking, quick, submit};
use crate::object_handle::ObjectHandle;
use crate::port::Port;

#[pyfunction]
pub(crate) fn id_generator_open(
    py: Python<'_>,
    client: u64,
    name: Vec<u8>,
    block: i64,
    start: i64,
) -> PyResult<ObjectHandle> {
    let handle = quick(py, "id_generator_open", |state| ops::id_generator_open(state, client, &name, block, start))?;
    Ok(ObjectHandle::new(HandleKind::IdGenerator, handle))
}

#[pyfunction]
pub(crate) fn id_generator_block_size(py: Python<'_>, generator: u64) -> PyResult<i64> {
    quick(py, "id_generator_block_size", |state| ops::id_generator_block_size(state, generator))
}

#[pyfunction]
pub(crate) fn id_generator_next_id(py: Python<'_>, generator: u64) -> PyResult<i64> {
    blocking(py, "id_generator_next_id", |state| ops::id_generator_next_id(state, generator))
}

#[pyfunction]
pub(crate) fn id_generator_next_ids(py: Python<'_>, generator: u64, count: i64) -> PyResult<Vec<i64>> {
    blocking(py, "id_generator_next_ids", |state| ops::id_generator_next_ids(state, generator, count)).map(|ids| ids.0)
}

#[pyfunction]
pub(crate) fn submit_id_generator_next_id(py: Python<'_>, port: &Port, key: u64, generator: u64) -> PyResult<u64> {
    submit(py, "submit_id_generator_next_id", port, key, |state| ops::id_generator_next_id(state, generator))
}

#[pyfunction]
pub(crate) fn submit_id_generator_next_ids(
    py: Python<'_>,
    port: &Port,
    key: u64,
    generator: u64,
    count: i64,
) -> PyResult<u64> {
    submit(py, "submit_id_generator_next_ids", port, key, |state| ops::id_generator_next_ids(state, generator, count))
}
