//! Completion ports.

use std::ffi::c_int;

use libdlock_bridge::HandleKind;

use crate::call::{call, free, make};
use crate::completion::dlock_completion_t;
use crate::error::{dlock_error_t, dlock_status_t, refuse};
use crate::out::Out;
use crate::types::{dlock_op_t, dlock_port_t, id};

/// One call takes no more than this; the rest stays queued and the descriptor readable.
const DRAIN_MAX: usize = 4096;

/// Makes a completion port.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_port_new(out_port: *mut *mut dlock_port_t, error: *mut dlock_error_t) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { make("dlock_port_new", (out_port, "out_port"), error, || Ok(()), |state, ()| state.port_new()) }
}

/// The port's descriptor, for poll(), epoll or an event loop: readable while there is something to drain. Never read from
/// it, never close it; it ends with the port.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_port_fd(
    port: *const dlock_port_t,
    out_fd: *mut c_int,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_port_fd";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_fd, "out_fd", op)?;
            out.put(state.port_fd(id(port))?);
            Ok(())
        })
    }
}

/// Takes up to `capacity` completions, oldest first, into the array at `completions`, and their number into `out_count`;
/// does not wait, and none is no error. `completion_size` is `sizeof(dlock_completion_t)`. What a completion carries (a held
/// lock, a client) is the caller's from here on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_port_drain(
    port: *const dlock_port_t,
    completions: *mut dlock_completion_t,
    completion_size: usize,
    capacity: usize,
    out_count: *mut usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_port_drain";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_count, "out_count", op)?;
            if completions.is_null() && capacity > 0 {
                return Err(refuse(op, format!("completions is NULL with a capacity of {capacity}")));
            }
            if !(size_of::<dlock_completion_t>()..=1 << 20).contains(&completion_size) {
                let message = format!(
                    "completion_size is {completion_size}; pass sizeof(dlock_completion_t), {}",
                    size_of::<dlock_completion_t>()
                );
                return Err(refuse(op, message));
            }
            let taken = state.drain(id(port), capacity.min(DRAIN_MAX))?;
            let count = taken.len();
            for (index, completion) in taken.into_iter().enumerate() {
                // The stride is the caller's: a newer header may have a larger struct.
                let place = completions.byte_add(index * completion_size);
                place.write_unaligned(dlock_completion_t::of(state, completion));
            }
            out.put(count);
            Ok(())
        })
    }
}

/// Cancels an operation: it completes at once with DLOCK_CANCELLED. What it would still get, a hold or a client, is given
/// back; what becomes of an operation that gets nothing stands at its dlock_submit_ function.
/// `out_cancelled`, which may be NULL, becomes false when its one completion was already queued.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_op_cancel(
    op: *const dlock_op_t,
    out_cancelled: *mut bool,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let export = "dlock_op_cancel";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(export, error, |state| {
            let cancelled = state.cancel(id(op))?;
            if let Ok(out) = Out::required(out_cancelled, "out_cancelled", export) {
                out.put(cancelled);
            }
            Ok(())
        })
    }
}

/// Frees a port. Operations under way end without a completion, and completions that were not drained are undone: locks
/// are released, clients closed.
#[unsafe(no_mangle)]
pub extern "C" fn dlock_port_free(port: *mut dlock_port_t) -> dlock_status_t {
    free("dlock_port_free", HandleKind::Port, port)
}
