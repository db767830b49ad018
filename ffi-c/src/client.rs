//! Clients.

use std::ffi::c_char;

use libdlock::Result;
use libdlock_bridge::ops::{self, LogTo};
use libdlock_bridge::{Handle, HandleKind};

use crate::call::{ask, call, free, make};
use crate::error::{dlock_error_t, dlock_status_t, refuse};
use crate::out::sized;
use crate::text::text;
use crate::types::{dlock_client_options_t, dlock_client_t, id, optional_id};

/// No table of options is longer; what claims to be is a wild length.
const OPTIONS_MAX: usize = 256;

/// Connects to `url` (`redis://[user:password@]host:port/db`, `rediss://` with TLS, `unix:///path`, `memory://`) and makes
/// a client.
/// `options` may be NULL. DLOCK_CONNECTION when the server cannot be reached within connect_timeout, or within connect_wait if
/// that option is longer. After dlock_shutdown() it starts the library again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_client_open(
    url: *const c_char,
    url_len: usize,
    options: *const dlock_client_options_t,
    out_client: *mut *mut dlock_client_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_client_open";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        make(
            op,
            (out_client, "out_client"),
            error,
            || Open::read(url, url_len, options, op),
            |state, open| {
                let opening = ops::client_open(state, open.url, open.options, open.log);
                state.wait(state.with_cancel(open.cancel, opening), None)
            },
        )
    }
}

/// Closes the client: its waiters return with DLOCK_CLOSED, renewal stops, its locks cannot be used any more. With
/// `release`, what it holds is released first; without, leases run out. Closing twice is no error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_client_close(
    client: *const dlock_client_t,
    release: bool,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_client_close", error, |state| state.wait(ops::client_close(state, id(client), release), None))
    }
}

/// Whether the client was closed, or is being closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_client_is_closed(
    client: *const dlock_client_t,
    out_closed: *mut bool,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { ask("dlock_client_is_closed", out_closed, error, |state| ops::client_is_closed(state, id(client))) }
}

/// Gives the handle up. The client itself ends with the last of its locks and holds; to end it now, close it first.
#[unsafe(no_mangle)]
pub extern "C" fn dlock_client_free(client: *mut dlock_client_t) -> dlock_status_t {
    free("dlock_client_free", HandleKind::Client, client)
}

/// The arguments of opening a client, checked.
pub(crate) struct Open {
    pub(crate) url: String,
    pub(crate) options: Vec<(String, String)>,
    pub(crate) log: Option<LogTo>,
    pub(crate) cancel: Option<Handle>,
}

impl Open {
    /// # Safety
    /// As the header says for the arguments of `dlock_client_open`.
    pub(crate) unsafe fn read(
        url: *const c_char,
        url_len: usize,
        options: *const dlock_client_options_t,
        op: &'static str,
    ) -> Result<Self> {
        // SAFETY: passed on.
        let url = unsafe { text(url, url_len, "url", op)? };
        let mut open = Self { url, options: Vec::new(), log: None, cancel: None };
        if options.is_null() {
            return Ok(open);
        }
        // SAFETY: passed on.
        let given = unsafe { sized(options, "options", op)? };
        open.log = optional_id(given.log_port).map(|port| LogTo { port, user_data: 0 });
        open.cancel = optional_id(given.cancel);
        if given.options_len > OPTIONS_MAX || (given.options.is_null() && given.options_len > 0) {
            let message = format!("options has {} entries at {:p}", given.options_len, given.options);
            return Err(refuse(op, message));
        }
        for index in 0..given.options_len {
            // SAFETY: not null, and readable for `options_len` entries by the caller's promise, which holds for the two
            // texts of each entry too.
            let (name, value) = unsafe {
                let option = given.options.add(index).read_unaligned();
                (
                    text(option.name, option.name_len, "option's name", op)?,
                    text(option.value, option.value_len, "option's value", op)?,
                )
            };
            open.options.push((name, value));
        }
        Ok(open)
    }
}
