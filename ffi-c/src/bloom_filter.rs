//! Bloom filters.

use std::ffi::{c_char, c_void};

use libdlock::Result;
use libdlock_bridge::HandleKind;
use libdlock_bridge::ops::{self, BloomItems};

use crate::call::{Buffer, ask, call, free, tell};
use crate::error::{dlock_error_t, dlock_status_t, refuse, refuse_for};
use crate::out::Out;
use crate::snowflake::DLOCK_BATCH_MAX;
use crate::text;
use crate::types::{dlock_client_t, handle, id};

/// A Bloom filter, by name.
pub struct dlock_bloom_filter_t(());

/// A filter that stays until it is cleared.
pub const DLOCK_BLOOM_NO_END: i64 = -1;

const _: () = assert!(DLOCK_BATCH_MAX == libdlock::bloom::MAX_BATCH);

/// Makes a Bloom filter with a name of 1 to 512 bytes of UTF-8: Redisson's RBloomFilter, bit for bit. No I/O. It is for `expected`
/// items, 1 to 9007199254740991; `false_positive_rate`, above 0 and below 1, is the share of items that were not added and are found all the same,
/// once so many were. `ttl_ms`, 1 to 100 years, is how long the filter lives from its first item on, or DLOCK_BLOOM_NO_END.
///
/// It is made on the server when the first item is added. A filter whose size or hashes are not those on the server gets
/// DLOCK_WRONG_TYPE, with both in the message. DLOCK_INVALID_ARGUMENT for a filter of more than 4294967294 bits, DLOCK_INVALID_NAME for
/// a name that is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_bloom_filter_open(
    client: *const dlock_client_t,
    name: *const c_char,
    name_len: usize,
    expected: i64,
    false_positive_rate: f64,
    ttl_ms: i64,
    out_filter: *mut *mut dlock_bloom_filter_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_bloom_filter_open";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_filter, "out_filter", op)?;
            let name = text::name(name, name_len, op)?;
            let ttl_ms = ops::given(ttl_ms, DLOCK_BLOOM_NO_END);
            out.put(handle(ops::bloom_filter_open(state, id(client), name, expected, false_positive_rate, ttl_ms)?));
            Ok(())
        })
    }
}

/// Gives the handle up. The filter stays on the server.
#[unsafe(no_mangle)]
pub extern "C" fn dlock_bloom_filter_free(filter: *mut dlock_bloom_filter_t) -> dlock_status_t {
    free("dlock_bloom_filter_free", HandleKind::BloomFilter, filter)
}

/// Writes the filter's name and a NUL to `buffer`, and its bytes without the NUL to `out_len`. A buffer of DLOCK_NAME_SIZE is
/// always large enough; one that is not is DLOCK_INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_bloom_filter_name(
    filter: *const dlock_bloom_filter_t,
    buffer: *mut c_char,
    buffer_size: usize,
    out_len: *mut usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let into = Buffer { start: buffer, size: buffer_size, out_len };
    // SAFETY: the caller's promise, see the header.
    unsafe { tell("dlock_bloom_filter_name", into, error, |state| ops::bloom_filter_name(state, id(filter))) }
}

/// How many bits the filter has. No I/O.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_bloom_filter_size(
    filter: *const dlock_bloom_filter_t,
    out_size: *mut i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { ask("dlock_bloom_filter_size", out_size, error, |state| ops::bloom_filter_size(state, id(filter))) }
}

/// How many bits an item has. No I/O.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_bloom_filter_hashes(
    filter: *const dlock_bloom_filter_t,
    out_hashes: *mut i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { ask("dlock_bloom_filter_hashes", out_hashes, error, |state| ops::bloom_filter_hashes(state, id(filter))) }
}

/// Adds `count` items, 0 to DLOCK_BATCH_MAX: `items` has as many pointers, and `item_lens` their bytes, 0 to 1073741824. `out_new`, of as
/// many flags, gets of each whether it is new: false may be a false positive. It stays as it was after an error, and may be NULL.
///
/// One script adds them all, or one for each 16384 bits; an error may leave a part of them added. DLOCK_OUTCOME_UNKNOWN when a
/// reply was lost and it is unknown which were new: adding them again adds what is missing. DLOCK_WRONG_TYPE when the filter on the
/// server has another configuration, and when the keys hold something else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_bloom_filter_add(
    filter: *const dlock_bloom_filter_t,
    items: *const *const c_void,
    item_lens: *const usize,
    count: usize,
    out_new: *mut bool,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_bloom_filter_add";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let items = items_at(items, item_lens, count, op)?;
            let answers = state.wait(ops::bloom_filter_add(state, id(filter), items), None)?.0;
            if !out_new.is_null() {
                // SAFETY: writable for `count` flags by the caller's promise.
                out_new.copy_from_nonoverlapping(answers.as_ptr(), answers.len());
            }
            Ok(())
        })
    }
}

