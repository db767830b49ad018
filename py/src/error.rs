//! Errors of the core become exceptions of `libdlock._errors`, which knows the class for each number.

use std::time::Duration;

use libdlock::Error;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Called once, when the module is imported: a process that forks while a thread imports the function for the first error
/// would leave a child that waits for that thread.
pub(crate) fn prepare(py: Python<'_>) -> PyResult<()> {
    maker(py).map(drop)
}

fn maker(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    MAKE.import(py, "libdlock._errors", "from_native")
}

/// The exception for `error`.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let made = maker(py).and_then(|make| {
        let seconds = |duration: Duration| duration.as_secs_f64();
        let (remaining, retry_after) = (error.remaining().map(seconds), error.retry_after().map(seconds));
        let (code, op, name, message) = (error.kind().code(), error.op(), error.name(), error.to_string());
        let (holder, allowed, retryable) = (error.holder(), error.allowed(), error.is_retryable());
        let arguments = (code, op, name, message, holder, remaining, retry_after, allowed, retryable);
        run(make, &arguments.into_pyobject(py)?)
    });
    match made {
        Ok(exception) => PyErr::from_value(exception),
        // The interpreter could not make it (no memory, half torn down): what it says about that is the error now.
        Err(reason) => reason,
    }
}

// As pyo3 declares it, but for the ABI: there the compiler relies on it that a call never unwinds.
unsafe extern "C-unwind" {
    fn PyObject_CallObject(callable: *mut ffi::PyObject, arguments: *mut ffi::PyObject) -> *mut ffi::PyObject;
}

/// Runs a function that is written in Python. Its code gives the interpreter lock away now and then, and up to Python 3.13 a
/// daemon thread that wants it back while the interpreter ends is unwound by `pthread_exit`. Rust must not be unwound like
/// that: the thread stays here for ever, without the lock, as Python 3.14 lets it do by itself.
fn run<'py>(function: &Bound<'py, PyAny>, arguments: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    let stay = Stay;
    // SAFETY: both are live Python objects, the second is a tuple, and `Bound` shows that the interpreter lock is held.
    let result = unsafe { PyObject_CallObject(function.as_ptr(), arguments.as_ptr()) };
    std::mem::forget(stay);
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(function.py(), result) }
}

/// Never lets go of the thread that drops it.
struct Stay;

impl Drop for Stay {
    fn drop(&mut self) {
        loop {
            std::thread::park();
        }
    }
}
