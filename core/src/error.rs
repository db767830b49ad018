//! The one error of the library: a kind with a frozen number, and a message for the person who reads it at 3 a.m.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::text;

/// Shorthand used by every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $text:literal, $family:expr, $retryable:literal;)*) => {
        /// What went wrong, as a class that a program can decide on.
        ///
        /// The numbers are frozen: they are the status codes of the C ABI and stand in `api/errors.json`, which
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

            /// The family to which the kind belongs, if it belongs to one.
            pub const fn family(self) -> Option<ErrorFamily> {
                match self {
                    $(ErrorKind::$variant => $family,)*
                }
            }

            /// What [`Error::is_retryable`] says of an error of this kind unless it was made to say something else.
            const fn mostly_retryable(self) -> bool {
                match self {
                    $(ErrorKind::$variant => $retryable,)*
                }
            }
        }
    };
}

kinds! {
    // <api:kinds> written by `python3 api/write.py` from api/errors.json
    /// Not acquired within the wait: another holder has it, or others come first.
    Busy = 1, "BUSY", None, true;
    /// A rate limiter refused for now.
    Limited = 2, "LIMITED", None, true;
    /// A value was refused before any I/O; the message says which, and what is allowed.
    InvalidArgument = -1, "INVALID_ARGUMENT", Some(ErrorFamily::Usage), false;
    /// A name was refused before any I/O: empty, longer than 512 bytes, not UTF-8, with a NUL, with braces that are
    /// no cluster's hash tag, or the name of a companion key such as `dlock_seen:{a}`.
    InvalidName = -2, "INVALID_NAME", Some(ErrorFamily::Usage), false;
    /// Release or extend by a caller that does not hold it, or not any more.
    NotHeld = -3, "NOT_HELD", Some(ErrorFamily::HoldEnded), false;
    /// What was held was lost: its lease ran out, or it was taken away.
    Lost = -4, "LOST", Some(ErrorFamily::HoldEnded), false;
    /// The holder would wait for itself: it acquires again what is not re-entrant, or it reads and wants to write.
    Deadlock = -5, "DEADLOCK", Some(ErrorFamily::Usage), false;
    /// The server cannot be reached or did not answer in time, or refuses the connection or the password; what was
    /// asked for was not done there, or is undone.
    Connection = -6, "CONNECTION", Some(ErrorFamily::Unavailable), true;
    /// The request was sent and no reply came: it may or may not have been carried out.
    OutcomeUnknown = -7, "OUTCOME_UNKNOWN", Some(ErrorFamily::Unavailable), true;
    /// The server answered with an error that has no kind of its own.
    Server = -8, "SERVER", Some(ErrorFamily::Unavailable), true;
    /// The key holds something else; it was left untouched.
    WrongType = -9, "WRONG_TYPE", Some(ErrorFamily::Usage), false;
    /// The server is at its memory limit and refused to write.
    OutOfMemory = -10, "OUT_OF_MEMORY", Some(ErrorFamily::Unavailable), true;
    /// The server's access list forbids the command, key or channel; the message names the missing rule.
    NoPermission = -11, "NO_PERMISSION", Some(ErrorFamily::Unavailable), false;
    /// The caller cancelled the operation.
    Cancelled = -12, "CANCELLED", None, false;
    /// The client was closed, before the call or during it.
    Closed = -13, "CLOSED", None, false;
    /// An object from before a fork was used in the child; connect again there.
    Forked = -14, "FORKED", Some(ErrorFamily::Usage), false;
    /// A clock is behind or jumps by more than the call waits for, or is past the end of a layout's time.
    Clock = -15, "CLOCK", None, false;
    /// A defect in libdlock; please report it.
    Internal = -16, "INTERNAL", None, false;
    /// This server, or this version of libdlock, cannot do it; the message says what can.
    Unsupported = -17, "UNSUPPORTED", Some(ErrorFamily::Usage), false;
    /// The queue holds as many jobs as it may; nothing was put.
    Full = -18, "FULL", Some(ErrorFamily::Unavailable), true;
    // </api:kinds>
}

impl ErrorKind {
    /// The kind with this number, if there is one.
    pub fn from_code(code: i32) -> Option<ErrorKind> {
        Self::ALL.iter().copied().find(|kind| kind.code() == code)
    }
}

/// Kinds that a program handles alike. A kind that belongs to no family is an outcome of its own, such as
/// [`ErrorKind::Busy`] or [`ErrorKind::Closed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorFamily {
    // <api:families> written by `python3 api/write.py` from api/errors.json
    /// The program asks for something that cannot be; it has to be changed.
    Usage,
    /// The server, or the way to it, does not do what was asked.
    Unavailable,
    /// The caller does not hold what it acts on, or not any more.
    HoldEnded,
    // </api:families>
}

