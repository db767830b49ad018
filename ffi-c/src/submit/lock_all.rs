//! Several locks as one in the asynchronous form.

use std::ffi::c_void;

use libdlock_bridge::ops::{self, Holding};

use crate::acquire::How;
use crate::error::{dlock_error_t, dlock_status_t};
use crate::lock_all::dlock_lock_all_t;
use crate::submit::{Ticket, submit};
use crate::types::{dlock_acquire_options_t, dlock_op_t, dlock_port_t, id};

/// Acquires several locks as one (see dlock_lock_all_take()); completes with DLOCK_COMPLETION_HELD, or with DLOCK_BUSY if not all
/// were acquired within the wait. The hold is the handle's own: dlock_submit_release(), dlock_submit_extend() and
/// dlock_submit_wait_lost() take it as they take a lock's. Cancelled, it leaves neither a hold nor a place in a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_lock_all_acquire(
    port: *const dlock_port_t,
    set: *const dlock_lock_all_t,
    options: *const dlock_acquire_options_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_lock_all_acquire";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let how = How::read(options, op)?;
            let acquiring = ops::lock_all_acquire(state, id(set), Holding::ByHandle, how.wait_ms, how.lease_ms);
            Ok(state.with_cancel(how.cancel, acquiring))
        })
    }
}
