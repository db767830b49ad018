//! Calls on a thread that is ending: in destructors of thread-local values and thread keys, in `atexit` handlers, in static
//! destructors. What std and tokio keep for a thread is destroyed there, so another thread does the work and the caller waits.

use std::panic::resume_unwind;
use std::thread::{self, Builder};

use libdlock::Result;

use crate::refused::refused;

/// Runs `work` on a thread of its own, to its end. A panic of it goes on here.
///
/// # Errors
/// `Internal` when the operating system refuses a thread.
pub(crate) fn elsewhere<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T> {
    thread::scope(|scope| {
        let thread = Builder::new().name("libdlock-exit".to_owned()).spawn_scoped(scope, work);
        Ok(thread.map_err(|error| refused(&error))?.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}
