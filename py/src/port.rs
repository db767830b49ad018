//! The completion port: one of the log thread's, and one of each event loop.

use libdlock::Error;
use libdlock_bridge::{Completion, Handle, HandleKind, Outcome, Process, What, enter, guard};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::call::{free, quick};
use crate::client::ClientHandle;
use crate::counting_semaphore::{Permits, seen_counting};
use crate::error::exception;
use crate::held::Grant;
use crate::limiter::{decided, each_decided};
use crate::lock::inspected;
use crate::queue::{counted, each_delivered, each_listed, each_put};
use crate::rw_lock::seen_sides;
use crate::semaphore::seen_permits;

/// More than any loop has pending at once.
pub(crate) const BATCH: usize = 4096;

/// Level, the lock's name, and the message of one log event.
type Event = (&'static str, Option<String>, String);

/// A port's handle. With the object the port goes: operations under way are cancelled, and what was granted to nobody is
/// given back.
#[pyclass(frozen, module = "libdlock._native")]
pub(crate) struct Port {
    #[pyo3(get)]
    pub(crate) handle: Handle,
    /// Of each operation that is done, the key it was submitted with, and its answer or the exception to raise; oldest first.
    /// A list and no returned value: a signal handler may raise just after a call, when a returned value would be lost.
    #[pyo3(get)]
    answers: Py<PyList>,
    process: Process,
}

#[pymethods]
impl Port {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        let handle = quick(py, "Port.__new__", |state| state.port_new())?;
        Ok(Port { handle, answers: PyList::empty(py).unbind(), process: Process::current() })
    }

    /// To poll: readable while there is something to drain.
    #[getter]
    fn descriptor(&self, py: Python<'_>) -> PyResult<i32> {
        quick(py, "Port.descriptor", |state| state.port_fd(self.handle))
    }

    /// Adds to `answers` what is there, a batch at most; the rest comes with the loop's next turn.
    fn drain(&self, py: Python<'_>) -> PyResult<()> {
        self.hand_out(py, self.taken(py, "Port.drain", BATCH)?)
    }

    fn drain_log(&self, py: Python<'_>, at_most: usize) -> PyResult<Vec<Event>> {
        let event = |what| match what {
            What::Log(event) => Some((event.level.as_str(), event.name, event.message)),
            // Nothing is submitted to this port.
            What::Done(_) => None,
        };
        let taken = self.taken(py, "Port.drain_log", at_most)?;
        Ok(taken.into_iter().filter_map(|completion| event(completion.what)).collect())
    }

    /// Ends an operation of this port. False when it was too late: then its answer is there to be drained.
    fn cancel(&self, py: Python<'_>, op: u64) -> PyResult<bool> {
        if self.is_foreign() {
            return Ok(true);
        }
        guard("Port.cancel", || enter()?.cancel(op)).map_err(|error| exception(py, &error))
    }
}

impl Port {
    /// A child has its parent's event loops and tasks too, and their ends come here.
    fn is_foreign(&self) -> bool {
        !self.process.is_current()
    }

    pub(crate) fn hand_out(&self, py: Python<'_>, completions: Vec<Completion>) -> PyResult<()> {
        let answers = self.answers.bind(py);
        for Completion { user_data, what, .. } in completions {
            if let What::Done(result) = what {
                answers.append((user_data, answer(py, result)?))?;
            }
        }
        Ok(())
    }

    /// Keeps the interpreter lock, as `submit` does.
    fn taken(&self, py: Python<'_>, export: &'static str, at_most: usize) -> PyResult<Vec<Completion>> {
        if self.is_foreign() {
            return Ok(Vec::new());
        }
        guard(export, || enter()?.drain(self.handle, at_most)).map_err(|error| exception(py, &error))
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        free(self.process, |state| state.free(HandleKind::Port, self.handle));
    }
}

fn answer(py: Python<'_>, result: Result<Outcome, Error>) -> PyResult<Py<PyAny>> {
    let outcome = match result {
        Ok(outcome) => outcome,
        Err(error) => return Ok(exception(py, &error).into_value(py).into_any()),
    };
    match outcome {
        Outcome::Unit => Ok(py.None()),
        // <api:scalars> written by `python3 api/write.py` from api/wire.json
        Outcome::Bool(answer) => answer.into_py_any(py),
        Outcome::Number(answer) => answer.into_py_any(py),
        Outcome::Text(answer) => answer.into_py_any(py),
        // </api:scalars>
        Outcome::Held(held) => Grant::from(held).into_py_any(py),
        Outcome::Loss(loss) => loss.map(|reason| reason.as_str()).into_py_any(py),
        Outcome::Inspection(seen) => inspected(seen).into_py_any(py),
        Outcome::SemaphoreInspection(seen) => seen_permits(seen).into_py_any(py),
        Outcome::RwLockInspection(seen) => seen_sides(seen).into_py_any(py),
        Outcome::CountingSemaphoreInspection(seen) => seen_counting(seen).into_py_any(py),
        Outcome::Granted(granted) => Permits::new(granted).into_py_any(py),
        Outcome::Decision(decision) => decided(decision).into_py_any(py),
        Outcome::Decisions(answers) => each_decided(py, answers)?.into_py_any(py),
        Outcome::Ids(ids) => ids.0.into_py_any(py),
        Outcome::Flags(answers) => answers.0.into_py_any(py),
        Outcome::Real(number) => number.0.into_py_any(py),
        Outcome::Puts(puts) => each_put(puts).into_py_any(py),
        Outcome::Deliveries(deliveries) => each_delivered(py, deliveries)?.into_py_any(py),
        Outcome::QueueCounts(counts) => counted(counts).into_py_any(py),
        Outcome::ListedJobs(jobs) => each_listed(py, jobs).into_py_any(py),
        Outcome::Handle(client) => ClientHandle::new(client).into_py_any(py),
    }
}
