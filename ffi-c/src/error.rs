//! Status codes, and the error that the caller owns.

use std::ffi::{CStr, c_char};

use libdlock::{Error, ErrorKind};

use crate::text::fill;
use crate::types::DLOCK_NAME_SIZE;

/// What came of a call: 0 is success, a positive number an ordinary outcome, a negative one an error. The numbers are
/// frozen.
pub type dlock_status_t = i32;

/// Done.
pub const DLOCK_OK: dlock_status_t = 0;
/// Not acquired within the wait (or, for a wait for a loss: not lost within it).
pub const DLOCK_BUSY: dlock_status_t = 1;
/// A rate limiter refused for now.
pub const DLOCK_LIMITED: dlock_status_t = 2;
/// An argument was refused before any I/O.
pub const DLOCK_INVALID_ARGUMENT: dlock_status_t = -1;
/// A name was refused before any I/O.
pub const DLOCK_INVALID_NAME: dlock_status_t = -2;
/// Released or extended by somebody who does not hold it (any more).
pub const DLOCK_NOT_HELD: dlock_status_t = -3;
/// The lease ran out, or was taken away, while it was held.
pub const DLOCK_LOST: dlock_status_t = -4;
/// The holder asked again for a lock that is not re-entrant.
pub const DLOCK_DEADLOCK: dlock_status_t = -5;
/// The server could not be reached; nothing was done there.
pub const DLOCK_CONNECTION: dlock_status_t = -6;
/// The request was sent and no reply came: it may or may not have been carried out.
pub const DLOCK_OUTCOME_UNKNOWN: dlock_status_t = -7;
/// The server answered with an error that has no code of its own.
pub const DLOCK_SERVER: dlock_status_t = -8;
/// The key holds something that is not this kind of object; it is untouched.
pub const DLOCK_WRONG_TYPE: dlock_status_t = -9;
/// The server is over its memory limit.
pub const DLOCK_OUT_OF_MEMORY: dlock_status_t = -10;
/// The server's access rules refuse it.
pub const DLOCK_NO_PERMISSION: dlock_status_t = -11;
/// The caller cancelled it.
pub const DLOCK_CANCELLED: dlock_status_t = -12;
/// The object was closed or freed.
pub const DLOCK_CLOSED: dlock_status_t = -13;
/// The object belongs to the process that forked this one.
pub const DLOCK_FORKED: dlock_status_t = -14;
/// A clock is unusable for what was asked.
pub const DLOCK_CLOCK: dlock_status_t = -15;
/// A defect in libdlock.
pub const DLOCK_INTERNAL: dlock_status_t = -16;

/// Bytes of a message, its NUL included.
pub const DLOCK_MESSAGE_SIZE: usize = 512;
/// Bytes of an operation's name, its NUL included.
pub const DLOCK_OP_SIZE: usize = 32;

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
}

impl dlock_error_t {
    pub(crate) const EMPTY: Self = Self {
        struct_size: size_of::<Self>(),
        code: DLOCK_OK,
        op: [0; DLOCK_OP_SIZE],
        name: [0; DLOCK_NAME_SIZE],
        message: [0; DLOCK_MESSAGE_SIZE],
    };

    pub(crate) fn of(error: &Error) -> Self {
        let mut answer = Self { code: error.kind().code(), ..Self::EMPTY };
        fill(&mut answer.op, error.op());
        fill(&mut answer.name, error.name().unwrap_or(""));
        fill(&mut answer.message, error.message());
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
        _ => c"UNKNOWN",
    }
}

/// A bad argument, refused by the C layer itself.
pub(crate) fn refuse(op: &'static str, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, op, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_core_has_its_status_under_the_same_name() {
        for kind in ErrorKind::ALL {
            assert_eq!(status_name(kind.code()).to_str(), Ok(kind.as_str()));
        }
        assert_eq!(status_name(-17), c"UNKNOWN");
        assert_eq!(status_name(3), c"UNKNOWN");
    }
}
