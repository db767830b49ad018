//! The asynchronous form: the same operations, with the answer in a port. A hold that is acquired so belongs to its handle
//! and not to a thread.

use std::ffi::{c_char, c_void};
use std::future::Future;

use libdlock::Result;
use libdlock_bridge::ops::{self, Holding};
use libdlock_bridge::{Outcome, State};

use crate::acquire::How;
use crate::call::call;
use crate::client::Open;
use crate::error::{dlock_error_t, dlock_status_t};
use crate::lock_all::dlock_lock_all_t;
use crate::out::Out;
use crate::rate_limiter::dlock_rate_limiter_t;
use crate::rw_lock::dlock_rw_lock_t;
use crate::semaphore::dlock_semaphore_t;
use crate::text;
use crate::types::{
    dlock_acquire_options_t, dlock_client_options_t, dlock_client_t, dlock_held_t, dlock_lock_t, dlock_op_t,
    dlock_port_t, handle, id, user_data as as_user_data, wait,
};

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

/// Acquires a lock; completes with DLOCK_COMPLETION_HELD, or with DLOCK_BUSY if it was not acquired within the wait.
/// The hold is the handle's own: any thread may release it, dlock_held_reenter() takes it once more, and a second acquire
/// waits for the first. Cancelled, it leaves no hold behind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_acquire(
    port: *const dlock_port_t,
    lock: *const dlock_lock_t,
    options: *const dlock_acquire_options_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_acquire";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let how = How::read(options, op)?;
            let acquiring = ops::lock_acquire(state, id(lock), Holding::ByHandle, how.wait_ms, how.lease_ms);
            Ok(state.with_cancel(how.cancel, acquiring))
        })
    }
}

/// Releases a hold that is the handle's own; completes with DLOCK_COMPLETION_DONE. Cancelled, it goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_release(
    port: *const dlock_port_t,
    held: *const dlock_held_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_release", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::held_release(state, id(held)))
        })
    }
}

/// Extends a hold that is the handle's own (see dlock_lock_extend()); completes with DLOCK_COMPLETION_DONE. Cancelled, it may
/// be done or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_extend(
    port: *const dlock_port_t,
    held: *const dlock_held_t,
    lease_ms: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_extend", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::held_extend(state, id(held), lease_ms))
        })
    }
}

/// Detaches a hold that is the handle's own (see dlock_lock_detach()); completes with DLOCK_COMPLETION_TEXT. Cancelled, the
/// hold stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_detach(
    port: *const dlock_port_t,
    held: *const dlock_held_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_detach", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::held_detach(state, id(held)))
        })
    }
}

/// Turns a hold of a write side that is the handle's own into one of the read side (see dlock_held_downgrade()); completes with
/// DLOCK_COMPLETION_HELD. Cancelled, the hold still writes, or both sides are released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_downgrade(
    port: *const dlock_port_t,
    held: *const dlock_held_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_downgrade", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::held_downgrade(state, id(held)))
        })
    }
}

/// Takes a detached hold over (see dlock_lock_attach()); completes with DLOCK_COMPLETION_HELD. Cancelled, it leaves no hold
/// behind, and the text may be used up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_attach(
    port: *const dlock_port_t,
    lock: *const dlock_lock_t,
    detached: *const c_char,
    detached_len: usize,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_attach";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let detached = text::bytes(detached, detached_len, "detached hold", op)?.to_vec();
            Ok(ops::lock_attach(state, id(lock), Holding::ByHandle, detached))
        })
    }
}

/// Frees a lock whoever holds it (see dlock_lock_force_release()); completes with DLOCK_COMPLETION_FLAG. Cancelled, it may be
/// done or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_force_release(
    port: *const dlock_port_t,
    lock: *const dlock_lock_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_force_release", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::lock_force_release(state, id(lock)))
        })
    }
}

/// Asks who holds a lock (see dlock_lock_inspect()); completes with DLOCK_COMPLETION_INSPECTION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_inspect(
    port: *const dlock_port_t,
    lock: *const dlock_lock_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_inspect", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::lock_inspect(state, id(lock)))
        })
    }
}

/// Waits until a hold is over (see dlock_held_wait_lost()); completes with DLOCK_COMPLETION_LOSS, or with DLOCK_BUSY when
/// it was not over within `wait_ms`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_wait_lost(
    port: *const dlock_port_t,
    held: *const dlock_held_t,
    wait_ms: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_wait_lost", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::held_wait_lost(state, id(held), wait(wait_ms)))
        })
    }
}

