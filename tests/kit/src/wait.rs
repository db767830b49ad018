//! Waiting for something observable, within a bound: the tests never sleep and hope.

use std::time::{Duration, Instant};

/// Looks at `holds` every few milliseconds until it is true; `false` when it did not become true within `bound`.
pub fn within(bound: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + bound;
    loop {
        if holds() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Like [`within`], but panics with `what` when it did not come true.
#[track_caller]
pub fn eventually(bound: Duration, what: &str, holds: impl FnMut() -> bool) {
    assert!(within(bound, holds), "not within {bound:?}: {what}");
}

/// Microseconds of the monotonic clock: comparable between the processes of one machine, unlike `Instant`.
pub fn monotonic_us() -> i64 {
    crate::sys::monotonic_us()
}
