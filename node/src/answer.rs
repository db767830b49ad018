//! How every call crosses: through the bridge's panic guard, back with a value or with a [`Failure`].

use libdlock::{Error, Result};
use libdlock_bridge::{Handle, State, enter, guard};
use napi::bindgen_prelude::Either;
use napi_derive::napi;

/// An error of the core, as plain values. JavaScript makes a `DlockError` of it.
#[napi(object, object_from_js = false)]
pub struct Failure {
    pub errno: i32,
    pub kind: String,
    pub op: String,
    pub object: Option<String>,
    pub message: String,
    pub holder: Option<String>,
    pub remaining_ms: Option<f64>,
    pub retry_after_ms: Option<f64>,
    pub allowed: Option<String>,
    pub retryable: bool,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Failure {
            errno: error.kind().code(),
            kind: error.kind().as_str().to_owned(),
            op: error.op().to_owned(),
            object: error.name().map(str::to_owned),
            message: error.to_string(),
            holder: error.holder().map(str::to_owned),
            remaining_ms: error.remaining().map(|left| left.as_millis() as f64),
            retry_after_ms: error.retry_after().map(|after| after.as_micros() as f64 / 1_000.0),
            allowed: error.allowed().map(str::to_owned),
            retryable: error.is_retryable(),
        }
    }
}

/// What an export returns.
pub type Answer<T> = Either<T, Failure>;

/// Runs the body of the exported function `export`.
pub(crate) fn answer<T>(export: &'static str, body: impl FnOnce(&'static State) -> Result<T>) -> Answer<T> {
    match guard(export, || body(enter()?)) {
        Ok(value) => Either::A(value),
        Err(error) => Either::B(Failure::from(&error)),
    }
}

/// A handle, as JavaScript has it: the double with the same bits, because a number crosses at a tenth of what a bigint takes.
/// Its kind stands in the highest bits, so it is finite: arithmetic or an engine's own way with NaN cannot change it.
pub(crate) type Given = f64;

/// The handle that JavaScript gave. What is no handle at all the bridge refuses.
pub(crate) fn handle(given: Given) -> Handle {
    given.to_bits()
}

/// A handle for JavaScript.
pub(crate) fn give(handle: Handle) -> Given {
    f64::from_bits(handle)
}
