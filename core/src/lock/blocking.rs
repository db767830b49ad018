//! For threads that may block: the same calls, without a future.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::{Acquire, Held, HolderId, Lock};
use crate::error::Result;

impl Lock {
    /// Acquires, waiting as long as it takes, on the calling thread. See [`Lock::acquire_directly`] for what that saves.
    ///
    /// # Errors
    /// As [`Lock::acquire`].
    ///
    /// # Panics
    /// Within an asynchronous task, when it has to wait.
    pub fn blocking_acquire(&self) -> Result<Held> {
        self.blocking_acquire_as(HolderId::fresh(), Acquire::default())
    }

    /// As [`Lock::acquire_as`], on the calling thread.
    ///
    /// # Errors
    /// As [`Lock::acquire_as`].
    ///
    /// # Panics
    /// As [`Lock::blocking_acquire`].
    pub fn blocking_acquire_as(&self, holder: HolderId, how: Acquire) -> Result<Held> {
        match self.reenter_held(holder, &how) {
            Some(held) => Ok(held),
            None => self.block_on(self.acquire_directly(holder, how)),
        }
    }

    /// As [`Lock::release_as`], on the calling thread.
    ///
    /// # Errors
    /// As [`Lock::release_as`].
    ///
    /// # Panics
    /// As [`Lock::blocking_acquire`].
    pub fn blocking_release_as(&self, holder: HolderId) -> Result<()> {
        match self.leave(holder)? {
            Some(grant) => self.block_on(self.shared.release_directly(grant)),
            None => Ok(()),
        }
    }

    /// Runs a future to its end. What is complete at once costs no more than its one poll.
    fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        let runtime = self.client().tasks.runtime();
        let mut work = pin!(work);
        {
            let _context = runtime.enter();
            if let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return done;
            }
        }
        runtime.block_on(work)
    }
}

impl Held {
    /// As [`Held::release`], on the calling thread.
    ///
    /// # Errors
    /// As [`Lock::release_as`].
    ///
    /// # Panics
    /// As [`Lock::blocking_acquire`].
    pub fn blocking_release(self) -> Result<()> {
        let (lock, holder) = self.into_parts();
        lock.blocking_release_as(holder)
    }
}