/// What happened, to which object, and what to do about it.
///
/// Beside the text, an error carries the facts that a program can act on: [`holder`](Error::holder),
/// [`remaining`](Error::remaining), [`retry_after`](Error::retry_after), [`allowed`](Error::allowed) and
/// [`is_retryable`](Error::is_retryable).
///
/// ```
/// use std::time::Duration;
///
/// use libdlock::error::ErrorFamily;
/// use libdlock::lease::Lease;
/// use libdlock::lock::LockOptions;
/// use libdlock::{Client, ErrorKind};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> libdlock::Result<()> {
/// let client = Client::connect("memory://").await?;
/// let held = client.lock("orders")?.acquire().await?;
///
/// let busy = client.lock("orders")?.acquire_timeout(Duration::ZERO).await.unwrap_err();
/// assert_eq!((busy.kind(), busy.holder()), (ErrorKind::Busy, Some(held.owner())));
/// assert!(busy.is_retryable() && busy.remaining() <= Some(Duration::from_secs(30)));
///
/// let short = LockOptions::default().lease(Lease::Fixed(Duration::from_millis(5)));
/// let refused = client.lock_with("invoices", short).unwrap_err();
/// assert_eq!(refused.allowed(), Some("100 ms to 24 h"));
/// assert_eq!(refused.kind().family(), Some(ErrorFamily::Usage));
/// # Ok(())
/// # }
/// ```
///
/// Never carries a password, a script's text or another library's error. The message is one line: control characters of foreign
/// text (owners, a server's errors) and those that change the direction of text are escaped, and what is long is cut. Cheap to
/// clone.
#[derive(Clone)]
pub struct Error(Arc<Repr>);

#[derive(Clone)]
struct Repr {
    kind: ErrorKind,
    op: &'static str,
    name: Option<String>,
    message: String,
    facts: Facts,
}

/// What a program can read from an error. Inline, because only callers that fail pay for it.
#[derive(Clone, Default)]
struct Facts {
    holder: Option<String>,
    remaining: Option<Duration>,
    retry_after: Option<Duration>,
    allowed: Option<String>,
    retryable: bool,
}

impl Error {
    /// An error of `kind` met during `op` (a short verb phrase such as `"acquire"`). Whether a retry can help is what the kind
    /// says, unless [`permanent`](Error::permanent), [`temporary`](Error::temporary) or [`retry_in`](Error::retry_in) follows.
    pub fn new(kind: ErrorKind, op: &'static str, message: impl Into<String>) -> Error {
        let facts = Facts { retryable: kind.mostly_retryable(), ..Facts::default() };
        Error(Arc::new(Repr { kind, op, name: None, message: text::message(message), facts }))
    }

    /// An error about a value that is not allowed: `what` was wrong, as a clause, and what is `allowed`. Writes the message
    /// `WHAT; allowed: ALLOWED`.
    pub fn refused(kind: ErrorKind, op: &'static str, what: impl fmt::Display, allowed: impl Into<String>) -> Error {
        let allowed = allowed.into();
        let message = format!("{what}; allowed: {allowed}");
        Error::new(kind, op, message).with(|facts| facts.allowed = Some(allowed))
    }

    /// The same error, naming the owner in the way and how much of its lease is left, if the lease ends.
    pub fn held_by(self, holder: impl Into<String>, remaining: Option<Duration>) -> Error {
        self.with(|facts| (facts.holder, facts.remaining) = (Some(holder.into()), remaining))
    }

    /// The same error, saying after how long asking again can succeed; `None` is never.
    pub fn retry_in(self, retry_after: Option<Duration>) -> Error {
        self.with(|facts| (facts.retry_after, facts.retryable) = (retry_after, retry_after.is_some()))
    }

    /// The same error, saying that no retry can help.
    pub fn permanent(self) -> Error {
        self.retry_in(None)
    }

    /// The same error, saying that a retry can help, after nobody knows how long.
    pub fn temporary(self) -> Error {
        self.with(|facts| facts.retryable = true)
    }

    /// The same error with its object and facts, of the operation `op` and in other words.
    pub(crate) fn retold(&self, op: &'static str, message: impl Into<String>) -> Error {
        Error(Arc::new(Repr { op, message: text::message(message), ..(*self.0).clone() }))
    }

    /// The same error, of the operation `op`.
    pub(crate) fn renamed(&self, op: &'static str) -> Error {
        Error(Arc::new(Repr { op, ..(*self.0).clone() }))
    }

    fn with(mut self, set: impl FnOnce(&mut Facts)) -> Error {
        set(&mut Arc::make_mut(&mut self.0).facts);
        self
    }

    /// The same error, naming the object it happened to.
    pub fn on(mut self, name: &str) -> Error {
        Arc::make_mut(&mut self.0).name = Some(name.to_owned());
        self
    }

