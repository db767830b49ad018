//! Plain numbers of a C-like interface turned into what core takes. Ranges are core's to check.

use std::time::Duration;

use libdlock::{Error, ErrorKind, Lease, Result, Wait};

/// -1 waits for ever, 0 does not wait.
pub(crate) fn wait(wait_ms: i64, op: &'static str) -> Result<Wait> {
    match wait_ms {
        -1 => Ok(Wait::Forever),
        0 => Ok(Wait::Try),
        _ => Ok(Wait::For(millis(wait_ms, "wait", "-1 (for ever), 0 (do not wait) or more", op)?)),
    }
}

/// 0 means what the lock was opened with.
pub(crate) fn lease(lease_ms: i64, op: &'static str) -> Result<Option<Lease>> {
    match lease_ms {
        0 => Ok(None),
        _ => Ok(Some(Lease::Fixed(millis(lease_ms, "lease", "0 (the lock's own) or 100 to 86400000", op)?))),
    }
}

pub(crate) fn millis(given: i64, what: &str, allowed: &str, op: &'static str) -> Result<Duration> {
    u64::try_from(given).map(Duration::from_millis).map_err(|_| {
        let message = format!("a {what} of {given} ms was given; allowed is {allowed}");
        Error::new(ErrorKind::InvalidArgument, op, message)
    })
}

/// A number that cannot be negative.
pub(crate) fn count(given: i64, what: &str, allowed: &str, op: &'static str) -> Result<u64> {
    u64::try_from(given).map_err(|_| {
        Error::new(ErrorKind::InvalidArgument, op, format!("a {what} of {given} was given; allowed is {allowed}"))
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
    fn minus_one_waits_for_ever_and_nothing_else_below_zero_does() {
        assert!(matches!(wait(-1, "acquire"), Ok(Wait::Forever)));
        assert!(matches!(wait(0, "acquire"), Ok(Wait::Try)));
        assert!(matches!(wait(20, "acquire"), Ok(Wait::For(wait)) if wait == Duration::from_millis(20)));
        for given in [-2, i64::MIN] {
            let error = wait(given, "acquire").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().contains(&given.to_string()), "{error}");
        }
    }

    #[test]
    fn a_lease_of_zero_is_the_locks_own_and_a_negative_one_is_refused() {
        assert!(matches!(lease(0, "acquire"), Ok(None)));
        assert!(matches!(lease(100, "acquire"), Ok(Some(Lease::Fixed(lease))) if lease == Duration::from_millis(100)));
        assert_eq!(lease(-1, "acquire").unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    #[test]
    fn bad_utf8_is_named_by_its_place() {
        let error = text(b"ab\xff", "detached hold", "attach").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains("byte 2 of 3"), "{error}");
    }
}
