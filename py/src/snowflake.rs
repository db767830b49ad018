//! Generators of ids, and ids taken apart and written. Nothing here waits for I/O.

use libdlock::Result;
use libdlock::id::{Layout, Parts};
use libdlock_bridge::ops::{self, SnowflakeArgs};
use libdlock_bridge::{Handle, HandleKind, Process, enter, guard};
use pyo3::prelude::*;

use crate::call::{free, quick};
use crate::error::exception;

/// Epoch in milliseconds, and the bits of time, datacenter, worker and sequence.
type LayoutArgs = (i64, i64, i64, i64, i64);

/// Time in milliseconds since 1970, datacenter, worker, sequence.
type Apart = (i64, u32, u32, u32);

/// The native half of `libdlock.Snowflake`. Its handle is given back with the object.
#[pyclass(subclass, frozen, module = "libdlock._native")]
pub(crate) struct Generator {
    handle: Handle,
    process: Process,
}

#[pymethods]
impl Generator {
    /// With `leased`, the handle of a worker number's hold, the numbers are those of that.
    #[new]
    fn new(
        py: Python<'_>,
        datacenter: i64,
        worker: i64,
        layout: Option<LayoutArgs>,
        borrow_ahead_ms: i64,
        start_wait_ms: Option<i64>,
        leased: Option<u64>,
    ) -> PyResult<Self> {
        let handle = quick(py, "Generator.__new__", |state| {
            let layout = layout.map(layout_of).transpose()?;
            if let Some(held) = leased {
                return ops::worker_snowflake(state, held, layout);
            }
            let given = SnowflakeArgs { datacenter, worker, layout, borrow_ahead_ms, start_wait_ms };
            ops::snowflake_open(state, given)
        })?;
        Ok(Generator { handle, process: Process::current() })
    }

    /// The next id: larger than all that this process made before it as this worker. When those of this millisecond are used
    /// up it waits for the next one.
    // Keeps the interpreter lock: to give it away takes longer than to make an id.
    fn next_id(&self, py: Python<'_>) -> PyResult<i64> {
        guard("Generator.next_id", || ops::snowflake_next_id(enter()?, self.handle))
            .map_err(|error| exception(py, &error))
    }

    fn _next_ids(&self, py: Python<'_>, count: i64) -> PyResult<Vec<i64>> {
        quick(py, "Generator._next_ids", |state| ops::snowflake_next_ids(state, self.handle, count))
    }

    fn _decode(&self, py: Python<'_>, id: i64) -> PyResult<Apart> {
        quick(py, "Generator._decode", |state| ops::snowflake_decode(state, self.handle, id)).map(apart)
    }

    fn _layout(&self, py: Python<'_>) -> PyResult<LayoutArgs> {
        quick(py, "Generator._layout", |state| ops::snowflake_layout(state, self.handle)).map(layout_args)
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        free(self.process, |state| state.free(HandleKind::Snowflake, self.handle));
    }
}

#[pyfunction]
pub(crate) fn layout_named(py: Python<'_>, name: String) -> PyResult<LayoutArgs> {
    quick(py, "layout_named", |_| ops::layout_named(name.as_bytes())).map(layout_args)
}

#[pyfunction]
pub(crate) fn layout_decode(py: Python<'_>, layout: LayoutArgs, id: i64) -> PyResult<Apart> {
    quick(py, "layout_decode", |_| layout_of(layout)?.decode(id)).map(apart)
}

#[pyfunction]
pub(crate) fn id_encode(py: Python<'_>, id: i64, base: i64) -> PyResult<String> {
    quick(py, "id_encode", |_| ops::id_encode(id, base))
}

#[pyfunction]
pub(crate) fn id_parse(py: Python<'_>, text: Vec<u8>, base: i64) -> PyResult<i64> {
    quick(py, "id_parse", |_| ops::id_parse(&text, base))
}

fn layout_of((epoch_ms, time, datacenter, worker, sequence): LayoutArgs) -> Result<Layout> {
    ops::layout(epoch_ms, [time, datacenter, worker, sequence])
}

fn layout_args(layout: Layout) -> LayoutArgs {
    let bits = [layout.time_bits, layout.datacenter_bits, layout.worker_bits, layout.sequence_bits];
    let [time, datacenter, worker, sequence] = bits.map(i64::from);
    (layout.epoch_ms, time, datacenter, worker, sequence)
}

fn apart(parts: Parts) -> Apart {
    (parts.time_ms, parts.datacenter, parts.worker, parts.sequence)
}
