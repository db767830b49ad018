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
