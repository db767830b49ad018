//! Ids without a server: generators, layouts, texts.

use std::ffi::c_char;

use libdlock::Result;
use libdlock::id::{Layout, Parts};
use libdlock_bridge::HandleKind;
use libdlock_bridge::ops::{self, SnowflakeArgs};

use crate::call::{ask, call, free, make};
use crate::error::{dlock_error_t, dlock_status_t, refuse};
use crate::out::{sized, sized_out};
use crate::text;
use crate::types::id;

/// A generator of ids.
pub struct dlock_snowflake_t(());

/// Bytes of an id as text in any base, its NUL included.
pub const DLOCK_ID_TEXT_SIZE: usize = 20;

/// The most ids of one call.
pub const DLOCK_BATCH_MAX: usize = 1_000_000;
const _: () = assert!(DLOCK_BATCH_MAX == libdlock::id::MAX_BATCH);

/// Which bits of an id hold what: zeros, time, datacenter, worker, sequence, from the high end. Begin with
/// DLOCK_LAYOUT_INIT, or get one by dlock_layout_named(). It is checked where it is used.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_layout_t {
    /// `sizeof(dlock_layout_t)`.
    pub struct_size: usize,
    /// When time begins, in ms since 1970: 0 to 253402300799999.
    pub epoch_ms: i64,
    /// Bits of the milliseconds since then: 1 to 48. All bits together are at most 63.
    pub time_bits: u32,
    /// Bits of the datacenter's number: 0 to 31.
    pub datacenter_bits: u32,
    /// Bits of the worker's number: 0 to 31.
    pub worker_bits: u32,
    /// Bits of the count within a millisecond: 0 to 31.
    pub sequence_bits: u32,
}

/// How to make a generator. Begin with DLOCK_SNOWFLAKE_OPTIONS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_snowflake_options_t {
    /// `sizeof(dlock_snowflake_options_t)`.
    pub struct_size: usize,
    /// NULL: the layout "default".
    pub layout: *const dlock_layout_t,
    /// How far ids may run ahead of the clock instead of waiting for the next millisecond: 0 to 10.
    pub borrow_ahead_ms: i64,
    /// How long the start may wait for a clock that was set back since the last id of this datacenter and worker: 0 to
    /// 60000; -1 is 1000.
    pub start_wait_ms: i64,
}

/// What an id says. Begin with DLOCK_ID_PARTS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_id_parts_t {
    /// `sizeof(dlock_id_parts_t)`.
    pub struct_size: usize,
    /// When it was made, in ms since 1970.
    pub time_ms: i64,
    /// The datacenter's number.
    pub datacenter: u32,
    /// The worker's number.
    pub worker: u32,
    /// Sequence number within the millisecond, from 0.
    pub sequence: u32,
}

impl dlock_layout_t {
    fn of(layout: Layout) -> Self {
        let Layout { epoch_ms, time_bits, datacenter_bits, worker_bits, sequence_bits } = layout;
        Self { struct_size: size_of::<Self>(), epoch_ms, time_bits, datacenter_bits, worker_bits, sequence_bits }
    }

    /// # Safety
    /// As the header says for options.
    pub(crate) unsafe fn read(pointer: *const Self, op: &'static str) -> Result<Option<Layout>> {
        if pointer.is_null() {
            return Ok(None);
        }
        // SAFETY: passed on.
        let Self { epoch_ms, time_bits, datacenter_bits, worker_bits, sequence_bits, .. } =
            unsafe { sized(pointer, "layout", op)? };
        Ok(Some(Layout { epoch_ms, time_bits, datacenter_bits, worker_bits, sequence_bits }))
    }
}

impl dlock_id_parts_t {
    fn of(parts: Parts) -> Self {
        let Parts { time_ms, datacenter, worker, sequence } = parts;
        Self { struct_size: size_of::<Self>(), time_ms, datacenter, worker, sequence }
    }
}

/// The layout of that name: "default" (41 bits of time since 2015, 5 datacenter, 5 worker, 12 sequence), "twitter" (the same
/// since 2010-11-04), "js53" (53 bits: 41, 0, 5, 7 since 2015).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_layout_named(
    name: *const c_char,
    name_len: usize,
    out_layout: *mut dlock_layout_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_layout_named";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |_| {
            let out = sized_out(out_layout, "out_layout", op)?;
            out.put(dlock_layout_t::of(ops::layout_named(text::bytes(name, name_len, "layout's name", op)?)?));
            Ok(())
        })
    }
}

