//! How every call crosses: into the bridge's panic guard, and back with a value or an exception.

use std::future::Future;
use std::time::Duration;

use libdlock::Result;
use libdlock_bridge::{Handle, Interrupt, Outcome, Process, State, enter, guard};
use pyo3::prelude::*;

use crate::error::exception;
use crate::main_thread::is_main_thread;
use crate::port::{BATCH, Port};

/// Ctrl-C is to break a wait within 100 ms; half of that leaves the other half for everything else.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// For calls that only look something up in the process. Out of the interpreter lock all the same: what they ask may be
/// locked by a thread that has a millisecond's work.
pub(crate) fn quick<T: Send>(
    py: Python<'_>,
    export: &'static str,
    call: impl FnOnce(&'static State) -> Result<T> + Send,
) -> PyResult<T> {
    py.detach(|| guard(export, || call(enter()?))).map_err(|error| exception(py, &error))
}

/// For calls that may wait. On the main thread, the one on which Python runs its signal handlers, they are run every
/// 50 ms, and one that raises ends the wait with what it raised.
pub(crate) fn blocking<T, F>(
    py: Python<'_>,
    export: &'static str,
    call: impl FnOnce(&'static State) -> F + Send,
) -> PyResult<T>
where
    T: Send,
    F: Future<Output = Result<T>> + Send,
{
    let mut raised = None;
    let on_main = is_main_thread(py);
    let result = py.detach(|| {
        guard(export, || {
            let state = enter()?;
            // An interpreter that is about to end cannot be attached to: finalisers may still make calls, and no handler runs.
            let mut check = || match Python::try_attach(|py| py.check_signals()) {
                None | Some(Ok(())) => false,
                Some(Err(error)) => {
                    raised = Some(error);
                    true
                }
            };
            let interrupt = on_main.then_some(Interrupt { every: SIGNALS_EVERY, check: &mut check });
            state.wait(call(state), interrupt)
        })
    });
    match raised {
        Some(error) => Err(error),
        None => result.map_err(|error| exception(py, &error)),
    }
}

/// For operations whose answer comes through `port`, together with `key`; what this very call completes is among the port's
/// answers when it returns. Keeps the interpreter lock: to queue an operation is a matter of microseconds, and giving the
/// lock away in an event loop's thread invites every other thread in.
pub(crate) fn submit<F, T>(
    py: Python<'_>,
    export: &'static str,
    port: &Port,
    key: u64,
    call: impl FnOnce(&'static State) -> F,
) -> PyResult<Handle>
where
    F: Future<Output = Result<T>> + Send + 'static,
    T: Into<Outcome>,
{
    let submitted = guard(export, || {
        let state = enter()?;
        state.submit_and_drain(port.handle, key, call(state), BATCH)
    });
    let (op, completions) = submitted.map_err(|error| exception(py, &error))?;
    port.hand_out(py, completions)?;
    Ok(op)
}

/// For handles that go with the Python object that kept them.
pub(crate) fn free(made_in: Process, call: impl FnOnce(&'static State) -> Result<()>) {
    unheard(made_in, call);
}

/// For calls at the end of a Python object, whose errors nobody hears: the only one is that the handle has been freed. In a
/// process forked from the one that made the handle nothing is done, not even the look into the tables that would start a
/// runtime there.
pub(crate) fn unheard<T>(made_in: Process, call: impl FnOnce(&'static State) -> Result<T>) -> Option<T> {
    made_in.is_current().then(|| guard("free", || call(enter()?)).ok()).flatten()
}
