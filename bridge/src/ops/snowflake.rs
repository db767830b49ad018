//! Ids without a server: generators, and ids taken apart and written. Nothing here waits for I/O, so nothing is `async`.

use std::sync::Arc;

use libdlock::Result;
use libdlock::id::{self, Layout, Parts, Snowflake};

use super::args;
use crate::ends::HandleEnd;
use crate::handle::Handle;
use crate::near::Freed;
use crate::objects::SnowflakeEntry;
use crate::state::State;

impl HandleEnd for SnowflakeEntry {
    fn freed(self: Arc<Self>, _state: &'static State, _handle: Handle) -> Result<()> {
        self.freed.set();
        Ok(())
    }
}

/// How to make a generator, in plain numbers. Ranges are core's to check.
#[derive(Clone, Copy, Debug)]
pub struct SnowflakeArgs {
    /// The datacenter's number.
    pub datacenter: i64,
    /// The worker's number, this process's alone.
    pub worker: i64,
    /// Which bits hold what; none is core's default. See [`layout_named`] and [`layout`].
    pub layout: Option<Layout>,
    /// How far ids may run ahead of the clock, in ms.
    pub borrow_ahead_ms: i64,
    /// How long the start may wait for the clock, in ms; none is core's default.
    pub start_wait_ms: Option<i64>,
}

/// The layout of that name.
///
/// # Errors
/// `InvalidArgument` for a name that there is not.
pub fn layout_named(name: &[u8]) -> Result<Layout> {
    Layout::named(args::text(name, "layout's name", "layout")?)
}

/// A layout of the host's own: `bits` are those of time, datacenter, worker and sequence. Core checks it where it is used.
///
/// # Errors
/// `InvalidArgument` for numbers of bits that are negative or beyond all use.
pub fn layout(epoch_ms: i64, bits: [i64; 4]) -> Result<Layout> {
    let width = |given: i64| -> Result<u32> {
        let width = args::count(given, "number of bits", "0 to 63", "layout")?;
        // What does not fit is too many bits either way, and core says so.
        Ok(u32::try_from(width).unwrap_or(u32::MAX))
    };
    let [time, datacenter, worker, sequence] = bits;
    Ok(Layout {
        epoch_ms,
        time_bits: width(time)?,
        datacenter_bits: width(datacenter)?,
        worker_bits: width(worker)?,
        sequence_bits: width(sequence)?,
    })
}

/// A generator. What was made stays unique when its handle is given up: the next generator of this identity goes on after it.
/// Blocks, within `start_wait`, only when the clock was set back since an earlier one of this identity.
///
/// # Errors
/// `InvalidArgument`, `Clock`.
pub fn snowflake_open(state: &State, given: SnowflakeArgs) -> Result<Handle> {
    let op = "snowflake";
    let datacenter = args::count(given.datacenter, "datacenter", "0 or more", op)?;
    let worker = args::count(given.worker, "worker", "0 or more", op)?;
    let mut builder = Snowflake::builder(datacenter, worker);
    if let Some(layout) = given.layout {
        builder = builder.layout(layout);
    }
    builder = builder.borrow_ahead(args::millis(given.borrow_ahead_ms, "borrow ahead", "0 to 10", op)?);
    if let Some(start_wait_ms) = given.start_wait_ms {
        builder = builder.start_wait(args::millis(start_wait_ms, "start wait", "0 to 60000", op)?);
    }
    let entry = SnowflakeEntry { ids: builder.build()?, freed: Freed::default() };
    state.insert(Arc::new(entry))
}

/// The next id. Blocks for less than a millisecond when those of this millisecond are used up.
///
/// # Errors
/// `Clock` past the end of the layout's time.
pub fn snowflake_next_id(state: &State, snowflake: Handle) -> Result<i64> {
    state.near::<SnowflakeEntry>(snowflake, "next id")?.ids.next_id()
}

/// As many ids as `ids` has room for, 1 to 1,000,000. Blocks as long as the layout makes it take: 244 ms for a million.
///
/// # Errors
/// As [`snowflake_next_id`]; `InvalidArgument` for the number.
pub fn snowflake_fill(state: &State, snowflake: Handle, ids: &mut [i64]) -> Result<()> {
    state.near::<SnowflakeEntry>(snowflake, "next ids")?.ids.fill(ids)
}

/// As [`snowflake_fill`], for hosts that take a list of their own.
pub fn snowflake_next_ids(state: &State, snowflake: Handle, count: i64) -> Result<Vec<i64>> {
    let count = args::count(count, "batch", "1 to 1000000", "next ids")?;
    state.near::<SnowflakeEntry>(snowflake, "next ids")?.ids.next_ids(usize::try_from(count).unwrap_or(usize::MAX))
}

/// Takes an id of the generator's layout apart.
pub fn snowflake_decode(state: &State, snowflake: Handle, id: i64) -> Result<Parts> {
    state.near::<SnowflakeEntry>(snowflake, "decode")?.ids.decode(id)
}

/// The layout of the generator's ids.
pub fn snowflake_layout(state: &State, snowflake: Handle) -> Result<Layout> {
    Ok(state.near::<SnowflakeEntry>(snowflake, "layout")?.ids.layout())
}

/// Writes an id in base 10, 32, 36, 58 or 62.
pub fn id_encode(id: i64, base: i64) -> Result<String> {
    id::encode(id, radix(base, "encode")?)
}

/// Reads what [`id_encode`] wrote.
pub fn id_parse(text: &[u8], base: i64) -> Result<i64> {
    id::parse(args::text(text, "id", "parse")?, radix(base, "parse")?)
}

fn radix(base: i64, op: &'static str) -> Result<u32> {
    let base = args::count(base, "base", "10, 32, 36, 58, 62", op)?;
    Ok(u32::try_from(base).unwrap_or(u32::MAX))
}
