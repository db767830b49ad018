//! Clients in the asynchronous form.

use std::ffi::{c_char, c_void};

use libdlock_bridge::ops;

use crate::client::Open;
use crate::error::{dlock_error_t, dlock_status_t};
use crate::submit::{Ticket, submit};
use crate::types::{dlock_client_options_t, dlock_client_t, dlock_op_t, dlock_port_t, id};

/// Opens a client (see dlock_client_open()); completes with DLOCK_COMPLETION_CLIENT. In all functions of this kind
/// `out_op` may be NULL, and when the call does not return DLOCK_OK no completion comes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_client_open(
    port: *const dlock_port_t,
    url: *const c_char,
    url_len: usize,
    options: *const dlock_client_options_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_client_open";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let open = Open::read(url, url_len, options, op)?;
            let opening = ops::client_open(state, open.url, open.options, open.log);
            Ok(state.with_cancel(open.cancel, opening))
        })
    }
}

/// Closes a client (see dlock_client_close()); completes with DLOCK_COMPLETION_DONE. Cancelled, it goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_client_close(
    port: *const dlock_port_t,
    client: *const dlock_client_t,
    release: bool,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_client_close", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::client_close(state, id(client), release))
        })
    }
}
