//! What a client has counted, as plain lists in the order of the fields of `libdlock.Stats`.

use libdlock_bridge::ops::{self, Histogram};
use pyo3::prelude::*;

use crate::call::quick;

/// Count; sum, mean, p50, p99 and max in seconds; the buckets.
type Times = (u64, f64, f64, f64, f64, f64, Vec<u64>);

/// All counters, and all histograms.
#[pyfunction]
pub(crate) fn client_stats(py: Python<'_>, client: u64) -> PyResult<(Vec<u64>, Vec<Times>)> {
    let stats = quick(py, "client_stats", |state| ops::client_stats(state, client))?;
    Ok((ops::counters(&stats).to_vec(), ops::histograms(&stats).map(times).to_vec()))
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
