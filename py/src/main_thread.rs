//! Which thread is Python's main one: the only one on which it runs signal handlers.
//!
//! Asking `threading` at every call would run Python code before a release is sent, and a handler that raises just there
//! would prevent it. So the answer is kept, and corrected after a fork.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

/// As `threading.get_ident` numbers threads; 0 is none.
static MAIN: AtomicU64 = AtomicU64::new(0);

/// Called once, when the module is imported, from whatever thread.
pub(crate) fn watch(py: Python<'_>) -> PyResult<()> {
    let main = py.import("threading")?.call_method0("main_thread")?.getattr("ident")?.extract()?;
    MAIN.store(main, Ordering::Relaxed);
    // Imports what later calls need: a process may fork while a thread does that.
    this_thread(py)?;
    let arguments = PyDict::new(py);
    arguments.set_item("after_in_child", wrap_pyfunction!(forked, py)?)?;
    py.import("os")?.call_method("register_at_fork", (), Some(&arguments))?;
    Ok(())
}

/// Whether the calling thread is the main one.
pub(crate) fn is_main_thread(py: Python<'_>) -> bool {
    this_thread(py).is_ok_and(|this| this == MAIN.load(Ordering::Relaxed))
}

/// In a forked child the thread that forked is the main one, and there is no other.
#[pyfunction]
fn forked(py: Python<'_>) -> PyResult<()> {
    MAIN.store(this_thread(py)?, Ordering::Relaxed);
    Ok(())
}

/// Asked for once by each thread: a fork does not change it.
fn this_thread(py: Python<'_>) -> PyResult<u64> {
    static GET_IDENT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    thread_local! {
        static KNOWN: Cell<u64> = const { Cell::new(0) };
    }
    match KNOWN.get() {
        0 => {
            let ident = GET_IDENT.import(py, "threading", "get_ident")?.call0()?.extract()?;
            KNOWN.set(ident);
            Ok(ident)
        }
        known => Ok(known),
    }
}
