//! What a rate limiter is told outside of a decision.

use libdlock_bridge::ops;
use pyo3::prelude::*;

use crate::call::{blocking, submit};
use crate::limiter::{Decided, decided};
use crate::port::Port;

#[pyfunction]
#[pyo3(signature = (limiter, cost, wait_ms, of_key))]
pub(crate) fn limiter_reserve(
    py: Python<'_>,
    limiter: u64,
    cost: i64,
    wait_ms: Option<i64>,
    of_key: Option<Vec<u8>>,
) -> PyResult<Decided> {
    blocking(py, "limiter_reserve", |state| ops::limiter_reserve(state, limiter, of_key, cost, wait_ms)).map(decided)
}

#[pyfunction]
#[pyo3(signature = (limiter, tokens, of_key))]
pub(crate) fn limiter_penalty(py: Python<'_>, limiter: u64, tokens: i64, of_key: Option<Vec<u8>>) -> PyResult<()> {
    blocking(py, "limiter_penalty", |state| ops::limiter_penalty(state, limiter, of_key, tokens))
}

#[pyfunction]
#[pyo3(signature = (limiter, tokens, of_key))]
pub(crate) fn limiter_reward(py: Python<'_>, limiter: u64, tokens: i64, of_key: Option<Vec<u8>>) -> PyResult<()> {
    blocking(py, "limiter_reward", |state| ops::limiter_reward(state, limiter, of_key, tokens))
}

#[pyfunction]
#[pyo3(signature = (limiter, length_ms, of_key))]
pub(crate) fn limiter_block(py: Python<'_>, limiter: u64, length_ms: i64, of_key: Option<Vec<u8>>) -> PyResult<()> {
    blocking(py, "limiter_block", |state| ops::limiter_block(state, limiter, of_key, length_ms))
}

#[pyfunction]
#[pyo3(signature = (port, key, limiter, cost, wait_ms, of_key))]
pub(crate) fn submit_limiter_reserve(
    py: Python<'_>,
    port: &Port,
    key: u64,
    limiter: u64,
    cost: i64,
    wait_ms: Option<i64>,
    of_key: Option<Vec<u8>>,
) -> PyResult<u64> {
    submit(py, "submit_limiter_reserve", port, key, |state| ops::limiter_reserve(state, limiter, of_key, cost, wait_ms))
}

#[pyfunction]
#[pyo3(signature = (port, key, limiter, tokens, of_key))]
pub(crate) fn submit_limiter_penalty(
    py: Python<'_>,
    port: &Port,
    key: u64,
    limiter: u64,
    tokens: i64,
    of_key: Option<Vec<u8>>,
) -> PyResult<u64> {
    submit(py, "submit_limiter_penalty", port, key, |state| ops::limiter_penalty(state, limiter, of_key, tokens))
}

#[pyfunction]
#[pyo3(signature = (port, key, limiter, tokens, of_key))]
pub(crate) fn submit_limiter_reward(
    py: Python<'_>,
    port: &Port,
    key: u64,
    limiter: u64,
    tokens: i64,
    of_key: Option<Vec<u8>>,
) -> PyResult<u64> {
    submit(py, "submit_limiter_reward", port, key, |state| ops::limiter_reward(state, limiter, of_key, tokens))
}

#[pyfunction]
#[pyo3(signature = (port, key, limiter, length_ms, of_key))]
pub(crate) fn submit_limiter_block(
    py: Python<'_>,
    port: &Port,
    key: u64,
    limiter: u64,
    length_ms: i64,
    of_key: Option<Vec<u8>>,
) -> PyResult<u64> {
    submit(py, "submit_limiter_block", port, key, |state| ops::limiter_block(state, limiter, of_key, length_ms))
}
