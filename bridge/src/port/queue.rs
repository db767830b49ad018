//! The queue of a completion port: many producers, any number of drainers, one wake-up for a whole batch.
//!
//! The invariant, kept under one mutex: **the wake is rung exactly while the queue holds something and nobody is about to
//! drain it**. So a host that polls the descriptor misses nothing, whether it drains everything it finds or only a part, a
//! thousand completions that come before it wakes cost one byte, and what a host's own call completes costs none.

use std::collections::VecDeque;

use super::wake::Wake;
use crate::sync::{Mutex, lock};

pub(crate) struct Queue<T> {
    inner: Mutex<Inner<T>>,
    wake: Wake,
}

struct Inner<T> {
    items: VecDeque<T>,
    rung: bool,
    /// So many threads are about to drain.
    coming: usize,
    /// A closed queue takes nothing in; what it held went to whoever closed it.
    closed: bool,
}

impl<T> Queue<T> {
    pub(crate) fn new(wake: Wake) -> Self {
        let inner = Inner { items: VecDeque::new(), rung: false, coming: 0, closed: false };
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
        self.settle(&mut inner);
        Ok(())
    }

    /// Takes up to `max` items, oldest first.
    pub(crate) fn drain(&self, max: usize) -> Vec<T> {
        let mut inner = lock(&self.inner);
        let count = max.min(inner.items.len());
        let taken: Vec<T> = inner.items.drain(..count).collect();
        self.settle(&mut inner);
        taken
    }

    /// The calling thread is going to drain: until what this returns is dropped, nothing rings.
    pub(crate) fn coming(&self) -> Coming<'_, T> {
        lock(&self.inner).coming += 1;
        Coming(self)
    }

    /// Closes the queue and gives what was in it. The wake stays rung: a host that still polls learns at once.
    pub(crate) fn close(&self) -> Vec<T> {
        let mut inner = lock(&self.inner);
        inner.closed = true;
        let left: Vec<T> = inner.items.drain(..).collect();
        self.settle(&mut inner);
        left
    }

    /// Brings the wake in line with the queue.
    fn settle(&self, inner: &mut Inner<T>) {
        let ring = inner.closed || (!inner.items.is_empty() && inner.coming == 0);
        if ring != std::mem::replace(&mut inner.rung, ring) {
            if ring { self.wake.ring() } else { self.wake.clear() }
        }
    }
}

/// See [`Queue::coming`].
pub(crate) struct Coming<'a, T>(&'a Queue<T>);

impl<T> Drop for Coming<'_, T> {
    fn drop(&mut self) {
        let mut inner = lock(&self.0.inner);
        inner.coming -= 1;
        self.0.settle(&mut inner);
    }
}
