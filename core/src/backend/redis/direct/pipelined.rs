//! Many requests in one write on the thread of a caller who may block, and their answers.

use redis::{RedisError, RedisResult, Value};

use super::pool::Loan;
use super::verdict;
use crate::backend::redis::RedisBackend;
use crate::time::Tick;

/// A connection for them, in the hands of the caller.
pub(in crate::backend::redis) struct Borrowed(Loan);

impl RedisBackend {
    /// If this is a time for direct calls.
    pub(in crate::backend::redis) fn borrow_for_many(&self, now: Tick, deadline: Tick) -> Option<Borrowed> {
        self.borrow(now, deadline).map(Borrowed)
    }

    /// As many answers as `count`, to the requests that `pack` writes. The thread is blocked for 40 ms at most; another one waits
    /// for the answers that take longer.
    pub(in crate::backend::redis) async fn answers_of_many(
        &self,
        Borrowed(mut loan): Borrowed,
        pack: impl FnOnce(&mut Vec<u8>),
        count: usize,
        (sent, until): (Tick, Tick),
    ) -> RedisResult<Vec<Value>> {
        let mut answers = Vec::with_capacity(count);
        let mut outcome = loan.send_packed(sent, pack).and_then(|()| loan.receive_all(&mut answers, count));
        let left = until.since(self.clock.now());
        if outcome.as_ref().is_err_and(RedisError::is_timeout) && !left.is_zero() {
            self.direct.rest("did not answer in 40 ms");
            let waiting = self.direct.runtime().spawn_blocking(move || {
                let outcome = loan.go_on_all(&mut answers, count, left);
                (loan, answers, outcome)
            });
            // The thread was stopped with the runtime.
            let stopped = |_| RedisError::from(std::io::Error::from(std::io::ErrorKind::ConnectionAborted));
            (loan, answers, outcome) = waiting.await.map_err(stopped)?;
        }
        match outcome {
            Ok(()) => {
                loan.give_back(self.clock.now());
                Ok(answers)
            }
            Err(error) => {
                drop(loan);
                self.direct.rest(verdict::how(&error));
                Err(error)
            }
        }
    }
}
