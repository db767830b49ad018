//! Errors of the core become exceptions of `libdlock._errors`, which knows the class for each number.

use libdlock::Error;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The exception for `error`.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let made = MAKE
        .import(py, "libdlock._errors", "from_native")
        .and_then(|make| make.call1((error.kind().code(), error.op(), error.name(), error.to_string())));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        // The interpreter could not make it (no memory, half torn down): what it says about that is the error now.
        Err(reason) => reason,
    }
}