/// Acquires `permits` of a semaphore (see dlock_semaphore_take()); completes with DLOCK_COMPLETION_HELD, or with DLOCK_BUSY if
/// they were not available within the wait. The hold is the handle's own: dlock_submit_release(), dlock_submit_extend() and
/// dlock_submit_wait_lost() take it as they take a lock's. Cancelled, it leaves neither a hold nor a place in the queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_semaphore_acquire(
    port: *const dlock_port_t,
    semaphore: *const dlock_semaphore_t,
    permits: i64,
    options: *const dlock_acquire_options_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_semaphore_acquire";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let how = How::read(options, op)?;
            let (wait_ms, lease_ms) = (how.wait_ms, how.lease_ms);
            let acquiring = ops::semaphore_acquire(state, id(semaphore), Holding::ByHandle, permits, wait_ms, lease_ms);
            Ok(state.with_cancel(how.cancel, acquiring))
        })
    }
}

/// Sets how many permits a semaphore has (see dlock_semaphore_set_permits()); completes with DLOCK_COMPLETION_DONE. Cancelled,
/// it may be done or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_semaphore_set_permits(
    port: *const dlock_port_t,
    semaphore: *const dlock_semaphore_t,
    permits: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_semaphore_set_permits", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::semaphore_set_permits(state, id(semaphore), permits))
        })
    }
}

/// Asks how many permits a semaphore has (see dlock_semaphore_inspect()); completes with
/// DLOCK_COMPLETION_SEMAPHORE_INSPECTION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_semaphore_inspect(
    port: *const dlock_port_t,
    semaphore: *const dlock_semaphore_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_semaphore_inspect", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::semaphore_inspect(state, id(semaphore)))
        })
    }
}

/// Acquires a side of a read-write lock (see dlock_rw_lock_take()); completes with DLOCK_COMPLETION_HELD, or with DLOCK_BUSY if it
/// was not acquired within the wait. The hold is the handle's own: dlock_submit_release(), dlock_submit_extend() and
/// dlock_submit_wait_lost() take it as they take a lock's. Cancelled, it leaves neither a hold nor a place in the queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_rw_lock_acquire(
    port: *const dlock_port_t,
    side: *const dlock_rw_lock_t,
    options: *const dlock_acquire_options_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_rw_lock_acquire";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let how = How::read(options, op)?;
            let acquiring = ops::rw_lock_acquire(state, id(side), Holding::ByHandle, how.wait_ms, how.lease_ms);
            Ok(state.with_cancel(how.cancel, acquiring))
        })
    }
}

/// Frees both sides of a read-write lock whoever holds them (see dlock_rw_lock_force_release()); completes with
/// DLOCK_COMPLETION_FLAG. Cancelled, it may be done or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_rw_lock_force_release(
    port: *const dlock_port_t,
    side: *const dlock_rw_lock_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_rw_lock_force_release", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::rw_lock_force_release(state, id(side)))
        })
    }
}

/// Asks who holds a read-write lock (see dlock_rw_lock_inspect()); completes with DLOCK_COMPLETION_RW_LOCK_INSPECTION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_rw_lock_inspect(
    port: *const dlock_port_t,
    side: *const dlock_rw_lock_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_rw_lock_inspect", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::rw_lock_inspect(state, id(side)))
        })
    }
}

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

/// Takes `cost` tokens of a limiter, waiting for them at most `wait_ms` (see dlock_rate_limiter_acquire()); completes with
/// DLOCK_COMPLETION_DECISION, whose status is DLOCK_OK or DLOCK_LIMITED. A cancelled operation gives its tokens back, as a
/// cancelled wait does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_rate_limit(
    port: *const dlock_port_t,
    limiter: *const dlock_rate_limiter_t,
    cost: i64,
    wait_ms: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_rate_limit", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::limiter_acquire(state, id(limiter), cost, wait(wait_ms)))
        })
    }
}

/// Fills a limiter's bucket, for everybody; completes with DLOCK_COMPLETION_DONE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_rate_limit_reset(
    port: *const dlock_port_t,
    limiter: *const dlock_rate_limiter_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_rate_limit_reset", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::limiter_reset(state, id(limiter)))
        })
    }
}

/// Where the completion of an operation goes, and where its handle.
pub(crate) struct Ticket {
    pub(crate) port: *const dlock_port_t,
    pub(crate) user_data: *mut c_void,
    pub(crate) out_op: *mut *mut dlock_op_t,
}

/// Starts an operation, whose completion goes where the ticket says.
///
/// # Safety
/// As [`call`], and `out_op` of the ticket is NULL or writable.
pub(crate) unsafe fn submit<F, T>(
    export: &'static str,
    ticket: Ticket,
    error: *mut dlock_error_t,
    operation: impl FnOnce(&'static State) -> Result<F>,
) -> dlock_status_t
where
    F: Future<Output = Result<T>> + Send + 'static,
    T: Into<Outcome>,
{
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(export, error, |state| {
            let op = state.submit(id(ticket.port), as_user_data(ticket.user_data), operation(state)?)?;
            if let Ok(out) = Out::required(ticket.out_op, "out_op", export) {
                out.put(handle(op));
            }
            Ok(())
        })
    }
}
