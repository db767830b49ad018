//! Rate limiters: opened by name and rate, asked; their answers as plain values.

use libdlock_bridge::ops::{self, Decision, Decisions, RateArgs};
use libdlock_bridge::{HandleKind, enter, guard};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::call::{blocking, quick, submit};
use crate::error::exception;
use crate::object_handle::ObjectHandle;
use crate::port::{BATCH, Port};

/// A rate as Python gives it: tokens, microseconds, burst, and the word of its algorithm.
type Rate = (i64, i64, Option<i64>, String);

/// `absent` is the policy for an absent server: a word, and for `local_share` among how many.
#[pyfunction]
#[pyo3(signature = (client, name, rates, absent, prefetch))]
pub(crate) fn limiter_open(
    py: Python<'_>,
    client: u64,
    name: Vec<u8>,
    rates: Vec<Rate>,
    absent: (String, Option<i64>),
    prefetch: Option<f64>,
) -> PyResult<ObjectHandle> {
    let handle = quick(py, "limiter_open", |state| {
        let (word, share_of) = absent;
        let absent = ops::absent(&word, share_of)?;
        let read = |(tokens, per_us, burst, word): &Rate| -> libdlock::Result<RateArgs> {
            Ok(RateArgs { tokens: *tokens, per_us: *per_us, burst: *burst, algorithm: word.parse()? })
        };
        let rates: Vec<RateArgs> = rates.iter().map(read).collect::<libdlock::Result<_>>()?;
        ops::limiter_open(state, client, &name, &rates, absent, prefetch)
    })?;
    Ok(ObjectHandle::new(HandleKind::Limiter, handle))
}

#[pyfunction]
#[pyo3(signature = (limiter, cost, wait_ms, of_key))]
pub(crate) fn limiter_acquire(
    py: Python<'_>,
    limiter: u64,
    cost: i64,
    wait_ms: Option<i64>,
    of_key: Option<Vec<u8>>,
) -> PyResult<Decided> {
    blocking(py, "limiter_acquire", |state| ops::limiter_acquire(state, limiter, of_key, cost, wait_ms)).map(decided)
}

/// Keeps the interpreter lock: it is over before the lock could be given away.
#[pyfunction]
pub(crate) fn limiter_try_acquire_now(py: Python<'_>, limiter: u64, cost: i64) -> PyResult<Option<Decided>> {
    let answer = guard("limiter_try_acquire_now", || ops::limiter_try_acquire_now(enter()?, limiter, cost));
    answer.map(|decision| decision.map(decided)).map_err(|error| exception(py, &error))
}

/// What each item was answered: numbers, or the exception that it has met.
#[pyfunction]
pub(crate) fn limiter_acquire_many(
    py: Python<'_>,
    limiter: u64,
    items: Vec<(Vec<u8>, i64)>,
) -> PyResult<Vec<Py<PyAny>>> {
    let answers = blocking(py, "limiter_acquire_many", |state| ops::limiter_acquire_many(state, limiter, items))?;
    each_decided(py, answers)
}

#[pyfunction]
#[pyo3(signature = (limiter, of_key))]
pub(crate) fn limiter_reset(py: Python<'_>, limiter: u64, of_key: Option<Vec<u8>>) -> PyResult<()> {
    blocking(py, "limiter_reset", |state| ops::limiter_reset(state, limiter, of_key))
}

#[pyfunction]
#[pyo3(signature = (port, key, limiter, cost, wait_ms, of_key))]
pub(crate) fn submit_limiter_acquire(
    py: Python<'_>,
    port: &Port,
    key: u64,
    limiter: u64,
    cost: i64,
    wait_ms: Option<i64>,
    of_key: Option<Vec<u8>>,
) -> PyResult<u64> {
    submit(py, "submit_limiter_acquire", port, key, |state| ops::limiter_acquire(state, limiter, of_key, cost, wait_ms))
}

#[pyfunction]
pub(crate) fn submit_limiter_acquire_many(
    py: Python<'_>,
    port: &Port,
    key: u64,
    limiter: u64,
    items: Vec<(Vec<u8>, i64)>,
) -> PyResult<u64> {
    submit(py, "submit_limiter_acquire_many", port, key, |state| ops::limiter_acquire_many(state, limiter, items))
}

/// As `submit` does it, for each part of these.
#[pyfunction]
pub(crate) fn limiter_submit_each(
    py: Python<'_>,
    port: &Port,
    key: u64,
    limiter: u64,
    asks: Vec<ops::Ask>,
) -> PyResult<Vec<(usize, u64)>> {
    let mut completions = Vec::new();
    let submitted = guard("limiter_submit_each", || {
        let state = enter()?;
        ops::limiter_submit_each(state, limiter, asks, |first, asking| {
            let (op, mut completed) = state.submit_and_drain(port.handle, key + first as u64, asking, BATCH)?;
            completions.append(&mut completed);
            Ok(op)
        })
    });
    // Also when a later part was not submitted: these are drained.
    port.hand_out(py, completions)?;
    let parts = submitted.map_err(|error| exception(py, &error))?;
    Ok(parts.into_iter().map(|part| (part.callers, part.op)).collect())
}

#[pyfunction]
#[pyo3(signature = (port, key, limiter, of_key))]
pub(crate) fn submit_limiter_reset(
    py: Python<'_>,
    port: &Port,
    key: u64,
    limiter: u64,
    of_key: Option<Vec<u8>>,
) -> PyResult<u64> {
    submit(py, "submit_limiter_reset", port, key, |state| ops::limiter_reset(state, limiter, of_key))
}

/// Allowed, granted, remaining, seconds to the next try (none: never), seconds until full, the limit, which rate refused (none:
/// none did), seconds until what was granted may be used, and the server's time in microseconds (none when a policy decided).
pub(crate) type Decided = (bool, u64, u64, Option<f64>, f64, u64, Option<u64>, f64, Option<u64>);

pub(crate) fn decided(decision: Decision) -> Decided {
    let seconds = |us: u64| us as f64 / 1e6;
    (
        decision.allowed,
        decision.granted,
        decision.remaining,
        decision.retry_after_us.map(seconds),
        seconds(decision.reset_after_us),
        decision.limit,
        decision.refused_by,
        seconds(decision.usable_after_us),
        decision.server_time_us,
    )
}

/// As `limiter_acquire_many` gives it.
pub(crate) fn each_decided(py: Python<'_>, answers: Decisions) -> PyResult<Vec<Py<PyAny>>> {
    let each = answers.0.into_iter().map(|answer| match answer {
        Ok(decision) => decided(decision).into_py_any(py),
        Err(error) => Ok(exception(py, &error).into_value(py).into_any()),
    });
    each.collect()
}
