//! The operations for an event loop: each is started here and answered through the loop's port, with the `key` it was given.
//! What they mean stands with their blocking namesakes in `client.rs`, `lock.rs` and `held.rs`.

use libdlock::embed;
use libdlock::lease::HolderId;
use libdlock_bridge::ops::{self, Holding};
use pyo3::prelude::*;

use crate::call::submit;
use crate::client::{opening, opening_at};
use crate::held::waiting_for_loss;
use crate::port::Port;

/// A holder that did not exist before: a task's.
#[pyfunction]
pub(crate) fn fresh_holder() -> u64 {
    embed::holder_number(HolderId::fresh())
}

#[pyfunction]
pub(crate) fn submit_client_open(
    py: Python<'_>,
    port: &Port,
    key: u64,
    url: String,
    options: Vec<(String, String)>,
    log_port: u64,
) -> PyResult<u64> {
    submit(py, "submit_client_open", port, key, |state| opening(state, url, options, log_port))
}

#[pyfunction]
pub(crate) fn submit_client_open_at(
    py: Python<'_>,
    port: &Port,
    key: u64,
    url: String,
    options: Vec<(String, String)>,
    log_port: u64,
    clock: u64,
) -> PyResult<u64> {
    submit(py, "submit_client_open_at", port, key, |state| opening_at(state, url, options, log_port, clock))
}

#[pyfunction]
pub(crate) fn submit_client_close(py: Python<'_>, port: &Port, key: u64, client: u64, release: bool) -> PyResult<u64> {
    submit(py, "submit_client_close", port, key, |state| ops::client_close(state, client, release))
}

#[pyfunction]
pub(crate) fn submit_lock_acquire(
    py: Python<'_>,
    port: &Port,
    key: u64,
    lock: u64,
    holder: u64,
    wait_ms: Option<i64>,
    lease_ms: Option<i64>,
) -> PyResult<u64> {
    let holding = Holding::ByHolder(embed::holder(holder));
    submit(py, "submit_lock_acquire", port, key, |state| ops::lock_acquire(state, lock, holding, wait_ms, lease_ms))
}

#[pyfunction]
pub(crate) fn submit_lock_take(
    py: Python<'_>,
    port: &Port,
    key: u64,
    lock: u64,
    wait_ms: Option<i64>,
) -> PyResult<u64> {
    submit(py, "submit_lock_take", port, key, |state| ops::lock_acquire(state, lock, Holding::ByHandle, wait_ms, None))
}

#[pyfunction]
pub(crate) fn submit_held_release(py: Python<'_>, port: &Port, key: u64, held: u64) -> PyResult<u64> {
    submit(py, "submit_held_release", port, key, |state| ops::held_release(state, held))
}

#[pyfunction]
pub(crate) fn submit_held_extend(py: Python<'_>, port: &Port, key: u64, held: u64, lease_ms: i64) -> PyResult<u64> {
    submit(py, "submit_held_extend", port, key, |state| ops::held_extend(state, held, lease_ms))
}

#[pyfunction]
pub(crate) fn submit_held_detach(py: Python<'_>, port: &Port, key: u64, held: u64) -> PyResult<u64> {
    submit(py, "submit_held_detach", port, key, |state| ops::held_detach(state, held))
}

#[pyfunction]
pub(crate) fn submit_held_downgrade(py: Python<'_>, port: &Port, key: u64, held: u64) -> PyResult<u64> {
    submit(py, "submit_held_downgrade", port, key, |state| ops::held_downgrade(state, held))
}

#[pyfunction]
pub(crate) fn submit_lock_attach(
    py: Python<'_>,
    port: &Port,
    key: u64,
    lock: u64,
    holder: u64,
    detached: String,
) -> PyResult<u64> {
    let holding = Holding::ByHolder(embed::holder(holder));
    submit(py, "submit_lock_attach", port, key, |state| ops::lock_attach(state, lock, holding, detached.into_bytes()))
}

#[pyfunction]
pub(crate) fn submit_lock_release(
    py: Python<'_>,
    port: &Port,
    key: u64,
    lock: u64,
    holder: u64,
    number: Option<u64>,
) -> PyResult<u64> {
    submit(py, "submit_lock_release", port, key, |state| ops::lock_release(state, lock, embed::holder(holder), number))
}

#[pyfunction]
pub(crate) fn submit_lock_extend(
    py: Python<'_>,
    port: &Port,
    key: u64,
    lock: u64,
    holder: u64,
    lease_ms: i64,
) -> PyResult<u64> {
    submit(py, "submit_lock_extend", port, key, |state| ops::lock_extend(state, lock, embed::holder(holder), lease_ms))
}

#[pyfunction]
pub(crate) fn submit_lock_detach(py: Python<'_>, port: &Port, key: u64, lock: u64, holder: u64) -> PyResult<u64> {
    submit(py, "submit_lock_detach", port, key, |state| ops::lock_detach(state, lock, embed::holder(holder)))
}

#[pyfunction]
pub(crate) fn submit_lock_force_release(py: Python<'_>, port: &Port, key: u64, lock: u64) -> PyResult<u64> {
    submit(py, "submit_lock_force_release", port, key, |state| ops::lock_force_release(state, lock))
}

#[pyfunction]
pub(crate) fn submit_lock_inspect(py: Python<'_>, port: &Port, key: u64, lock: u64) -> PyResult<u64> {
    submit(py, "submit_lock_inspect", port, key, |state| ops::lock_inspect(state, lock))
}

#[pyfunction]
pub(crate) fn submit_held_wait_lost(
    py: Python<'_>,
    port: &Port,
    key: u64,
    held: u64,
    timeout_ms: Option<i64>,
) -> PyResult<u64> {
    submit(py, "submit_held_wait_lost", port, key, |state| waiting_for_loss(state, held, timeout_ms))
}
