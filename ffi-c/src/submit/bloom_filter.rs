//! Bloom filters in the asynchronous form.

use std::ffi::c_void;

use libdlock_bridge::ops::{self, BloomItems};

use crate::bloom_filter::{dlock_bloom_filter_t, item_at};
use crate::error::{dlock_error_t, dlock_status_t};
use crate::submit::{Ticket, submit};
use crate::types::{dlock_op_t, dlock_port_t, id};

/// Adds one item (see dlock_bloom_filter_add()); completes with DLOCK_COMPLETION_FLAG: whether it is new.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_bloom_filter_add(
    port: *const dlock_port_t,
    filter: *const dlock_bloom_filter_t,
    item: *const c_void,
    item_len: usize,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_bloom_filter_add";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let item = BloomItems::from_iter([item_at(item, item_len, op)?]);
            Ok(ops::bloom_filter_add_one(state, id(filter), item))
        })
    }
}

/// Looks for one item (see dlock_bloom_filter_contains()); completes with DLOCK_COMPLETION_FLAG: whether it was added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_bloom_filter_contains(
    port: *const dlock_port_t,
    filter: *const dlock_bloom_filter_t,
    item: *const c_void,
    item_len: usize,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_bloom_filter_contains";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let item = BloomItems::from_iter([item_at(item, item_len, op)?]);
            Ok(ops::bloom_filter_contains_one(state, id(filter), item))
        })
    }
}

/// Asks for the count (see dlock_bloom_filter_count()); completes with DLOCK_COMPLETION_NUMBER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_bloom_filter_count(
    port: *const dlock_port_t,
    filter: *const dlock_bloom_filter_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_bloom_filter_count", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::bloom_filter_count(state, id(filter)))
        })
    }
}

/// Removes the filter (see dlock_bloom_filter_clear()); completes with DLOCK_COMPLETION_FLAG: whether it was there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_bloom_filter_clear(
    port: *const dlock_port_t,
    filter: *const dlock_bloom_filter_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_bloom_filter_clear", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::bloom_filter_clear(state, id(filter)))
        })
    }
}
