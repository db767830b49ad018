//! The panic guard: no panic of ours unwinds into a host language.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use libdlock::{Error, ErrorKind, Result};

/// Runs the body of the exported function `export`; a panic becomes an `Internal` error that says where to look.
///
/// Every exported function of every binding has its whole body in here. With the feature `fault-injection` the guard
/// panics by itself when the environment variable `DLOCK_PANIC` names the export, so that a test can prove for each that
/// it has one.
pub fn guard<T>(export: &'static str, body: impl FnOnce() -> Result<T>) -> Result<T> {
    // Unwind safe: what a body shares is behind atomics and mutexes that survive a panic (see `sync.rs`).
    catch_unwind(AssertUnwindSafe(|| {
        panic_if_told(export);
        body()
    }))
    .unwrap_or_else(|panic| Err(internal(export, &*panic)))
}

/// The error for a panic caught in `op`.
pub(crate) fn internal(op: &'static str, panic: &(dyn Any + Send)) -> Error {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    Error::new(ErrorKind::Internal, op, format!("libdlock panicked ({text}); this is a defect, please report it"))
}

#[cfg(feature = "fault-injection")]
fn panic_if_told(export: &str) {
    if std::env::var_os("DLOCK_PANIC").is_some_and(|told| told == *export) {
        panic!("told to by DLOCK_PANIC={export}");
    }
}

#[cfg(not(feature = "fault-injection"))]
fn panic_if_told(_: &str) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_internal_error_with_export_and_cause() {
        let error = guard::<()>("dlock_test", || panic!("a cause {}", 7)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert_eq!(error.op(), "dlock_test");
        assert!(error.message().contains("a cause 7"), "{error}");
    }

    #[test]
    fn what_the_body_returns_passes_through() {
        assert_eq!(guard("dlock_test", || Ok(5)).unwrap(), 5);
        let busy = guard::<()>("dlock_test", || Err(Error::new(ErrorKind::Busy, "acquire", "held")));
        assert_eq!(busy.unwrap_err().kind(), ErrorKind::Busy);
    }
}
