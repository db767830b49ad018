//! Status codes, and the error that the caller owns.

use std::ffi::{CStr, c_char};
use std::fmt::Display;

use libdlock::{Error, ErrorKind};

use crate::text::fill;
use crate::types::{DLOCK_NAME_SIZE, DLOCK_OWNER_SIZE};

/// What came of a call: 0 is success, a positive number an ordinary outcome, a negative one an error. The numbers are
/// frozen.
pub type dlock_status_t = i32;

// <api:statuses> written by `python3 api/write.py` from api/errors.json
/// Done.
pub const DLOCK_OK: dlock_status_t = 0;
/// Not acquired within the wait; for a wait for a loss, not lost within it.
pub const DLOCK_BUSY: dlock_status_t = 1;
/// A rate limiter refused for now.
pub const DLOCK_LIMITED: dlock_status_t = 2;
/// A value was refused before any I/O; the message says which, and what is allowed.
pub const DLOCK_INVALID_ARGUMENT: dlock_status_t = -1;
/// A name was refused before any I/O: empty, longer than 512 bytes, not UTF-8, with a NUL, with braces that are
/// no cluster's hash tag, or the name of a companion key such as `dlock_seen:{a}`.
pub const DLOCK_INVALID_NAME: dlock_status_t = -2;
/// Release or extend by a caller that does not hold it, or not any more.
pub const DLOCK_NOT_HELD: dlock_status_t = -3;
/// What was held was lost: its lease ran out, or it was taken away.
pub const DLOCK_LOST: dlock_status_t = -4;
/// The holder would wait for itself: it acquires again what is not re-entrant, or it reads and wants to write.
pub const DLOCK_DEADLOCK: dlock_status_t = -5;
/// The server cannot be reached or did not answer in time, or refuses the connection or the password; what was
/// asked for was not done there, or is undone.
pub const DLOCK_CONNECTION: dlock_status_t = -6;
/// The request was sent and no reply came: it may or may not have been carried out.
pub const DLOCK_OUTCOME_UNKNOWN: dlock_status_t = -7;
/// The server answered with an error that has no kind of its own.
pub const DLOCK_SERVER: dlock_status_t = -8;
/// The key holds something else; it was left untouched.
pub const DLOCK_WRONG_TYPE: dlock_status_t = -9;
/// The server is at its memory limit and refused to write.
pub const DLOCK_OUT_OF_MEMORY: dlock_status_t = -10;
/// The server's access list forbids the command, key or channel; the message names the missing rule.
pub const DLOCK_NO_PERMISSION: dlock_status_t = -11;
/// The caller cancelled the operation.
pub const DLOCK_CANCELLED: dlock_status_t = -12;
/// The object was closed or freed.
pub const DLOCK_CLOSED: dlock_status_t = -13;
/// An object from before a fork was used in the child; connect again there.
pub const DLOCK_FORKED: dlock_status_t = -14;
/// A clock is behind or jumps by more than the call waits for, or is past the end of a layout's time.
pub const DLOCK_CLOCK: dlock_status_t = -15;
/// A defect in libdlock; panics end here too.
pub const DLOCK_INTERNAL: dlock_status_t = -16;
/// This server, or this version of libdlock, cannot do it; the message says what can.
pub const DLOCK_UNSUPPORTED: dlock_status_t = -17;
/// The queue holds as many jobs as it may; nothing was put.
pub const DLOCK_FULL: dlock_status_t = -18;
// </api:statuses>

/// Bytes of a message, its NUL included.
pub const DLOCK_MESSAGE_SIZE: usize = 512;
/// Bytes of an operation's name, its NUL included.
pub const DLOCK_OP_SIZE: usize = 32;
/// Bytes of what an error says is allowed, the NUL included.
pub const DLOCK_ALLOWED_SIZE: usize = 256;

/// A duration that an error does not carry.
const NOT_KNOWN: i64 = -1;

/// What went wrong, in memory of the caller. Begin with DLOCK_ERROR_INIT. A call that returns DLOCK_OK does not touch it;
/// every other call fills it in. Each text is NUL-terminated UTF-8, cut where it does not fit.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_error_t {
    /// `sizeof(dlock_error_t)`.
    pub struct_size: usize,
    /// The status that the call returned.
    pub code: dlock_status_t,
    /// What was being done, such as "acquire".
    pub op: [c_char; DLOCK_OP_SIZE],
    /// The object it was done to; empty when there is none.
    pub name: [c_char; DLOCK_NAME_SIZE],
    /// What happened and what to do about it; never a password.
    pub message: [c_char; DLOCK_MESSAGE_SIZE],
    // <api:facts> written by `python3 api/write.py` from api/errors.json
    /// The owner in the way, as it stands on the server; of a busy error, where the server named one; empty when
    /// there is none.
    pub holder: [c_char; DLOCK_OWNER_SIZE],
    /// How much of that holder's lease was left when it was seen; the holder may renew it; -1 when it is not known.
    pub remaining_ms: i64,
    /// After how long asking again can succeed, at the soonest: of a limiter's refusal, and of a clock error, until
    /// the clock is no longer behind; -1 when it is not known.
    pub retry_after_us: i64,
    /// What is allowed in place of the value that was refused, such as `100 ms to 24 h`; empty when there is none.
    pub allowed: [c_char; DLOCK_ALLOWED_SIZE],
    /// Whether the same call, made again later, can succeed although the program changes nothing: of a connection
    /// error, where the server cannot be reached, but not with a wrong password; after an unknown outcome it may find
    /// that the first call was carried out.
    pub retryable: bool,
    // </api:facts>
}

