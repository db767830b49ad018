//! Queues: opened by name, jobs put, taken and ended, lists of jobs.

use libdlock_bridge::ops::{self, JobArgs, QueueArgs};
use libdlock_bridge::{HandleKind, Held};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList};

use crate::call::{blocking, quick, submit};
use crate::held::Grant;
use crate::object_handle::ObjectHandle;
use crate::port::Port;

/// A job that was delivered: its hold, and what it is. When the object goes, and with it the grant, the job goes back.
#[pyclass(frozen, get_all, module = "libdlock._native")]
pub(crate) struct Delivered {
    grant: Py<Grant>,
    payload: Py<PyBytes>,
    id: String,
    attempt: u32,
    due_ms: i64,
    priority: i16,
}

#[pymethods]
impl Delivered {
    /// Puts back a job that reached nobody, in the background: the delivery does not count.
    fn undo(&self) {
        self.grant.get().undo();
    }
}

/// The one copy of the payload: the connection's goes with `delivered`.
pub(crate) fn delivered(py: Python<'_>, delivered: ops::Delivered) -> PyResult<Delivered> {
    let ops::Delivered { held, job } = delivered;
    Ok(Delivered {
        grant: granted(py, held)?,
        payload: PyBytes::new(py, job.payload()).unbind(),
        id: job.id().to_owned(),
        attempt: job.attempt(),
        due_ms: job.due_ms(),
        priority: job.priority(),
    })
}

fn granted(py: Python<'_>, held: Held) -> PyResult<Py<Grant>> {
    Py::new(py, Grant::from(held))
}

/// A list, as a take of one brings it too.
pub(crate) fn each_delivered(py: Python<'_>, deliveries: ops::Deliveries) -> PyResult<Vec<Delivered>> {
    deliveries.0.into_iter().map(|each| delivered(py, each)).collect()
}

/// Payload, id, delay in ms, due time in ms since 1970, priority.
type NewJob = (PyBackedBytes, Option<PyBackedBytes>, Option<i64>, Option<i64>, i64);

fn new_job((payload, id, delay_ms, at_ms, priority): NewJob) -> JobArgs {
    JobArgs { payload: payload.to_vec(), id: id.map(|id| id.to_vec()), delay_ms, at_ms, priority }
}

fn new_jobs(jobs: Vec<NewJob>) -> Vec<JobArgs> {
    jobs.into_iter().map(new_job).collect()
}

/// Id, and whether it is new.
pub(crate) type Put = (String, bool);

fn put(put: ops::Put) -> Put {
    (put.id, put.is_new)
}

pub(crate) fn each_put(puts: ops::Puts) -> Vec<Put> {
    puts.0.into_iter().map(put).collect()
}

/// Ready, delayed, in flight, dead, waiters.
pub(crate) type Counted = (u64, u64, u64, u64, u64);

pub(crate) fn counted(counts: ops::QueueCounts) -> Counted {
    let ops::QueueCounts { ready, delayed, in_flight, dead, waiters } = counts;
    (ready, delayed, in_flight, dead, waiters)
}

/// Id, payload, attempts, due time in ms since 1970, since when it is dead, why.
pub(crate) type Listed = (String, Py<PyBytes>, u64, i64, Option<i64>, Option<String>);

pub(crate) fn each_listed(py: Python<'_>, jobs: ops::ListedJobs) -> Vec<Listed> {
    let listed = |job: ops::ListedJob| {
        let (since, reason) = job.dead.unzip();
        (job.id, PyBytes::new(py, &job.payload).unbind(), job.attempts, job.due_ms, since, reason)
    };
    jobs.0.into_iter().map(listed).collect()
}

/// A token that ends the takes that were given it.
#[pyfunction]
pub(crate) fn cancel_new(py: Python<'_>) -> PyResult<ObjectHandle> {
    let handle = quick(py, "cancel_new", |state| state.cancel_new())?;
    Ok(ObjectHandle::new(HandleKind::Cancel, handle))
}

#[pyfunction]
pub(crate) fn cancel_fire(py: Python<'_>, token: u64) -> PyResult<()> {
    quick(py, "cancel_fire", |state| state.cancel_fire(token))
}

