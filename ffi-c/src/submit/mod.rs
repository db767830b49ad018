//! The asynchronous form: the same operations, with the answer in a port. A hold that is acquired so belongs to its handle
//! and not to a thread.

mod bloom_filter;
mod client;
mod counting_semaphore;
mod delivery;
mod held;
mod id_generator;
mod latch;
mod limiter_adjust;
mod lock;
mod lock_all;
mod queue;
mod rate_limiter;
mod rw_lock;
mod semaphore;
mod worker;

use std::ffi::c_void;
use std::future::Future;

use libdlock::Result;
use libdlock_bridge::{Outcome, State};

pub use self::bloom_filter::*;
pub use self::client::*;
pub use self::counting_semaphore::*;
pub use self::delivery::*;
pub use self::held::*;
pub use self::id_generator::*;
pub use self::latch::*;
pub use self::lock::*;
pub use self::lock_all::*;
pub use self::queue::*;
pub use self::rate_limiter::*;
pub use self::rw_lock::*;
pub use self::semaphore::*;
pub use self::worker::*;
use crate::call::call;
use crate::error::{dlock_error_t, dlock_status_t};
use crate::out::Out;
use crate::types::{dlock_op_t, dlock_port_t, handle, id, user_data as as_user_data};

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
