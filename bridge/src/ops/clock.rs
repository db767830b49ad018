//! Clocks that a test moves, for clients on `memory://`.

use std::sync::Arc;

use libdlock::{ManualClock, Result};
use tokio::sync::oneshot;

use super::args;
use crate::ends::HandleEnd;
use crate::handle::Handle;
use crate::objects::ClockEntry;
use crate::state::State;

/// How often everything else of the runtime has a turn before an advance is over. Whatever a client does by itself at some
/// time, such as a renewal, needs a handful on `memory://`, where no step waits for anybody.
const TURNS: usize = 32;

impl HandleEnd for ClockEntry {}

/// A clock that stands still until [`clock_advance`]. Clients that were opened with it keep it.
pub fn clock_new(state: &State) -> Result<Handle> {
    state.insert(Arc::new(ClockEntry { clock: ManualClock::new() }))
}

/// Moves the time forward by `by_ms`, and gives what waited for it time to happen.
///
/// # Errors
/// `InvalidArgument`, `Closed`.
pub async fn clock_advance(state: &'static State, clock: Handle, by_ms: i64) -> Result<()> {
    let op = "advance";
    let by = args::millis(by_ms, "time", "0 or more", op)?;
    state.get::<ClockEntry>(clock, op)?.clock.advance(by);
    let (done, settled) = oneshot::channel();
    state.spawn(async move {
        for _ in 0..TURNS {
            tokio::task::yield_now().await;
        }
        let _ = done.send(());
    });
    // Without a runtime there is no client, and nothing to wait for.
    let _ = settled.await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use libdlock::ErrorKind;

    use super::*;
    use crate::{HandleKind, enter, ops};

    fn advance(state: &'static State, clock: Handle, by_ms: i64) -> Result<()> {
        state.wait(clock_advance(state, clock, by_ms), None)
    }

    #[test]
    fn what_is_due_has_happened_when_an_advance_is_over() {
        let state = enter().unwrap();
        let clock = clock_new(state).unwrap();
        let opening = ops::client_open_at(state, "memory://".to_owned(), Vec::new(), None, clock);
        let client = state.wait(opening, None).unwrap();
        let lock = ops::lock_open(state, client, b"k", None, None, None).unwrap();
        let held = state.wait(ops::lock_acquire(state, lock, ops::Holding::ByHandle, Some(0), None), None).unwrap();
        for _ in 0..10 {
            advance(state, clock, 10_000).unwrap();
            assert!(ops::held_remaining(state, held.handle).unwrap() > Duration::from_secs(20));
        }
        advance(state, clock, 60_000).unwrap();
        assert_eq!(ops::held_remaining(state, held.handle).unwrap(), Duration::ZERO);
        state.free(HandleKind::Client, client).unwrap();
    }

    #[test]
    fn an_advance_needs_a_clock_and_no_negative_time() {
        let state = enter().unwrap();
        let clock = clock_new(state).unwrap();
        assert_eq!(advance(state, clock, -1).unwrap_err().kind(), ErrorKind::InvalidArgument);
        state.free(HandleKind::Clock, clock).unwrap();
        assert_eq!(advance(state, clock, 1).unwrap_err().kind(), ErrorKind::Closed);
        let opening = ops::client_open_at(state, "memory://".to_owned(), Vec::new(), None, clock);
        assert_eq!(state.wait(opening, None).unwrap_err().kind(), ErrorKind::Closed);
    }
}
