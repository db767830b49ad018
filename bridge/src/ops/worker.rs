//! Worker numbers: leased from a pool, and generators of ids under them. What else can be done with one is what can be done with
//! any hold (`held.rs`).

use std::sync::Arc;

use libdlock::id::{Layout, WorkerOptions};
use libdlock::{Error, ErrorKind, Result, embed};

use super::held::keep;
use super::{Holding, args};
use crate::client::ClientEntry;
use crate::handle::Handle;
use crate::near::Freed;
use crate::objects::{HeldEntry, SnowflakeEntry, WorkerEntry};
use crate::outcome::Held;
use crate::state::State;

/// Leases the lowest free number of a pool whose numbers have `bits` bits, none are core's default, for a lease of `lease_ms`
/// that is renewed, none is the client's. The hold is the handle's own: when that is given up the number is given back, unless a
/// generator still has it.
///
/// # Errors
/// `Busy` when all are taken; `InvalidName`, `InvalidArgument`; those of the server.
///
/// # Cancel safety
/// Dropping the future leaves nothing leased.
pub async fn worker_lease(
    state: &'static State,
    client: Handle,
    pool: Vec<u8>,
    bits: Option<i64>,
    lease_ms: Option<i64>,
) -> Result<Held> {
    const OP: &str = "worker";
    let client = state.get::<ClientEntry>(client, OP)?;
    let pool = embed::name_from_utf8(&pool)?;
    let on = |error: Error| args::on(error, &client.client, pool);
    let mut options = WorkerOptions::default();
    if let Some(bits) = bits {
        options.bits = u32::try_from(bits).map_err(|_| {
            let what = format!("a pool of {bits} bits is out of range");
            on(Error::refused(ErrorKind::InvalidArgument, OP, what, "1 to 22"))
        })?;
    }
    options.lease = args::watchdog_lease(lease_ms, OP).map_err(on)?;
    let worker = client.client.worker_with(pool, options).await?;
    let (holding, grant) = (Holding::ByHandle, embed::worker_grant(&worker));
    keep(state, Arc::new(WorkerEntry { worker, client }), holding, holding.holder(), grant)
}

/// The number that is held.
///
/// # Errors
/// `InvalidArgument` for a hold of anything else.
pub fn worker_number(state: &State, held: Handle) -> Result<i64> {
    const OP: &str = "number";
    let held = state.get::<HeldEntry>(held, OP)?;
    let number = held.hold.worker().ok_or_else(|| no_worker(&held, OP))?.number();
    // Of 22 bits at most.
    Ok(number.cast_signed())
}

/// How many bits the numbers of its pool have.
///
/// # Errors
/// As [`worker_number`].
pub fn worker_bits(state: &State, held: Handle) -> Result<i64> {
    const OP: &str = "bits";
    let held = state.get::<HeldEntry>(held, OP)?;
    Ok(held.hold.worker().ok_or_else(|| no_worker(&held, OP))?.bits().into())
}

/// The name of its pool, as it was given.
///
/// # Errors
/// As [`worker_number`].
pub fn worker_pool(state: &State, held: Handle) -> Result<String> {
    const OP: &str = "pool";
    let held = state.get::<HeldEntry>(held, OP)?;
    Ok(held.hold.worker().ok_or_else(|| no_worker(&held, OP))?.pool().to_owned())
}

/// A generator of ids under the number, with a handle of its own. Layout none is core's default. No I/O.
///
/// # Errors
/// `InvalidArgument` for the layout, for numbers of more bits than it has room for, and for a hold of anything else; `Lost`,
/// `NotHeld`, `Clock`.
pub fn worker_snowflake(state: &State, held: Handle, layout: Option<Layout>) -> Result<Handle> {
    const OP: &str = "snowflake";
    let held = state.get::<HeldEntry>(held, OP)?;
    let worker = held.hold.worker().ok_or_else(|| no_worker(&held, OP))?;
    let ids = worker.snowflake(layout.unwrap_or(Layout::DEFAULT))?;
    state.insert(Arc::new(SnowflakeEntry { ids, freed: Freed::default() }))
}

fn no_worker(held: &HeldEntry, op: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, op, "this hold is no worker number").on(held.hold.of().key())
}
