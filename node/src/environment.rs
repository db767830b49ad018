//! One JavaScript environment: the main thread's, or that of a worker. It has a completion port of its own, and gives back
//! whatever it still has when Node takes it down, which may be at any time.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use libdlock::Result;
use libdlock_bridge::{Handle, HandleKind, Outcome, State, enter, guard, ops};
use napi::Status;
use napi::bindgen_prelude::{Env, Float64ArraySlice, Function};
use napi_derive::napi;

use crate::answer::{Answer, Given, answer, give, handle};
use crate::completion::{Other, ROW, Rows};
use crate::signal::Signal;

/// Made once for each environment; every other export is a method of it.
#[napi]
pub struct Environment {
    pub(crate) inner: Arc<Inner>,
}

/// Shared with the clean-up hook.
pub(crate) struct Inner {
    port: Handle,
    signal: Arc<Signal>,
    /// What JavaScript has been given and not yet given back. A worker that is terminated runs no finaliser.
    live: Mutex<HashMap<Handle, HandleKind>>,
}

impl Inner {
    pub(crate) fn port(&self) -> Handle {
        self.port
    }

    fn live(&self) -> MutexGuard<'_, HashMap<Handle, HandleKind>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what JavaScript is about to be given.
    pub(crate) fn lend(&self, kind: HandleKind, handle: Handle) {
        self.live().insert(handle, kind);
    }

    /// Takes back what JavaScript has no use for any more.
    pub(crate) fn take_back(&self, state: &'static State, handle: Handle) -> Result<()> {
        match self.live().remove(&handle) {
            Some(kind) => state.free(kind, handle),
            None => Ok(()),
        }
    }

    /// The environment is being taken down. On its own thread, before Node ends the threadsafe function (clean-up hooks run
    /// in reverse order).
    fn end(&self) {
        self.signal.end();
        // There is nobody to tell about an error, and one must not keep the rest; a panic must not reach Node.
        let _ = guard("environmentEnd", || {
            let state = enter()?;
            let freed = state.free(HandleKind::Port, self.port);
            let left = std::mem::take(&mut *self.live());
            left.into_iter().fold(freed, |result, (handle, kind)| result.and(state.free(kind, handle)))
        });
    }
}

#[napi]
impl Environment {
    /// `wake` is called on this environment's loop when there is something to drain.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, wake: Function<'_, (), ()>) -> napi::Result<Self> {
        let signal = Arc::new(Signal::new(wake)?);
        let ringing = signal.clone();
        let port = guard("environment", || enter()?.port_calling(Box::new(move || ringing.ring())))
            .map_err(|error| napi::Error::new(Status::GenericFailure, error.to_string()))?;
        let inner = Arc::new(Inner { port, signal, live: Mutex::new(HashMap::new()) });
        env.add_env_cleanup_hook(inner.clone(), |inner| inner.end())?;
        Ok(Environment { inner })
    }

    /// Whether the loop shall stay alive for what is pending.
    #[napi(catch_unwind)]
    pub fn keep_alive(&self, env: Env, keep: bool) -> napi::Result<()> {
        self.inner.signal.keep_alive(&env, keep)
    }

    /// What is finished, oldest first, as many as `rows` has room for: see [`Rows`]. Fewer mean that the port is empty, and
    /// rings for the next. The answer is what is no number.
    #[napi(catch_unwind)]
    pub fn drain(&self, mut rows: Float64ArraySlice<'_>) -> Answer<Option<Vec<Other>>> {
        // SAFETY: no JavaScript runs before this returns, so nobody else looks at the array or detaches it.
        let rows = unsafe { rows.as_mut() };
        answer("drain", |state| {
            let drained = state.drain(self.inner.port, rows.len().saturating_sub(1) / ROW)?;
            let mut rows = Rows::new(rows, &self.inner);
            drained.into_iter().for_each(|completion| rows.add(completion));
            Ok(rows.finish())
        })
    }

    /// Ends an operation with `CANCELLED`; `false` when it is finished already.
    #[napi(catch_unwind)]
    pub fn cancel(&self, op: Given) -> Answer<bool> {
        answer("cancel", |state| state.cancel(handle(op)))
    }

    /// Gives an object back. One that was given back already is no error. `true` for a hold that was valid and not lost: it is
    /// not renewed any more.
    #[napi(catch_unwind)]
    pub fn free(&self, object: Given) -> Answer<bool> {
        answer("free", |state| {
            let object = handle(object);
            // A loss is told while the hold is valid yet.
            let lost = ops::held_loss(state, object).is_ok_and(|loss| loss.is_some());
            let held = !lost && ops::held_valid(state, object).unwrap_or(false);
            self.inner.take_back(state, object).map(|()| held)
        })
    }
}

impl Environment {
    /// Starts an operation; `id` comes back with its completion. The answer is the operation's handle, to cancel it.
    pub(crate) fn submit<F, T>(
        &self,
        export: &'static str,
        id: i64,
        operation: impl FnOnce(&'static State) -> F,
    ) -> Answer<Given>
    where
        F: Future<Output = Result<T>> + Send + 'static,
        T: Into<Outcome>,
    {
        answer(export, |state| state.submit(self.inner.port, id.cast_unsigned(), operation(state)).map(give))
    }
}
