//! Operations of which only the rest goes to a port.

use std::future::Future;
use std::task::{Context, Poll, Waker};

use libdlock::Result;

use super::near;
use crate::handle::{Handle, Kind};
use crate::ops::Outcome;
use crate::state::State;

/// How an operation began, see [`State::begin`].
#[derive(Debug)]
pub enum Begun<T> {
    /// Its first step was its last.
    Over(Result<T>),
    /// It goes on under this handle.
    Goes(Handle),
}

impl State {
    /// As [`State::submit`], but what is over with its first step is answered here, and the port never hears of it: for hosts
    /// whose thread waits for the answer in any case.
    ///
    /// # Errors
    /// As [`State::submit`].
    pub fn begin<F, T>(&'static self, port: Handle, user_data: u64, future: F) -> Result<Begun<T>>
    where
        F: Future<Output = Result<T>> + Send + 'static,
        T: Into<Outcome> + 'static,
    {
        self.check(Kind::Port, port, "port")?;
        let _context = self.runtime()?.enter();
        let mut future = Box::pin(future);
        let mut first = Poll::Pending;
        near::while_submitting(|| first = future.as_mut().poll(&mut Context::from_waker(Waker::noop())));
        match first {
            Poll::Ready(result) => Ok(Begun::Over(result)),
            // Polls once more, with a waker of the operation's own.
            Poll::Pending => self.submit(port, user_data, future).map(Begun::Goes),
        }
    }
}
