//! Ids in blocks in the asynchronous form.

use std::ffi::c_void;

use libdlock_bridge::ops;

use crate::error::{dlock_error_t, dlock_status_t};
use crate::id_generator::dlock_id_generator_t;
use crate::submit::{Ticket, submit};
use crate::types::{dlock_op_t, dlock_port_t, id};

/// Asks for the next id (see dlock_id_generator_next_id()); completes with DLOCK_COMPLETION_NUMBER, at once as long as the process
/// has one. Cancelled, it may leave a gap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_id_generator_next_id(
    port: *const dlock_port_t,
    generator: *const dlock_id_generator_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_id_generator_next_id", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::id_generator_next_id(state, id(generator)))
        })
    }
}
