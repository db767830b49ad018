//! The ids that a process has of one generator, and the callers that wait for more.

use std::collections::VecDeque;

use tokio::sync::oneshot;

use super::step::Fetched;
use crate::error::{Error, Result};
use crate::time::Tick;

/// A block is fetched when this part of one is left.
const LEFT: u64 = 5;

/// Ids one after another.
struct Ids {
    next: i64,
    left: u64,
}

/// A caller for which there were not enough.
struct Waiter {
    count: usize,
    answer: oneshot::Sender<Result<Vec<i64>>>,
}

/// See the module. Under one mutex.
#[derive(Default)]
pub(super) struct Stock {
    /// In the order in which they were fetched; none is empty.
    ids: VecDeque<Ids>,
    left: u64,
    /// How many ids a block has, by the last fetch.
    block: Option<u64>,
    /// In the order of their arrival.
    waiters: VecDeque<Waiter>,
    fetching: bool,
    /// A fetch ahead failed: until then only callers that wait have the server asked.
    quiet_until: Tick,
}

impl Stock {
    /// Fills `ids`, unless there are too few or others wait; whether it did.
    pub(super) fn take(&mut self, ids: &mut [i64]) -> bool {
        let enough = self.waiters.is_empty() && self.left >= ids.len() as u64;
        if enough {
            self.fill(ids);
        }
        enough
    }

    fn fill(&mut self, ids: &mut [i64]) {
        for id in ids.iter_mut() {
            let Some(first) = self.ids.front_mut() else { return };
            *id = first.next;
            first.left -= 1;
            // What follows the last id there is may not be a number.
            first.next = first.next.wrapping_add(1);
            if first.left == 0 {
                self.ids.pop_front();
            }
        }
        self.left -= ids.len() as u64;
    }

    /// A caller waits for so many from now on.
    pub(super) fn wait(&mut self, count: usize) -> oneshot::Receiver<Result<Vec<i64>>> {
        let (answer, receiver) = oneshot::channel();
        self.waiters.push_back(Waiter { count, answer });
        receiver
    }

    /// Whether it is time for a fetch that nobody waits for, by the clock that `now` reads.
    pub(super) fn is_low(&self, now: impl FnOnce() -> Tick) -> bool {
        let few = |block: u64| self.left <= block / LEFT;
        !self.fetching && self.block.is_some_and(few) && now() >= self.quiet_until
    }

    /// True for whoever has to fetch from now on, until [`Stock::stop`].
    pub(super) fn begin(&mut self) -> bool {
        !std::mem::replace(&mut self.fetching, true)
    }

    pub(super) fn stop(&mut self) {
        self.fetching = false;
    }

    /// How many ids the callers wait for that are still there: beyond what is left.
    pub(super) fn wanted(&mut self) -> u64 {
        self.waiters.retain(|waiter| !waiter.answer.is_closed());
        let all: u64 = self.waiters.iter().map(|waiter| waiter.count as u64).sum();
        all.saturating_sub(self.left)
    }

    /// What a fetch brought. Serves those that wait; whether some still do.
    pub(super) fn add(&mut self, fetched: &Fetched) -> bool {
        self.ids.push_back(Ids { next: fetched.first, left: fetched.count });
        self.left = self.left.saturating_add(fetched.count);
        self.block = Some(fetched.block);
        self.serve()
    }

    /// Serves those that wait, in their order; whether some still do.
    pub(super) fn serve(&mut self) -> bool {
        while let Some(waiter) = self.waiters.pop_front() {
            if waiter.answer.is_closed() {
                continue;
            }
            if self.left < waiter.count as u64 {
                self.waiters.push_front(waiter);
                return true;
            }
            let mut ids = vec![0; waiter.count];
            self.fill(&mut ids);
            // If it goes away right now its ids are a gap.
            let _ = waiter.answer.send(Ok(ids));
        }
        false
    }

    /// A fetch failed: all that wait are told why, and nothing is fetched ahead for a while.
    pub(super) fn fail(&mut self, error: &Error, quiet_until: Tick) {
        self.quiet_until = quiet_until;
        self.refuse(error);
    }

    pub(super) fn refuse(&mut self, error: &Error) {
        for waiter in self.waiters.drain(..) {
            let _ = waiter.answer.send(Err(error.clone()));
        }
    }

    /// Nobody fetches for those that wait: they are let down.
    pub(super) fn abandon(&mut self) {
        self.fetching = false;
        self.waiters.clear();
    }

    pub(super) fn block(&self) -> Option<u64> {
        self.block
    }
}
