//! Plain numbers of a C-like interface turned into what core takes. Ranges are core's to check.

use std::fmt;
use std::time::Duration;

use libdlock::lease::Lease;
use libdlock::lock::LockOptions;
use libdlock::{Client, Error, ErrorKind, Result, Wait, embed};

/// A number for whose absence its interface has a number of its own, as C and JNI must: none when it is that.
#[must_use]
pub fn given(number: i64, absent: i64) -> Option<i64> {
    (number != absent).then_some(number)
}

/// None waits for ever, 0 does not wait.
pub(crate) fn wait(wait_ms: Option<i64>, op: &'static str) -> Result<Wait> {
    match wait_ms {
        None => Ok(Wait::Forever),
        Some(wait_ms) => Ok(Wait::For(millis(wait_ms, "wait", "0 or more, or none for one without bound", op)?)),
    }
}

/// Refuses a wait that no acquire would take, for hosts whose objects have one of their own; `op` opens such an object.
/// `wait_ms` is as in [`lock_acquire`](super::lock_acquire).
///
/// # Errors
/// `InvalidArgument`.
pub fn check_wait(wait_ms: Option<i64>, op: &'static str) -> Result<()> {
    wait(wait_ms, op).map(drop)
}

/// None means what the lock was opened with.
pub(crate) fn lease(lease_ms: Option<i64>, op: &'static str) -> Result<Option<Lease>> {
    lease_ms.map(|lease_ms| given_lease(lease_ms, op).map(Lease::Fixed)).transpose()
}

/// How a lock is opened; see [`lock_open`](super::lock_open).
pub(crate) fn lock_options(
    lease_ms: Option<i64>,
    watchdog_lease_ms: Option<i64>,
    reentrant: Option<bool>,
    op: &'static str,
) -> Result<LockOptions> {
    let mut options = LockOptions::default();
    if let Some(lease) = lease(lease_ms, op)? {
        options.lease = lease;
    }
    options.watchdog_lease = watchdog_lease(watchdog_lease_ms, op)?;
    options.reentrant = reentrant;
    Ok(options)
}

/// Names that a host gives as bytes, each of which has to be UTF-8.
pub(crate) fn names<N: AsRef<[u8]>>(names: &[N]) -> Result<Vec<&str>> {
    names.iter().map(|name| embed::name_from_utf8(name.as_ref())).collect()
}

/// None means the client's.
pub(crate) fn watchdog_lease(lease_ms: Option<i64>, op: &'static str) -> Result<Option<Duration>> {
    let checked = |lease_ms| {
        millis(lease_ms, "watchdog lease", format_args!("{}, or none for the client's lease", embed::lease_range()), op)
    };
    lease_ms.map(checked).transpose()
}

pub(crate) fn given_lease(lease_ms: i64, op: &'static str) -> Result<Duration> {
    millis(lease_ms, "lease", format_args!("{}, or none for one that is renewed", embed::lease_range()), op)
}

pub(crate) fn millis(given: i64, what: &str, allowed: impl fmt::Display, op: &'static str) -> Result<Duration> {
    u64::try_from(given).map(Duration::from_millis).map_err(|_| {
        Error::refused(
            ErrorKind::InvalidArgument,
            op,
            format_args!("{what} {given} ms is out of range"),
            allowed.to_string(),
        )
    })
}

/// The error, of the object that was to be opened by this name, as core says it: by its key, if the name is one.
pub(crate) fn on(error: Error, client: &Client, name: &str) -> Error {
    match client.key_of(name) {
        Ok(key) => error.on(&key),
        Err(_) => error,
    }
}

pub(crate) fn micros(given: i64, what: &str, allowed: &str, op: &'static str) -> Result<Duration> {
    u64::try_from(given).map(Duration::from_micros).map_err(|_| {
        Error::refused(ErrorKind::InvalidArgument, op, format_args!("{what} {given} us is out of range"), allowed)
    })
}

/// A number that cannot be negative.
pub(crate) fn count(given: i64, what: &str, allowed: &str, op: &'static str) -> Result<u64> {
    u64::try_from(given).map_err(|_| {
        Error::refused(ErrorKind::InvalidArgument, op, format_args!("{what} {given} is out of range"), allowed)
    })
}

/// Bytes of a host that have to be UTF-8.
pub(crate) fn text<'a>(bytes: &'a [u8], what: &str, op: &'static str) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let message = format!("the {what} is no UTF-8: byte {} of {}", error.valid_up_to(), bytes.len());
        Error::new(ErrorKind::InvalidArgument, op, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_waits_for_ever_and_nothing_below_zero_does() {
        assert!(matches!(wait(None, "acquire"), Ok(Wait::Forever)));
        assert!(matches!(wait(Some(0), "acquire"), Ok(Wait::For(Duration::ZERO))));
        assert!(matches!(wait(Some(20), "acquire"), Ok(Wait::For(wait)) if wait == Duration::from_millis(20)));
        for given in [-1, -2, i64::MIN] {
            let error = wait(Some(given), "acquire").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().contains(&given.to_string()), "{error}");
        }
    }

    #[test]
    fn no_lease_is_the_locks_own_and_a_negative_one_is_refused() {
        assert!(matches!(lease(None, "acquire"), Ok(None)));
        assert!(
            matches!(lease(Some(100), "acquire"), Ok(Some(Lease::Fixed(lease))) if lease == Duration::from_millis(100))
        );
        assert_eq!(lease(Some(-1), "acquire").unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    #[test]
    fn bad_utf8_is_named_by_its_place() {
        let error = text(b"ab\xff", "detached hold", "attach").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("byte 2 of 3"), "{error}");
    }
}
