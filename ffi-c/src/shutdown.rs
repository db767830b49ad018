//! The end of the library in a process.

use libdlock_bridge::{guard, shutdown};

use crate::call::status;
use crate::error::{dlock_error_t, dlock_status_t};
use crate::out::sized_out;

/// Ends libdlock in this process: every object, its thread, its connections. Of its memory a few hundred bytes are left, of a
/// size that does not grow: what tells later calls that it has ended, the last ids, the table of the `memory://` stores; see
/// share/dlock/valgrind.supp. Programs need not call it: it is for tools that report what is left at exit, and for plugins with
/// libdlock.a in them, before they are unloaded. Calls that wait in other threads return DLOCK_CLOSED, and so does every call
/// with an object from before, the `_free` functions included. The outcome of a call that was under way and returned
/// DLOCK_CLOSED is unknown: a lock that it acquired is free when its lease runs out. Descriptors of ports are closed. Clients
/// are closed without a release, since a thread may still be at work: release first what is to be free at once. May be called
/// from an atexit handler. DLOCK_BUSY when a call of another thread has not ended after 5 s: call it again.
///
/// Once it has returned DLOCK_OK, the next dlock_client_open(), dlock_port_new(), dlock_cancel_new() or
/// dlock_snowflake_open() starts the library again, as in a plugin that is loaded once more; the memory that was left is not
/// freed. Until then every call but this one returns DLOCK_CLOSED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_shutdown(error: *mut dlock_error_t) -> dlock_status_t {
    let export = "dlock_shutdown";
    let result = guard(export, || {
        if !error.is_null() {
            // SAFETY: the caller's promise, see the header.
            let _fits = unsafe { sized_out(error, "error", export)? };
        }
        shutdown()
    });
    // SAFETY: as above.
    unsafe { status(result, error) }
}
