//! The one error of the library: a kind with a frozen number, and a message for the person who reads it at 3 a.m.

use std::fmt;
use std::sync::Arc;

/// Shorthand used by every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $text:literal;)*) => {
        /// What went wrong, as a class that a program can decide on.
        ///
        /// The numbers are frozen: they are the status codes of the C ABI and stand in `tests/vectors/errors.json`, which
        /// every language checks. Zero is success; positive numbers are ordinary outcomes, negative ones errors.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(i32)]
        pub enum ErrorKind {
            $($(#[$doc])* $variant = $code,)*
        }

        impl ErrorKind {
            /// Every kind, in the order of the table.
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$variant,)*];

            /// The kind's frozen number.
            pub const fn code(self) -> i32 {
                self as i32
            }

            /// The kind's name in capitals, as in C's `DLOCK_...`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(ErrorKind::$variant => $text,)*
                }
            }
        }
    };
}

kinds! {
    /// Not acquired within the wait: somebody else holds it.
    Busy = 1, "BUSY";
    /// A rate limiter refused for now.
    Limited = 2, "LIMITED";
    /// An argument was refused before any I/O.
    InvalidArgument = -1, "INVALID_ARGUMENT";
    /// An object name was refused before any I/O.
    InvalidName = -2, "INVALID_NAME";
    /// Released or extended by somebody who does not hold it (any more).
    NotHeld = -3, "NOT_HELD";
    /// The lease ran out, or was taken away, while it was held.
    Lost = -4, "LOST";
    /// The holder asked again for a lock that is not re-entrant.
    Deadlock = -5, "DEADLOCK";
    /// The server could not be reached; nothing was done there.
    Connection = -6, "CONNECTION";
    /// The request was sent and no reply came: it may or may not have been carried out.
    OutcomeUnknown = -7, "OUTCOME_UNKNOWN";
    /// The server answered with an error that has no kind of its own.
    Server = -8, "SERVER";
    /// The key holds something that is not this kind of object. The data is untouched.
    WrongType = -9, "WRONG_TYPE";
    /// The server is over its memory limit.
    OutOfMemory = -10, "OUT_OF_MEMORY";
    /// The server's access rules refuse the command, key or channel.
    NoPermission = -11, "NO_PERMISSION";
    /// The caller cancelled the operation.
    Cancelled = -12, "CANCELLED";
    /// The object was closed.
    Closed = -13, "CLOSED";
    /// The object belongs to the process that forked this one.
    Forked = -14, "FORKED";
    /// A clock is unusable for what was asked.
    Clock = -15, "CLOCK";
    /// A defect in libdlock.
    Internal = -16, "INTERNAL";
}

impl ErrorKind {
    /// The kind with this number, if there is one.
    pub fn from_code(code: i32) -> Option<ErrorKind> {
        Self::ALL.iter().copied().find(|kind| kind.code() == code)
    }
}

/// What happened, to which object, and what to do about it.
///
/// Never carries a password, a script's text or another library's error. Cheap to clone.
#[derive(Clone)]
pub struct Error(Arc<Repr>);

struct Repr {
    kind: ErrorKind,
    op: &'static str,
    name: Option<String>,
    message: String,
}

impl Error {
    /// An error of `kind` met during `op` (a short verb phrase such as `"acquire"`).
    pub fn new(kind: ErrorKind, op: &'static str, message: impl Into<String>) -> Error {
        Error(Arc::new(Repr { kind, op, name: None, message: message.into() }))
    }

    /// The same error, naming the object it happened to.
    pub fn on(self, name: &str) -> Error {
        let repr = &*self.0;
        Error(Arc::new(Repr {
            kind: repr.kind,
            op: repr.op,
            name: Some(name.to_owned()),
            message: repr.message.clone(),
        }))
    }

    /// The class of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The operation that failed, such as `"acquire"`.
    pub fn op(&self) -> &'static str {
        self.0.op
    }

    /// The name of the object, where the operation was on one.
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// What happened and what to do, without operation and name.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.op)?;
        if let Some(name) = &self.0.name {
            write!(f, " {name:?}")?;
        }
        write!(f, ": {}", self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({}, {self})", self.0.kind.as_str())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_those_of_the_vectors() {
        let text = include_str!("../../tests/vectors/errors.json");
        let vectors: serde_json::Value = serde_json::from_str(text).unwrap();
        let rows = vectors["errors"].as_array().unwrap();
        let expected: Vec<(String, i64)> = rows
            .iter()
            .map(|row| (row["name"].as_str().unwrap().to_owned(), row["code"].as_i64().unwrap()))
            .filter(|(_, code)| *code != 0)
            .collect();
        let ours: Vec<(String, i64)> =
            ErrorKind::ALL.iter().map(|kind| (kind.as_str().to_owned(), i64::from(kind.code()))).collect();
        assert_eq!(ours, expected);
        for kind in ErrorKind::ALL {
            assert_eq!(ErrorKind::from_code(kind.code()), Some(*kind));
        }
        assert_eq!(ErrorKind::from_code(0), None);
    }

    #[test]
    fn an_error_names_operation_and_object() {
        let error = Error::new(ErrorKind::Busy, "acquire", "held by somebody").on("jobs\n1");
        assert_eq!(error.to_string(), r#"acquire "jobs\n1": held by somebody"#);
        assert_eq!((error.op(), error.name(), error.kind()), ("acquire", Some("jobs\n1"), ErrorKind::Busy));
    }
}
