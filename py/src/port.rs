//! The completion port, of which the synchronous package needs the log events.

use libdlock::Level;
use libdlock_bridge::What;
use pyo3::prelude::*;

use crate::call::quick;

/// Level, the lock's name, and the message of one log event.
type Event = (&'static str, Option<String>, String);

#[pyfunction]
pub(crate) fn port_open(py: Python<'_>) -> PyResult<u64> {
    quick(py, "port_open", |state| state.port_new())
}

#[pyfunction]
pub(crate) fn port_descriptor(py: Python<'_>, port: u64) -> PyResult<i32> {
    quick(py, "port_descriptor", |state| state.port_fd(port))
}

#[pyfunction]
pub(crate) fn port_drain(py: Python<'_>, port: u64, at_most: usize) -> PyResult<Vec<Event>> {
    let drained = quick(py, "port_drain", |state| state.drain(port, at_most))?;
    let event = |what| match what {
        What::Log(event) => Some((level(event.level), event.name, event.message)),
        // Nothing is submitted to this port.
        What::Done(_) => None,
    };
    Ok(drained.into_iter().filter_map(|completion| event(completion.what)).collect())
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Warn => "warn",
        Level::Error => "error",
    }
}