/// Takes an id apart without a generator. `layout` may be NULL for "default".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_layout_decode(
    layout: *const dlock_layout_t,
    id: i64,
    out_parts: *mut dlock_id_parts_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_layout_decode";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |_| {
            let out = sized_out(out_parts, "out_parts", op)?;
            let layout = dlock_layout_t::read(layout, op)?.unwrap_or(Layout::DEFAULT);
            out.put(dlock_id_parts_t::of(layout.decode(id)?));
            Ok(())
        })
    }
}

/// Makes a generator. No server is asked: `datacenter` and `worker` have to be this process's alone. Generators of one
/// layout, datacenter and worker in one process share their state. `options` may be NULL. DLOCK_CLOCK when the clock is
/// outside of the layout's time, or was set back by more than the start may wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_snowflake_open(
    datacenter: i64,
    worker: i64,
    options: *const dlock_snowflake_options_t,
    out_snowflake: *mut *mut dlock_snowflake_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_snowflake_open";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        make(
            op,
            (out_snowflake, "out_snowflake"),
            error,
            || {
                let mut args =
                    SnowflakeArgs { datacenter, worker, layout: None, borrow_ahead_ms: 0, start_wait_ms: None };
                if !options.is_null() {
                    let given = sized(options, "options", op)?;
                    args.layout = dlock_layout_t::read(given.layout, op)?;
                    args.borrow_ahead_ms = given.borrow_ahead_ms;
                    args.start_wait_ms = ops::given(given.start_wait_ms, -1);
                }
                Ok(args)
            },
            ops::snowflake_open,
        )
    }
}

/// The next id: larger than every one before it of this datacenter and worker. Takes no lock. Sleeps, for less than a
/// millisecond, when the ids of this millisecond are used up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_snowflake_next_id(
    snowflake: *const dlock_snowflake_t,
    out_id: *mut i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { ask("dlock_snowflake_next_id", out_id, error, |state| ops::snowflake_next_id(state, id(snowflake))) }
}

/// The next `count` ids in increasing order, 1 to DLOCK_BATCH_MAX, to the array at `out_ids`. Takes as long as the layout makes
/// it: 244 ms for a million of "default".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_snowflake_next_ids(
    snowflake: *const dlock_snowflake_t,
    out_ids: *mut i64,
    count: usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_snowflake_next_ids";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            if out_ids.is_null() {
                return Err(refuse(op, "out_ids is NULL: there is nowhere to put the answer"));
            }
            // Copied, not made in place: a batch that fails half-way leaves the caller's array as it was.
            let ids = ops::snowflake_next_ids(state, id(snowflake), i64::try_from(count).unwrap_or(i64::MAX))?;
            // SAFETY: writable for `count` ids by the caller's promise, bytes of ours beside it do not overlap, and bytes
            // have no alignment to miss.
            out_ids.cast::<u8>().copy_from_nonoverlapping(ids.as_ptr().cast(), size_of_val(ids.as_slice()));
            Ok(())
        })
    }
}

/// Takes an id of the generator's layout apart.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_snowflake_decode(
    snowflake: *const dlock_snowflake_t,
    id: i64,
    out_parts: *mut dlock_id_parts_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_snowflake_decode";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = sized_out(out_parts, "out_parts", op)?;
            out.put(dlock_id_parts_t::of(ops::snowflake_decode(state, crate::types::id(snowflake), id)?));
            Ok(())
        })
    }
}

/// Gives the handle up. What was made stays unique: the next generator of this datacenter and worker goes on after it.
#[unsafe(no_mangle)]
pub extern "C" fn dlock_snowflake_free(snowflake: *mut dlock_snowflake_t) -> dlock_status_t {
    free("dlock_snowflake_free", HandleKind::Snowflake, snowflake)
}

/// Writes an id and a NUL to `buffer` in base 10, 32 (Crockford's digits), 36, 58 (Bitcoin's) or 62 (0-9A-Za-z), and its
/// bytes without the NUL to `out_len`. A buffer of DLOCK_ID_TEXT_SIZE is always large enough.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_id_encode(
    id: i64,
    base: i32,
    buffer: *mut c_char,
    buffer_size: usize,
    out_len: *mut usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_id_encode";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask(op, out_len, error, |_| {
            let written = ops::id_encode(id, base.into())?;
            text::copy(buffer, buffer_size, &written, op)?;
            Ok(written.len())
        })
    }
}

/// The id that a text in `base` says. Base 32 and 36 take either case.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_id_parse(
    text: *const c_char,
    text_len: usize,
    base: i32,
    out_id: *mut i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_id_parse";
    // SAFETY: the caller's promise, see the header.
    unsafe { ask(op, out_id, error, |_| ops::id_parse(text::bytes(text, text_len, "text", op)?, base.into())) }
}
