//! The queue of a completion port: many producers, any number of drainers, one wake-up for a whole batch.
//!
//! The invariant, kept under one mutex: **the wake is rung exactly while the queue holds something**. So a host that polls
//! the descriptor misses nothing, whether it drains everything it finds or only a part, and a thousand completions that
//! come before it wakes cost one byte.

use std::collections::VecDeque;

use super::wake::Wake;
use crate::sync::{Mutex, lock};

pub(crate) struct Queue<T> {
    inner: Mutex<Inner<T>>,
    wake: Wake,
}

struct Inner<T> {
    items: VecDeque<T>,
    /// A closed queue takes nothing in; what it held went to whoever closed it.
    closed: bool,
}

impl<T> Queue<T> {
    pub(crate) fn new(wake: Wake) -> Self {
        let inner = Inner { items: VecDeque::new(), closed: false };
        Self { inner: Mutex::new(inner), wake }
    }

    pub(crate) fn wake(&self) -> &Wake {
        &self.wake
    }

    /// Adds `item`; gives it back when the queue is closed.
    pub(crate) fn push(&self, item: T) -> Result<(), T> {
        let mut inner = lock(&self.inner);
        if inner.closed {
            return Err(item);
        }
        inner.items.push_back(item);
        if inner.items.len() == 1 {
            self.wake.ring();
        }
        Ok(())
    }

    /// Takes up to `max` items, oldest first.
    pub(crate) fn drain(&self, max: usize) -> Vec<T> {
        let mut inner = lock(&self.inner);
        let count = max.min(inner.items.len());
        let taken: Vec<T> = inner.items.drain(..count).collect();
        if count > 0 && inner.items.is_empty() {
            self.wake.clear();
        }
        taken
    }

    /// Closes the queue and gives what was in it. The wake stays rung: a host that still polls learns at once.
    pub(crate) fn close(&self) -> Vec<T> {
        let mut inner = lock(&self.inner);
        inner.closed = true;
        let left: Vec<T> = inner.items.drain(..).collect();
        if left.is_empty() {
            self.wake.ring();
        }
        left
    }
}
