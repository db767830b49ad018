//! What the latches of one client share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::contended::next_poll;
use crate::context::Context;

/// A client that waits for very many latches looks at so many a second.
const LOOKS_PER_SECOND: u64 = 2_000;

/// Ends with the last clone of the client and the last of its latches.
pub(crate) struct Latches {
    context: Arc<Context>,
    /// How many names are watched.
    watched: AtomicU64,
}

impl Latches {
    pub(crate) fn new(context: &Arc<Context>) -> Arc<Latches> {
        Arc::new(Latches { context: context.clone(), watched: AtomicU64::new(0) })
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// A name is watched from now on.
    pub(super) fn add_watched(&self) {
        self.watched.fetch_add(1, Ordering::Relaxed);
    }

    /// A name is watched no longer.
    pub(super) fn remove_watched(&self) {
        self.watched.fetch_sub(1, Ordering::Relaxed);
    }

    /// How long a name is left until it is looked at without a message.
    pub(super) fn pause(&self) -> Duration {
        let crowded = Duration::from_millis(self.watched() * 1_000 / LOOKS_PER_SECOND);
        next_poll(-1, self.context.options.poll_interval).max(crowded)
    }

    pub(super) fn watched(&self) -> u64 {
        self.watched.load(Ordering::Relaxed)
    }
}