    /// The class of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The operation that failed, such as `"acquire"`.
    pub fn op(&self) -> &'static str {
        self.0.op
    }

    /// The name of the object, where the operation was on one, as it is: not escaped.
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// What happened and what to do, without operation and name.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The owner in the way, as it stands on the server and as it is: not escaped. Of an error
    /// [`Busy`](ErrorKind::Busy), where the server named one.
    pub fn holder(&self) -> Option<&str> {
        self.0.facts.holder.as_deref()
    }

    /// How much of the [`holder`](Self::holder)'s lease was left when it was seen; the holder may renew it. `None` without
    /// a holder, and for a lease that does not end.
    pub fn remaining(&self) -> Option<Duration> {
        self.0.facts.remaining
    }

    /// After how long asking again can succeed, at the soonest. Of an error [`Clock`](ErrorKind::Clock) about a clock that is
    /// behind, until it has caught up by itself, and of [`Limited`](ErrorKind::Limited). A limiter's refusal is no error in
    /// Rust: see [`Decision::retry_after`](crate::Decision::retry_after).
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.facts.retry_after
    }

    /// What is allowed in place of the value that was refused, such as `100 ms to 24 h`.
    pub fn allowed(&self) -> Option<&str> {
        self.0.facts.allowed.as_deref()
    }

    /// Whether the same call, made again later, can succeed although the program changes nothing. It does not follow from the
    /// kind: an address where nobody listens is a [`Connection`](ErrorKind::Connection) error that passes, a wrong password is
    /// one that does not. After [`OutcomeUnknown`](ErrorKind::OutcomeUnknown) a retry may find that the first call was carried
    /// out.
    pub fn is_retryable(&self) -> bool {
        self.0.facts.retryable
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
        let text = include_str!("../../api/errors.json");
        let vectors: serde_json::Value = serde_json::from_str(text).unwrap();
        let rows = vectors["errors"].as_array().unwrap();
        let expected: Vec<(String, i64)> = rows
            .iter()
            .map(|row| (row["name"].as_str().unwrap().to_owned(), row["code"].as_i64().unwrap()))
            .filter(|(_, code)| *code != 0)
            .collect();
        let retryable: Vec<bool> = rows.iter().skip(1).map(|row| row["retryable"] == true).collect();
        assert_eq!(ErrorKind::ALL.iter().map(|kind| kind.mostly_retryable()).collect::<Vec<_>>(), retryable);
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

    #[test]
    fn facts_stay_with_the_error_and_its_clones() {
        let plain = Error::new(ErrorKind::Busy, "acquire", "held");
        let busy = plain.clone().held_by("a:1", Some(Duration::from_secs(2))).on("jobs");
        for error in [busy.clone(), busy] {
            assert_eq!((error.holder(), error.remaining()), (Some("a:1"), Some(Duration::from_secs(2))));
            assert_eq!((error.retry_after(), error.allowed(), error.name()), (None, None, Some("jobs")));
        }
        assert_eq!((plain.holder(), plain.name()), (None, None), "a clone has facts of its own");
    }

    #[test]
    fn whether_a_retry_can_help_is_a_fact_of_the_one_error() {
        let away = Error::new(ErrorKind::Connection, "connect", "nobody listens");
        assert!(away.is_retryable() && !away.clone().permanent().is_retryable());
        assert!(away.is_retryable(), "a clone has facts of its own");
        let clock = Error::new(ErrorKind::Clock, "next id", "behind");
        assert!(!clock.is_retryable() && clock.clone().temporary().is_retryable());
        let soon = clock.retry_in(Some(Duration::from_secs(2)));
        assert_eq!((soon.retry_after(), soon.is_retryable()), (Some(Duration::from_secs(2)), true));
        let never = soon.clone().retry_in(None);
        assert_eq!((never.retry_after(), never.is_retryable()), (None, false));
        assert_eq!(soon.permanent().retry_after(), None, "no retry helps, after no time");
    }

    #[test]
    fn an_error_that_is_told_anew_keeps_its_facts_and_its_object() {
        let busy = Error::new(ErrorKind::Busy, "acquire", "held").held_by("a:1", None).on("jobs").permanent();
        let anew = busy.retold("attach", "held; waited");
        assert_eq!(anew.to_string(), r#"attach "jobs": held; waited"#);
        assert_eq!((anew.kind(), anew.holder(), anew.is_retryable()), (ErrorKind::Busy, Some("a:1"), false));
        assert_eq!(busy.message(), "held");
    }

    #[test]
    fn a_refusal_says_once_what_is_allowed() {
        let refused = Error::refused(ErrorKind::InvalidArgument, "lock", "lease 5ms is out of range", "100 ms to 24 h");
        assert_eq!(refused.to_string(), "lock: lease 5ms is out of range; allowed: 100 ms to 24 h");
        assert_eq!(refused.allowed(), Some("100 ms to 24 h"));
        assert!(!refused.is_retryable());
    }
}
