//! What the limiters of one name share in one client: whose turn it is to wait, and what is known of the server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::step::{Judged, Verdict};
use super::terms::Terms;
use crate::time::ServerTime;

#[derive(Default)]
pub(in crate::limit) struct Shared {
    /// Belongs to the caller that waits for permits; the others wait for it, in the order in which they came.
    pub(super) turn: tokio::sync::Mutex<()>,
    /// By which terms the available permits were right, and when.
    settled: Mutex<Option<(ServerTime, Terms)>>,
    warned: AtomicBool,
}

impl Shared {
    pub(super) fn settled(&self) -> Option<Terms> {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner).map(|(_, terms)| terms)
    }

    /// Notes what an acquire of some permits has found. Answers may overtake each other.
    pub(super) fn note(&self, judged: &Judged) {
        if judged.verdict == Verdict::TooMany {
            return;
        }
        let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        if settled.is_none_or(|(then, _)| then <= judged.now) {
            *settled = Some((judged.now, judged.terms));
        }
    }

    /// Whether it is the first time that the rate on the server is another than the given one.
    pub(super) fn is_surprised(&self, given: Terms, found: Terms) -> bool {
        given != found && !self.warned.load(Ordering::Relaxed) && !self.warned.swap(true, Ordering::Relaxed)
    }
}
