//! Worker numbers: leased from a pool, and generators of ids under them.

use std::ffi::c_char;

use libdlock::Result;
use libdlock_bridge::ops;

use crate::call::{Buffer, ask, call, tell};
use crate::error::{dlock_error_t, dlock_status_t};
use crate::out::{Out, sized};
use crate::snowflake::{dlock_layout_t, dlock_snowflake_t};
use crate::text;
use crate::types::{dlock_cancel_t, dlock_client_t, dlock_held_t, handle, id, lease, optional_id};

/// How to lease a worker number. Begin with DLOCK_WORKER_OPTIONS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_worker_options_t {
    /// `sizeof(dlock_worker_options_t)`.
    pub struct_size: usize,
    /// How many bits the numbers of the pool have, 1 to 22, the same for all who use it; at most as many as the datacenter and
    /// the worker of the layout have together.
    pub bits: i64,
    /// For how long the number stays taken when this process dies: 100 to 86400000 ms, renewed every third of it; 0 is the
    /// client's.
    pub lease_ms: i64,
    /// Ends the call when fired; may be NULL.
    pub cancel: *const dlock_cancel_t,
}

/// How many bits the numbers of a pool have as a rule: 1,024 numbers.
pub const DLOCK_WORKER_BITS_DEFAULT: i64 = 10;

/// The arguments of a lease.
pub(crate) struct Leasing<'a> {
    pub(crate) pool: &'a [u8],
    pub(crate) bits: Option<i64>,
    pub(crate) lease_ms: Option<i64>,
    pub(crate) cancel: Option<libdlock_bridge::Handle>,
}

impl<'a> Leasing<'a> {
    /// # Safety
    /// As the header says for texts and options.
    pub(crate) unsafe fn read(
        pool: *const c_char,
        pool_len: usize,
        options: *const dlock_worker_options_t,
        op: &'static str,
    ) -> Result<Self> {
        // SAFETY: passed on.
        let pool = unsafe { text::name(pool, pool_len, op)? };
        if options.is_null() {
            return Ok(Self { pool, bits: None, lease_ms: None, cancel: None });
        }
        // SAFETY: passed on.
        let given = unsafe { sized(options, "options", op)? };
        let (lease_ms, cancel) = (lease(given.lease_ms), optional_id(given.cancel));
        Ok(Self { pool, bits: Some(given.bits), lease_ms, cancel })
    }
}

/// Leases the lowest free number of the pool with a name of 1 to 512 bytes of UTF-8. All processes whose ids have to differ use
/// one pool. `options` may be NULL. The client renews the lease. DLOCK_BUSY, without a wait, when all numbers are taken: the
/// error's `retry_after_us` says when the next may be free. DLOCK_INVALID_NAME for a name that is refused.
///
/// `out_held` gets the hold, which is its handle's own: dlock_held_is_valid(), dlock_held_remaining_ms(), dlock_held_lost() and
/// dlock_held_wait_lost() say how it stands, and dlock_held_release() gives the number back; its generators make no ids from
/// then on. It has no fencing token, cannot be extended and cannot be detached. dlock_held_free() without a release gives the
/// number back in the background, once the last generator under it is freed too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_worker_lease(
    client: *const dlock_client_t,
    pool: *const c_char,
    pool_len: usize,
    options: *const dlock_worker_options_t,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_worker_lease";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_held, "out_held", op)?;
            let how = Leasing::read(pool, pool_len, options, op)?;
            let leasing = ops::worker_lease(state, id(client), how.pool.to_vec(), how.bits, how.lease_ms);
            out.put(handle(state.wait(state.with_cancel(how.cancel, leasing), None)?.handle));
            Ok(())
        })
    }
}

/// The number that is held, from 0. No I/O. DLOCK_INVALID_ARGUMENT for a hold of anything else, as for all calls about a
/// worker number that is held.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_worker_number(
    held: *const dlock_held_t,
    out_number: *mut i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { ask("dlock_worker_number", out_number, error, |state| ops::worker_number(state, id(held))) }
}

/// How many bits the numbers of its pool have. No I/O.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_worker_bits(
    held: *const dlock_held_t,
    out_bits: *mut i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { ask("dlock_worker_bits", out_bits, error, |state| ops::worker_bits(state, id(held))) }
}

/// Writes the name of its pool and a NUL to `buffer`, and its bytes without the NUL to `out_len`. A buffer of DLOCK_NAME_SIZE is
/// always large enough; one that is not is DLOCK_INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_worker_pool(
    held: *const dlock_held_t,
    buffer: *mut c_char,
    buffer_size: usize,
    out_len: *mut usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let into = Buffer { start: buffer, size: buffer_size, out_len };
    // SAFETY: the caller's promise, see the header.
    unsafe { tell("dlock_worker_pool", into, error, |state| ops::worker_pool(state, id(held))) }
}

/// Makes a generator of ids under the number: its low bits are the layout's worker, those above them the datacenter. `layout`
/// may be NULL for "default". Generators of one layout share their state. Each keeps the number until it is freed. No I/O.
///
/// Its ids are unique whatever the clocks of the machines do: its time begins at the server's, or after the last id of the
/// number's holders before, and goes on by a monotonic clock. DLOCK_LOST when the lease is over, from the generator too, also in
/// the middle of a batch, of which nothing is given out; DLOCK_NOT_HELD after a release. DLOCK_INVALID_ARGUMENT when the numbers
/// of the pool have more bits than the layout's datacenter and worker together.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_worker_snowflake(
    held: *const dlock_held_t,
    layout: *const dlock_layout_t,
    out_snowflake: *mut *mut dlock_snowflake_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_worker_snowflake";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask(op, out_snowflake, error, |state| {
            Ok(handle(ops::worker_snowflake(state, id(held), dlock_layout_t::read(layout, op)?)?))
        })
    }
}
