//! Generators of ids in blocks.

use std::ffi::c_char;

use libdlock_bridge::{HandleKind, ops};

use crate::call::{Buffer, ask, call, free, tell};
use crate::error::{dlock_error_t, dlock_status_t, refuse};
use crate::out::Out;
use crate::text;
use crate::types::{dlock_client_t, handle, id};

/// A generator of ids in blocks, by name.
pub struct dlock_id_generator_t(());

/// How many ids a block has if nobody says otherwise.
pub const DLOCK_ID_BLOCK_DEFAULT: i64 = 5_000;
const _: () = assert!(DLOCK_ID_BLOCK_DEFAULT.cast_unsigned() == libdlock::id_generator::DEFAULT_BLOCK);

/// Makes a generator of ids with a name of 1 to 512 bytes of UTF-8. No I/O. `block`, 1 to 9007199254740991, is how many ids this
/// process takes from the server at a time, and `start` the first id of all: as a rule DLOCK_ID_BLOCK_DEFAULT and 1. Both count
/// only where the server knows none; dlock_id_generator_block_size() says what does. DLOCK_INVALID_NAME for a name that is
/// refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_id_generator_open(
    client: *const dlock_client_t,
    name: *const c_char,
    name_len: usize,
    block: i64,
    start: i64,
    out_generator: *mut *mut dlock_id_generator_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_id_generator_open";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_generator, "out_generator", op)?;
            let name = text::name(name, name_len, op)?;
            out.put(handle(ops::id_generator_open(state, id(client), name, block, start)?));
            Ok(())
        })
    }
}

/// Gives the handle up. With the last of a name and client, what the process has of a block is lost: a gap.
#[unsafe(no_mangle)]
pub extern "C" fn dlock_id_generator_free(generator: *mut dlock_id_generator_t) -> dlock_status_t {
    free("dlock_id_generator_free", HandleKind::IdGenerator, generator)
}

/// Writes the generator's name and a NUL to `buffer`, and its bytes without the NUL to `out_len`. A buffer of DLOCK_NAME_SIZE is
/// always large enough; one that is not is DLOCK_INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_id_generator_name(
    generator: *const dlock_id_generator_t,
    buffer: *mut c_char,
    buffer_size: usize,
    out_len: *mut usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let into = Buffer { start: buffer, size: buffer_size, out_len };
    // SAFETY: the caller's promise, see the header.
    unsafe { tell("dlock_id_generator_name", into, error, |state| ops::id_generator_name(state, id(generator))) }
}

/// How many ids a block has: what the server said with the last one that this client took, and `block` of
/// dlock_id_generator_open() before the first. No I/O.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_id_generator_block_size(
    generator: *const dlock_id_generator_t,
    out_size: *mut i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask("dlock_id_generator_block_size", out_size, error, |state| {
            ops::id_generator_block_size(state, id(generator))
        })
    }
}

/// The next id. From the block of this process, without asking the server, as long as that has one; the next block is fetched when
/// a fifth is left. DLOCK_CONNECTION when there is none left and the server did not answer within operation_timeout: the call may
/// be repeated. DLOCK_UNSUPPORTED when the ids are used up, at 2^63 - 1. DLOCK_WRONG_TYPE when the key holds something else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_id_generator_next_id(
    generator: *const dlock_id_generator_t,
    out_id: *mut i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask("dlock_id_generator_next_id", out_id, error, |state| {
            state.wait(ops::id_generator_next_id(state, id(generator)), None)
        })
    }
}

/// The next `count` ids, 1 to DLOCK_BATCH_MAX, in increasing order, into `out_ids`, which stays as it was after an
/// error. Errors as dlock_id_generator_next_id().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_id_generator_next_ids(
    generator: *const dlock_id_generator_t,
    out_ids: *mut i64,
    count: usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_id_generator_next_ids";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            if out_ids.is_null() {
                return Err(refuse(op, "out_ids is NULL: there is nowhere to put the answer"));
            }
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            let ids = state.wait(ops::id_generator_next_ids(state, id(generator), count), None)?.0;
            // SAFETY: writable for `count` ids by the caller's promise, bytes of ours beside it do not overlap, and bytes
            // have no alignment to miss.
            out_ids.cast::<u8>().copy_from_nonoverlapping(ids.as_ptr().cast(), size_of_val(ids.as_slice()));
            Ok(())
        })
    }
}
