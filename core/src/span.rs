//! The spans of calls that take or wait, and of the requests that they make, for `tracing`. Without a subscriber that wants them
//! each costs a few nanoseconds.
//!
//! See [`event`](crate::event#spans) for what they are called and what they tell.

use tracing::field::Empty;
use tracing::{Instrument, Span};

use crate::error::{Error, Result};

/// A caller that wants a grant of an object of this kind.
pub(crate) fn acquire(kind: &'static str, object: &str) -> Span {
    tracing::debug_span!(target: "libdlock", "acquire", kind, object, outcome = Empty, token = Empty)
}

/// A caller that wants tokens.
pub(crate) fn rate_limit(object: &str, cost: u64) -> Span {
    tracing::debug_span!(target: "libdlock", "rate_limit", object, cost, outcome = Empty, remaining = Empty)
}

/// A request to the server, with its repeats.
pub(crate) fn request(op: &'static str, object: &str) -> Span {
    tracing::trace_span!(target: "libdlock", "request", op, object, outcome = Empty)
}

/// Does the work within the span, which is told how it ended: with `told`, or with the kind of an error. A span that ends without
/// an outcome is of a call that its caller gave up.
pub(crate) async fn within<T, E>(
    span: Span,
    work: impl Future<Output = Result<T, E>>,
    told: impl FnOnce(&Span, &T),
    why: impl FnOnce(&E) -> &Error,
) -> Result<T, E> {
    let done = work.instrument(span.clone()).await;
    if !span.is_disabled() {
        match &done {
            Ok(value) => told(&span, value),
            Err(error) => {
                span.record("outcome", why(error).kind().as_str());
            }
        }
    }
    done
}
