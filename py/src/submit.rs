//! The operations for an event loop: each is started here and answered through the loop's port, with the `key` it was given.
//! What they mean stands with their blocking namesakes in `client.rs`, `lock.rs` and `held.rs`.

use libdlock::HolderId;
use libdlock_bridge::Outcome;
use libdlock_bridge::ops::{self, Holding};
use pyo3::prelude::*;

use crate::call::submit;
use crate::client::opening;
use crate::held::waiting_for_loss;
use crate::port::Port;

/// A holder that did not exist before: a task's.
#[pyfunction]
pub(crate) fn fresh_holder() -> u64 {
    HolderId::fresh().0
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
    submit(py, "submit_client_open", port.handle, key, |state| async move {
        opening(state, url, options, log_port).await.map(Outcome::Handle)
    })
}

#[pyfunction]
pub(crate) fn submit_client_close(py: Python<'_>, port: &Port, key: u64, client: u64, release: bool) -> PyResult<u64> {
    submit(py, "submit_client_close", port.handle, key, |state| async move {
        ops::client_close(state, client, release).await.map(|()| Outcome::Unit)
    })
}

#[pyfunction]
pub(crate) fn submit_lock_acquire(
    py: Python<'_>,
    port: &Port,
    key: u64,
    lock: u64,
    holder: u64,
    wait_ms: i64,
    lease_ms: i64,
) -> PyResult<u64> {
    let holding = Holding::ByHolder(HolderId(holder));
    submit(py, "submit_lock_acquire", port.handle, key, |state| async move {
        ops::lock_acquire(state, lock, holding, ops::given(wait_ms, -1), ops::given(lease_ms, 0))
            .await
            .map(Outcome::Held)
    })
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
    let holding = Holding::ByHolder(HolderId(holder));
    submit(py, "submit_lock_attach", port.handle, key, |state| async move {
        ops::lock_attach(state, lock, holding, detached.into_bytes()).await.map(Outcome::Held)
    })
}

#[pyfunction]
pub(crate) fn submit_lock_release(py: Python<'_>, port: &Port, key: u64, lock: u64, holder: u64) -> PyResult<u64> {
    submit(py, "submit_lock_release", port.handle, key, |state| async move {
        ops::lock_release(state, lock, HolderId(holder)).await.map(|()| Outcome::Unit)
    })
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
    submit(py, "submit_lock_extend", port.handle, key, |state| async move {
        ops::lock_extend(state, lock, HolderId(holder), lease_ms).await.map(|()| Outcome::Unit)
    })
}

#[pyfunction]
pub(crate) fn submit_lock_detach(py: Python<'_>, port: &Port, key: u64, lock: u64, holder: u64) -> PyResult<u64> {
    submit(py, "submit_lock_detach", port.handle, key, |state| async move {
        ops::lock_detach(state, lock, HolderId(holder)).await.map(Outcome::Text)
    })
}

#[pyfunction]
pub(crate) fn submit_lock_force_release(py: Python<'_>, port: &Port, key: u64, lock: u64) -> PyResult<u64> {
    submit(py, "submit_lock_force_release", port.handle, key, |state| async move {
        ops::lock_force_release(state, lock).await.map(Outcome::Bool)
    })
}

#[pyfunction]
pub(crate) fn submit_lock_inspect(py: Python<'_>, port: &Port, key: u64, lock: u64) -> PyResult<u64> {
    submit(py, "submit_lock_inspect", port.handle, key, |state| async move {
        ops::lock_inspect(state, lock).await.map(Outcome::Inspection)
    })
}

#[pyfunction]
pub(crate) fn submit_held_wait_lost(
    py: Python<'_>,
    port: &Port,
    key: u64,
    held: u64,
    timeout_ms: i64,
) -> PyResult<u64> {
    submit(py, "submit_held_wait_lost", port.handle, key, |state| async move {
        waiting_for_loss(state, held, timeout_ms).await.map(Outcome::Loss)
    })
}
