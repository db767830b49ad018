//! The way from the runtime's thread to a JavaScript loop: one threadsafe function for each environment.

use std::sync::{Mutex, PoisonError};

use napi::bindgen_prelude::{Env, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Result, Status};

/// Not CalleeHandled (there is no error to pass), weak (by itself it keeps no loop alive), without a limit of its queue:
/// the port rings at most once until it is drained.
type Wake = ThreadsafeFunction<(), (), (), Status, false, true, 0>;

/// Wakes a loop, until that is torn down.
pub(crate) struct Signal(Mutex<Option<Wake>>);

impl Signal {
    /// `wake` is called on its own loop, soon after each [`Signal::ring`].
    pub(crate) fn new(wake: Function<'_, (), ()>) -> Result<Self> {
        let wake = wake
            .build_threadsafe_function::<()>()
            .callee_handled::<false>()
            .weak::<true>()
            .max_queue_size::<0>()
            .build()?;
        Ok(Self(Mutex::new(Some(wake))))
    }

    /// From any thread; only signals.
    pub(crate) fn ring(&self) {
        self.with(|wake| {
            // The only refusal is that of a loop which is going away: nobody is left to tell.
            wake.call((), ThreadsafeFunctionCallMode::NonBlocking);
        });
    }

    /// Whether the loop shall stay alive for what may ring. On the loop's own thread.
    pub(crate) fn keep_alive(&self, env: &Env, keep: bool) -> Result<()> {
        // Deprecated in favour of a choice at compile time; here it changes with whether anything is pending.
        #[allow(deprecated)]
        self.with(|wake| if keep { wake.refer(env) } else { wake.unref(env) }).unwrap_or(Ok(()))
    }

    /// Lets go of the loop, on the loop's own thread and while it still is one. Nothing rings afterwards, on no thread, and
    /// none is left to release the threadsafe function while Node takes it down.
    pub(crate) fn end(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn with<T>(&self, act: impl FnOnce(&mut Wake) -> T) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(act)
    }
}