/// Looks for `count` items, given as to dlock_bloom_filter_add(). `out_found` gets of each whether it was added: true may be a
/// false positive, false is certain. Errors as dlock_bloom_filter_add(), but for DLOCK_OUTCOME_UNKNOWN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_bloom_filter_contains(
    filter: *const dlock_bloom_filter_t,
    items: *const *const c_void,
    item_lens: *const usize,
    count: usize,
    out_found: *mut bool,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_bloom_filter_contains";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            if out_found.is_null() {
                return Err(refuse(op, "out_found is NULL: there is nowhere to put the answer"));
            }
            let items = items_at(items, item_lens, count, op)?;
            let answers = state.wait(ops::bloom_filter_contains(state, id(filter), items), None)?.0;
            // SAFETY: writable for `count` flags by the caller's promise.
            out_found.copy_from_nonoverlapping(answers.as_ptr(), answers.len());
            Ok(())
        })
    }
}

/// How many different items were added, as the bits that are set let expect; 9007199254740991 when all are set. The server
/// counts all bits: 50 ms for a filter of 512 MiB.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_bloom_filter_count(
    filter: *const dlock_bloom_filter_t,
    out_count: *mut i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask("dlock_bloom_filter_count", out_count, error, |state| {
            state.wait(ops::bloom_filter_count(state, id(filter)), None)
        })
    }
}

/// The rate of false positives now, from 0 of an empty filter to 1 of a full one. The server counts all bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_bloom_filter_false_positive_rate(
    filter: *const dlock_bloom_filter_t,
    out_rate: *mut f64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask("dlock_bloom_filter_false_positive_rate", out_rate, error, |state| {
            state.wait(ops::bloom_filter_false_positive_rate(state, id(filter)), None).map(|rate| rate.0)
        })
    }
}

/// Removes the filter, whatever configuration it has. `out_cleared`, which may be NULL, gets whether it was there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_bloom_filter_clear(
    filter: *const dlock_bloom_filter_t,
    out_cleared: *mut bool,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_bloom_filter_clear";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let cleared = state.wait(ops::bloom_filter_clear(state, id(filter)), None)?;
            if let Ok(out) = Out::required(out_cleared, "out_cleared", op) {
                out.put(cleared);
            }
            Ok(())
        })
    }
}

/// The items at `items`.
///
/// # Safety
/// As the header says: `items` is NULL or readable for `count` pointers, each readable for its length, and `lens` is NULL or
/// readable for as many lengths.
pub(crate) unsafe fn items_at(
    items: *const *const c_void,
    lens: *const usize,
    count: usize,
    op: &'static str,
) -> Result<BloomItems> {
    if count > DLOCK_BATCH_MAX {
        return Err(refuse_for(op, format_args!("a batch of {count} items is out of range"), "0 to 1000000"));
    }
    if count > 0 && (items.is_null() || lens.is_null()) {
        return Err(refuse(op, format!("items or item_lens is NULL with a count of {count}")));
    }
    let mut all = BloomItems::new();
    for at in 0..count {
        // SAFETY: the caller's promise.
        let (item, len) = unsafe { (*items.add(at), *lens.add(at)) };
        // SAFETY: the caller's promise.
        all.push(unsafe { item_at(item, len, op)? });
    }
    Ok(all)
}

/// Maximum number of bytes of an item: a longer one is a length gone wrong, and is refused before it is read.
const ITEM_MAX: usize = 1 << 30;

/// One item.
///
/// # Safety
/// `item` is readable for `len` bytes, or NULL with a length of 0.
pub(crate) unsafe fn item_at<'a>(item: *const c_void, len: usize, op: &'static str) -> Result<&'a [u8]> {
    if len == 0 {
        return Ok(&[]);
    }
    if item.is_null() {
        return Err(refuse(op, format!("an item is NULL with a length of {len}")));
    }
    if len > ITEM_MAX {
        return Err(refuse_for(op, format_args!("an item has {len} bytes"), format!("0 to {ITEM_MAX} bytes")));
    }
    // SAFETY: not null, of a sane length, and readable by the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(item.cast::<u8>(), len) })
}