impl dlock_error_t {
    pub(crate) const EMPTY: Self = Self {
        struct_size: size_of::<Self>(),
        code: DLOCK_OK,
        op: [0; DLOCK_OP_SIZE],
        name: [0; DLOCK_NAME_SIZE],
        message: [0; DLOCK_MESSAGE_SIZE],
        holder: [0; DLOCK_OWNER_SIZE],
        remaining_ms: NOT_KNOWN,
        retry_after_us: NOT_KNOWN,
        allowed: [0; DLOCK_ALLOWED_SIZE],
        retryable: false,
    };

    pub(crate) fn of(error: &Error) -> Self {
        let mut answer = Self { code: error.kind().code(), ..Self::EMPTY };
        fill(&mut answer.op, error.op());
        fill(&mut answer.name, error.name().unwrap_or(""));
        fill(&mut answer.message, error.message());
        fill(&mut answer.holder, error.holder().unwrap_or(""));
        fill(&mut answer.allowed, error.allowed().unwrap_or(""));
        answer.remaining_ms = error.remaining().map_or(NOT_KNOWN, |left| left.as_millis() as i64);
        answer.retry_after_us = error.retry_after().map_or(NOT_KNOWN, |after| after.as_micros() as i64);
        answer.retryable = error.is_retryable();
        answer
    }
}

/// The name of a status, such as "BUSY"; "UNKNOWN" for a number that is none. Static, NUL-terminated.
#[unsafe(no_mangle)]
pub extern "C" fn dlock_status_name(status: dlock_status_t) -> *const c_char {
    let name = libdlock_bridge::guard("dlock_status_name", || Ok(status_name(status)));
    name.unwrap_or(c"UNKNOWN").as_ptr()
}

fn status_name(status: dlock_status_t) -> &'static CStr {
    match status {
        // <api:names> written by `python3 api/write.py` from api/errors.json
        DLOCK_OK => c"OK",
        DLOCK_BUSY => c"BUSY",
        DLOCK_LIMITED => c"LIMITED",
        DLOCK_INVALID_ARGUMENT => c"INVALID_ARGUMENT",
        DLOCK_INVALID_NAME => c"INVALID_NAME",
        DLOCK_NOT_HELD => c"NOT_HELD",
        DLOCK_LOST => c"LOST",
        DLOCK_DEADLOCK => c"DEADLOCK",
        DLOCK_CONNECTION => c"CONNECTION",
        DLOCK_OUTCOME_UNKNOWN => c"OUTCOME_UNKNOWN",
        DLOCK_SERVER => c"SERVER",
        DLOCK_WRONG_TYPE => c"WRONG_TYPE",
        DLOCK_OUT_OF_MEMORY => c"OUT_OF_MEMORY",
        DLOCK_NO_PERMISSION => c"NO_PERMISSION",
        DLOCK_CANCELLED => c"CANCELLED",
        DLOCK_CLOSED => c"CLOSED",
        DLOCK_FORKED => c"FORKED",
        DLOCK_CLOCK => c"CLOCK",
        DLOCK_INTERNAL => c"INTERNAL",
        DLOCK_UNSUPPORTED => c"UNSUPPORTED",
        DLOCK_FULL => c"FULL",
        // </api:names>
        _ => c"UNKNOWN",
    }
}

/// A bad argument, refused by the C layer itself.
pub(crate) fn refuse(op: &'static str, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, op, message)
}

/// As [`refuse`], where something else is allowed.
pub(crate) fn refuse_for(op: &'static str, what: impl Display, allowed: impl Into<String>) -> Error {
    Error::refused(ErrorKind::InvalidArgument, op, what, allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_core_has_its_status_under_the_same_name() {
        for kind in ErrorKind::ALL {
            assert_eq!(status_name(kind.code()).to_str(), Ok(kind.as_str()));
        }
        assert_eq!(status_name(i32::MIN), c"UNKNOWN");
        assert_eq!(status_name(3), c"UNKNOWN");
    }
}
