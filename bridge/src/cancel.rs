//! Cancel tokens: one thread ends the blocking calls of others.

use std::future::Future;
use std::sync::Arc;

use libdlock::{Error, ErrorKind, Result};
use tokio::sync::watch;

use crate::ends::HandleEnd;
use crate::handle::Handle;
use crate::objects::CancelEntry;
use crate::state::State;

impl HandleEnd for CancelEntry {}

impl State {
    /// A new cancel token. Given up with [`State::free`]; calls that were given it go on.
    pub fn cancel_new(&self) -> Result<Handle> {
        let fired = watch::Sender::new(false);
        self.insert(Arc::new(CancelEntry { fired }))
    }

    /// Ends every call that was given the token, now and from now on, with `Cancelled`.
    pub fn cancel_fire(&self, token: Handle) -> Result<()> {
        let entry = self.get::<CancelEntry>(token, "cancel")?;
        entry.fired.send_replace(true);
        Ok(())
    }

    /// `future`, ended early with `Cancelled` when `token` is fired; without a token, `future`.
    ///
    /// # Cancel safety
    /// As that of `future`, which is dropped.
    pub async fn with_cancel<T>(
        &'static self,
        token: Option<Handle>,
        future: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let Some(token) = token else {
            return future.await;
        };
        let entry = self.get::<CancelEntry>(token, "cancel")?;
        let mut fired = entry.fired.subscribe();
        tokio::select! {
            biased;
            _ = fired.wait_for(|fired| *fired) => {
                Err(Error::new(ErrorKind::Cancelled, "wait", "the cancel token was fired"))
            }
            result = future => result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{HandleKind, enter};

    #[test]
    fn a_token_ends_a_wait_from_another_thread_and_stays_fired() {
        let state = enter().unwrap();
        let token = state.cancel_new().unwrap();
        let firing = std::thread::spawn(move || state.cancel_fire(token).unwrap());
        let never = std::future::pending::<Result<()>>;
        for _ in 0..2 {
            let result = state.wait(state.with_cancel(Some(token), never()), None);
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
        }
        firing.join().unwrap();
        state.free(HandleKind::Cancel, token).unwrap();
        assert_eq!(state.cancel_fire(token).unwrap_err().kind(), ErrorKind::Closed);
    }

    #[test]
    fn a_token_that_is_not_fired_changes_nothing() {
        let state = enter().unwrap();
        let token = state.cancel_new().unwrap();
        let quick = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            Ok(3)
        };
        assert_eq!(state.wait(state.with_cancel(Some(token), quick), None).unwrap(), 3);
    }
}