#[pyfunction]
pub(crate) fn backoff_ms(py: Python<'_>, attempt: i64, base_ms: i64, most_ms: i64) -> PyResult<i64> {
    quick(py, "backoff_ms", |_| ops::backoff_ms(attempt, base_ms, most_ms))
}

#[pyfunction]
#[pyo3(signature = (client, name, lease_ms, watchdog_lease_ms, max_attempts, max_payload, max_length))]
#[expect(clippy::too_many_arguments, reason = "Python's, by position")]
pub(crate) fn queue_open(
    py: Python<'_>,
    client: u64,
    name: Vec<u8>,
    lease_ms: Option<i64>,
    watchdog_lease_ms: Option<i64>,
    max_attempts: Option<i64>,
    max_payload: Option<i64>,
    max_length: Option<i64>,
) -> PyResult<ObjectHandle> {
    let how = QueueArgs { lease_ms, watchdog_lease_ms, max_attempts, max_payload, max_length };
    let handle = quick(py, "queue_open", |state| ops::queue_open(state, client, &name, how))?;
    Ok(ObjectHandle::new(HandleKind::Queue, handle))
}

#[pyfunction]
pub(crate) fn queue_followed_by(py: Python<'_>, queue: u64, other: u64) -> PyResult<ObjectHandle> {
    let handle = quick(py, "queue_followed_by", |state| ops::queue_followed_by(state, queue, other))?;
    Ok(ObjectHandle::new(HandleKind::Queue, handle))
}

#[pyfunction]
pub(crate) fn delivery_queue(py: Python<'_>, held: u64) -> PyResult<String> {
    quick(py, "delivery_queue", |state| ops::delivery_queue(state, held))
}

#[pyfunction]
pub(crate) fn queue_put(py: Python<'_>, queue: u64, job: NewJob) -> PyResult<Put> {
    let job = new_job(job);
    blocking(py, "queue_put", |state| ops::queue_put(state, queue, job)).map(put)
}

#[pyfunction]
pub(crate) fn queue_put_many(py: Python<'_>, queue: u64, jobs: Vec<NewJob>) -> PyResult<Vec<Put>> {
    let jobs = new_jobs(jobs);
    blocking(py, "queue_put_many", |state| ops::queue_put_many(state, queue, jobs)).map(each_put)
}

/// `into`, as in `lock_acquire`, gets the delivery, if there is one.
#[pyfunction]
#[pyo3(signature = (into, queue, wait_ms, cancel))]
pub(crate) fn queue_take(
    into: &Bound<'_, PyList>,
    queue: u64,
    wait_ms: Option<i64>,
    cancel: Option<u64>,
) -> PyResult<()> {
    let py = into.py();
    let taken = blocking(py, "queue_take", |state| state.with_cancel(cancel, ops::queue_take(state, queue, wait_ms)))?;
    taken.map_or(Ok(()), |taken| into.append(delivered(py, taken)?))
}

/// `into`, as in `lock_acquire`, gets the deliveries.
#[pyfunction]
#[pyo3(signature = (into, queue, most, wait_ms))]
pub(crate) fn queue_take_many(into: &Bound<'_, PyList>, queue: u64, most: i64, wait_ms: Option<i64>) -> PyResult<()> {
    let py = into.py();
    let taken = blocking(py, "queue_take_many", |state| ops::queue_take_many(state, queue, most, wait_ms))?;
    each_delivered(py, taken)?.into_iter().try_for_each(|taken| into.append(taken))
}

#[pyfunction]
pub(crate) fn queue_counts(py: Python<'_>, queue: u64) -> PyResult<Counted> {
    blocking(py, "queue_counts", |state| ops::queue_counts(state, queue)).map(counted)
}

#[pyfunction]
pub(crate) fn queue_peek(py: Python<'_>, queue: u64, most: i64) -> PyResult<Vec<Listed>> {
    let jobs = blocking(py, "queue_peek", |state| ops::queue_peek(state, queue, most))?;
    Ok(each_listed(py, jobs))
}

#[pyfunction]
pub(crate) fn queue_dead(py: Python<'_>, queue: u64, most: i64) -> PyResult<Vec<Listed>> {
    let jobs = blocking(py, "queue_dead", |state| ops::queue_dead(state, queue, most))?;
    Ok(each_listed(py, jobs))
}

