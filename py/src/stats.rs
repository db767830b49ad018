//! What a client has counted, as plain tuples in the order of the fields of `libdlock.Stats`.

use libdlock_bridge::ops::{self, Histogram};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::call::quick;

/// Count; sum, mean, p50, p99 and max in seconds; the buckets.
type Times = (u64, f64, f64, f64, f64, f64, Vec<u64>);

/// The counters, and how long acquires waited and holds lasted.
type Counted<'py> = (Bound<'py, PyTuple>, Times, Times);

#[pyfunction]
pub(crate) fn client_stats(py: Python<'_>, client: u64) -> PyResult<Counted<'_>> {
    let stats = quick(py, "client_stats", |state| ops::client_stats(state, client))?;
    Ok((PyTuple::new(py, ops::counters(&stats))?, times(stats.wait_time.into()), times(stats.hold_time.into())))
}

fn times(times: Histogram) -> Times {
    let seconds = |us: u64| us as f64 / 1e6;
    (
        times.count,
        seconds(times.sum_us),
        seconds(times.mean_us),
        seconds(times.p50_us),
        seconds(times.p99_us),
        seconds(times.max_us),
        times.buckets.to_vec(),
    )
}
