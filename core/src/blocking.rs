//! Whether the calling thread may block: its caller says so, and the backend acts on it.
//!
//! A call that blocks its thread anyway saves the hop to the runtime and back if it does its round trip itself. Everything
//! between the caller and the backend is the same for both.

use std::cell::Cell;

thread_local! {
    static MAY_BLOCK: Cell<bool> = const { Cell::new(false) };
}

/// Polls a future of this crate on a thread that may block: the poll may then do its round trips on this thread, on a
/// connection of its own, if one of the option `blocking_connections` is free. An answer that takes longer than 40 ms is waited
/// for as usual. For hosts that wait in their own way; others call [`Client::block_on`](crate::Client::block_on).
///
/// Not on a thread that runs a runtime's tasks: the others would wait for the server too.
///
/// ```
/// use std::pin::pin;
/// use std::task::{Context, Poll, Waker};
///
/// let client = libdlock::Client::blocking_connect("memory://")?;
/// let lock = client.lock("reports/2026")?;
/// let mut acquire = pin!(lock.acquire());
/// let polled = libdlock::embed::may_block(|| acquire.as_mut().poll(&mut Context::from_waker(Waker::noop())));
/// assert!(matches!(polled, Poll::Ready(Ok(_))));
/// # Ok::<(), libdlock::Error>(())
/// ```
pub fn may_block<T>(poll: impl FnOnce() -> T) -> T {
    let _before = Before(set(true));
    poll()
}

/// Whether the calling thread may block now. One whose values are destroyed already may not.
pub(crate) fn is_allowed() -> bool {
    MAY_BLOCK.try_with(Cell::get).unwrap_or(false)
}

/// Restores the previous value when dropped.
struct Before(bool);

impl Drop for Before {
    fn drop(&mut self) {
        set(self.0);
    }
}

fn set(may: bool) -> bool {
    MAY_BLOCK.try_with(|cell| cell.replace(may)).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_may_block_during_the_poll_and_not_afterwards() {
        assert!(!is_allowed());
        may_block(|| {
            may_block(|| assert!(is_allowed()));
            assert!(is_allowed(), "the outer poll goes on");
        });
        assert!(!is_allowed());
        let unwound = std::panic::catch_unwind(|| may_block(|| panic!("a panic")));
        assert!(unwound.is_err() && !is_allowed());
    }
}
