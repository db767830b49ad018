//! Numbers the moves of all servers of a client in one row, so that the last move of an object can be told whichever server has
//! it.

use std::sync::Arc;

use tokio::sync::watch;

/// Clones share the row.
#[derive(Clone)]
pub(super) struct Moves(Arc<watch::Sender<u64>>);

impl Default for Moves {
    fn default() -> Moves {
        Moves(Arc::new(watch::Sender::new(0)))
    }
}

impl Moves {
    /// A move, of which `note` takes note by its number. Whoever then hears of it finds it noted.
    pub(super) fn moved(&self, note: impl FnOnce(u64)) {
        self.0.send_modify(|last| {
            *last += 1;
            note(*last);
        });
    }

    /// The last one.
    pub(super) fn last(&self) -> u64 {
        *self.0.borrow()
    }

    /// Completes when the last one is later than `seen`, with its number. Cancel safe.
    pub(super) async fn since(&self, seen: u64) -> u64 {
        let mut moves = self.0.subscribe();
        // The sender lives in `self`, so the only way out is a move.
        let _ = moves.wait_for(|last| *last > seen).await;
        self.last()
    }
}