#[pyfunction]
pub(crate) fn queue_cancel(py: Python<'_>, queue: u64, id: Vec<u8>) -> PyResult<bool> {
    blocking(py, "queue_cancel", |state| ops::queue_cancel(state, queue, id))
}

#[pyfunction]
pub(crate) fn queue_purge(py: Python<'_>, queue: u64) -> PyResult<i64> {
    blocking(py, "queue_purge", |state| ops::queue_purge(state, queue))
}

#[pyfunction]
pub(crate) fn queue_remove_dead(py: Python<'_>, queue: u64, id: Vec<u8>) -> PyResult<bool> {
    blocking(py, "queue_remove_dead", |state| ops::queue_remove_dead(state, queue, id))
}

#[pyfunction]
pub(crate) fn queue_purge_dead(py: Python<'_>, queue: u64) -> PyResult<i64> {
    blocking(py, "queue_purge_dead", |state| ops::queue_purge_dead(state, queue))
}

#[pyfunction]
pub(crate) fn queue_requeue_dead(py: Python<'_>, queue: u64, id: Vec<u8>) -> PyResult<bool> {
    blocking(py, "queue_requeue_dead", |state| ops::queue_requeue_dead(state, queue, id))
}

#[pyfunction]
pub(crate) fn queue_requeue_all_dead(py: Python<'_>, queue: u64) -> PyResult<i64> {
    blocking(py, "queue_requeue_all_dead", |state| ops::queue_requeue_all_dead(state, queue))
}

#[pyfunction]
pub(crate) fn queue_ack_many(py: Python<'_>, queue: u64, helds: Vec<u64>) -> PyResult<Vec<bool>> {
    blocking(py, "queue_ack_many", |state| ops::queue_ack_many(state, queue, helds)).map(|answers| answers.0)
}

#[pyfunction]
pub(crate) fn delivery_ack(py: Python<'_>, held: u64) -> PyResult<()> {
    blocking(py, "delivery_ack", |state| ops::delivery_ack(state, held))
}

#[pyfunction]
#[pyo3(signature = (held, delay_ms, reason))]
pub(crate) fn delivery_nack(py: Python<'_>, held: u64, delay_ms: Option<i64>, reason: Vec<u8>) -> PyResult<()> {
    blocking(py, "delivery_nack", |state| ops::delivery_nack(state, held, delay_ms, reason))
}

#[pyfunction]
pub(crate) fn delivery_give_back(py: Python<'_>, held: u64) -> PyResult<()> {
    blocking(py, "delivery_give_back", |state| ops::delivery_give_back(state, held))
}

#[pyfunction]
pub(crate) fn submit_queue_put(py: Python<'_>, port: &Port, key: u64, queue: u64, job: NewJob) -> PyResult<u64> {
    let job = new_job(job);
    submit(py, "submit_queue_put", port, key, |state| ops::queue_put(state, queue, job))
}

#[pyfunction]
pub(crate) fn submit_queue_put_many(
    py: Python<'_>,
    port: &Port,
    key: u64,
    queue: u64,
    jobs: Vec<NewJob>,
) -> PyResult<u64> {
    let jobs = new_jobs(jobs);
    submit(py, "submit_queue_put_many", port, key, |state| ops::queue_put_many(state, queue, jobs))
}

#[pyfunction]
#[pyo3(signature = (port, key, queue, wait_ms, cancel))]
pub(crate) fn submit_queue_take(
    py: Python<'_>,
    port: &Port,
    key: u64,
    queue: u64,
    wait_ms: Option<i64>,
    cancel: Option<u64>,
) -> PyResult<u64> {
    submit(py, "submit_queue_take", port, key, |state| {
        state.with_cancel(cancel, ops::queue_take(state, queue, wait_ms))
    })
}

#[pyfunction]
#[pyo3(signature = (port, key, queue, most, wait_ms))]
pub(crate) fn submit_queue_take_many(
    py: Python<'_>,
    port: &Port,
    key: u64,
    queue: u64,
    most: i64,
    wait_ms: Option<i64>,
) -> PyResult<u64> {
    submit(py, "submit_queue_take_many", port, key, |state| ops::queue_take_many(state, queue, most, wait_ms))
}

