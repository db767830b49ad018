//! Whether gevent runs greenlets in this process: then a scope's end asks Python whose it is.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;

static SEEN: AtomicBool = AtomicBool::new(false);

pub(crate) fn seen() -> bool {
    SEEN.load(Ordering::Relaxed)
}

/// Called before a greenlet acquires anything.
#[pyfunction]
pub(crate) fn greenlets_seen() {
    SEEN.store(true, Ordering::Relaxed);
}
