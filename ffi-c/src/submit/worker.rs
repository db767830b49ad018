//! Worker numbers in the asynchronous form.

use std::ffi::{c_char, c_void};

use libdlock_bridge::ops;

use crate::error::{dlock_error_t, dlock_status_t};
use crate::submit::{Ticket, submit};
use crate::types::{dlock_client_t, dlock_op_t, dlock_port_t, id};
use crate::worker::{Leasing, dlock_worker_options_t};

/// Leases a worker number (see dlock_worker_lease()); completes with DLOCK_COMPLETION_HELD, or with DLOCK_BUSY when all are
/// taken. dlock_submit_release() and dlock_submit_wait_lost() take the hold as they take a lock's. Cancelled, it leaves nothing
/// leased.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_worker_lease(
    port: *const dlock_port_t,
    client: *const dlock_client_t,
    pool: *const c_char,
    pool_len: usize,
    options: *const dlock_worker_options_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_worker_lease";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let how = Leasing::read(pool, pool_len, options, op)?;
            let leasing = ops::worker_lease(state, id(client), how.pool.to_vec(), how.bits, how.lease_ms);
            Ok(state.with_cancel(how.cancel, leasing))
        })
    }
}