#[pyfunction]
pub(crate) fn submit_queue_counts(py: Python<'_>, port: &Port, key: u64, queue: u64) -> PyResult<u64> {
    submit(py, "submit_queue_counts", port, key, |state| ops::queue_counts(state, queue))
}

#[pyfunction]
pub(crate) fn submit_queue_peek(py: Python<'_>, port: &Port, key: u64, queue: u64, most: i64) -> PyResult<u64> {
    submit(py, "submit_queue_peek", port, key, |state| ops::queue_peek(state, queue, most))
}

#[pyfunction]
pub(crate) fn submit_queue_dead(py: Python<'_>, port: &Port, key: u64, queue: u64, most: i64) -> PyResult<u64> {
    submit(py, "submit_queue_dead", port, key, |state| ops::queue_dead(state, queue, most))
}

#[pyfunction]
pub(crate) fn submit_queue_cancel(py: Python<'_>, port: &Port, key: u64, queue: u64, id: Vec<u8>) -> PyResult<u64> {
    submit(py, "submit_queue_cancel", port, key, |state| ops::queue_cancel(state, queue, id))
}

#[pyfunction]
pub(crate) fn submit_queue_purge(py: Python<'_>, port: &Port, key: u64, queue: u64) -> PyResult<u64> {
    submit(py, "submit_queue_purge", port, key, |state| ops::queue_purge(state, queue))
}

#[pyfunction]
pub(crate) fn submit_queue_remove_dead(
    py: Python<'_>,
    port: &Port,
    key: u64,
    queue: u64,
    id: Vec<u8>,
) -> PyResult<u64> {
    submit(py, "submit_queue_remove_dead", port, key, |state| ops::queue_remove_dead(state, queue, id))
}

#[pyfunction]
pub(crate) fn submit_queue_purge_dead(py: Python<'_>, port: &Port, key: u64, queue: u64) -> PyResult<u64> {
    submit(py, "submit_queue_purge_dead", port, key, |state| ops::queue_purge_dead(state, queue))
}

#[pyfunction]
pub(crate) fn submit_queue_requeue_dead(
    py: Python<'_>,
    port: &Port,
    key: u64,
    queue: u64,
    id: Vec<u8>,
) -> PyResult<u64> {
    submit(py, "submit_queue_requeue_dead", port, key, |state| ops::queue_requeue_dead(state, queue, id))
}

#[pyfunction]
pub(crate) fn submit_queue_requeue_all_dead(py: Python<'_>, port: &Port, key: u64, queue: u64) -> PyResult<u64> {
    submit(py, "submit_queue_requeue_all_dead", port, key, |state| ops::queue_requeue_all_dead(state, queue))
}

#[pyfunction]
pub(crate) fn submit_queue_ack_many(
    py: Python<'_>,
    port: &Port,
    key: u64,
    queue: u64,
    helds: Vec<u64>,
) -> PyResult<u64> {
    submit(py, "submit_queue_ack_many", port, key, |state| ops::queue_ack_many(state, queue, helds))
}

#[pyfunction]
pub(crate) fn submit_delivery_ack(py: Python<'_>, port: &Port, key: u64, held: u64) -> PyResult<u64> {
    submit(py, "submit_delivery_ack", port, key, |state| ops::delivery_ack(state, held))
}

#[pyfunction]
#[pyo3(signature = (port, key, held, delay_ms, reason))]
pub(crate) fn submit_delivery_nack(
    py: Python<'_>,
    port: &Port,
    key: u64,
    held: u64,
    delay_ms: Option<i64>,
    reason: Vec<u8>,
) -> PyResult<u64> {
    submit(py, "submit_delivery_nack", port, key, |state| ops::delivery_nack(state, held, delay_ms, reason))
}

#[pyfunction]
pub(crate) fn submit_delivery_give_back(py: Python<'_>, port: &Port, key: u64, held: u64) -> PyResult<u64> {
    submit(py, "submit_delivery_give_back", port, key, |state| ops::delivery_give_back(state, held))
}
