//! Worker numbers under leases, so that no one has to hand them out: each process leases the lowest that is free in a pool.
//!
//! A holder of a number makes ids in a span of time of its own. It begins where the server says, after everything that holders
//! of the number before may have used, and goes on by the client's monotonic clock. Each renewal carries how far it will go
//! until the next one; the server takes that down, and nothing is made beyond what it has confirmed. So ids of one number never
//! come twice, whatever the wall clocks of client and server do; `tests/model` checks this. That a number has one holder at a time
//! is a matter of the lease, as it is of a lock. The wire format is in `docs/protocol`.

#[cfg(test)]
mod model_test;
mod options;
mod pool;
mod span;
mod step;
mod tenancy;
#[cfg(test)]
mod tests;

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

pub use options::WorkerOptions;
use pool::Pool;
pub(crate) use step::{Renew, WorkerState};
use tenancy::Tenancy;

use super::generator::{Leased, NumberLease, Snowflake};
use super::layout::{Layout, refuse};
use crate::context::Context;
use crate::ended::{cut_off, while_open};
use crate::error::Result;
use crate::lease::{Grant, HoldState, LossReason};
use crate::wait::Wait;

/// The most bits that the numbers of a pool can have.
pub const MAX_BITS: u32 = 22;

/// The operation's name in errors.
const OP: &str = "worker";

/// A worker number that this process has leased from a pool, and that nobody else has as long as it is valid. Made by
/// [`Client::worker`](crate::Client::worker). Cheap to clone; clones are one hold.
///
/// The client renews the lease. When the last clone and the last generator that was made by it are gone, the number is given
/// back in the background; [`Worker::release`] gives it back at once. The number of a process that died is free again when its
/// lease is over.
///
/// # Fork and snapshots
/// A forked child has no part in its parent's number: all calls fail with [`ErrorKind::Forked`](crate::ErrorKind::Forked) there.
/// A copy of a process that shares its memory's past, as after a restored snapshot, renews the same lease and makes the same ids:
/// connect anew after a restore.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// let worker = client.worker("orders").await?;
/// let ids = worker.snowflake(libdlock::id::Layout::DEFAULT)?;
/// assert!(ids.next_id()? < ids.next_id()?);
/// worker.release().await?;
/// assert!(ids.next_id().is_err()); // the number may be somebody else's now
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone)]
pub struct Worker {
    tenancy: Arc<Tenancy>,
    bits: u32,
}

impl Worker {
    /// Leases a number.
    pub(crate) async fn lease(client: &Arc<Context>, pool: &str, options: WorkerOptions) -> Result<Worker> {
        let name = client.name_of::<WorkerState>(OP, pool)?;
        options.check().map_err(|error| error.on(name.as_str()))?;
        let pool = client.objects.get_or_insert(&name, || Pool::new(name.clone(), client.clone()));
        let leasing = client.tasks.operation(pool.lease(options));
        let leased = while_open(OP, &client.tasks, pin!(leasing)).await.map_err(|error| error.on(name.as_str()))?;
        let tenancy = leased.unwrap_or_else(|| Err(cut_off(OP, &client.tasks, "the request").on(name.as_str())))?;
        Ok(Worker { tenancy, bits: options.bits })
    }

    /// The number, from 0; below 2 to the power of [`bits`](Worker::bits).
    pub fn number(&self) -> u64 {
        self.tenancy.number
    }

    /// How many bits the numbers of its pool have, as this client says.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The name of the pool that it was made with.
    pub fn pool(&self) -> &str {
        self.tenancy.pool().name().as_given()
    }

    /// The name of the pool on the server, key prefix included: what errors and events say.
    pub fn key(&self) -> &str {
        self.tenancy.pool().name().as_str()
    }

    /// A generator of ids under this number: its low bits are the layout's worker, those above them the datacenter. All
    /// generators of one layout share their state, so that they make no duplicates either. No I/O.
    ///
    /// Its time begins at the server's clock, or after the last time that the number was used if that is later, and then goes on
    /// by this machine's monotonic clock. It makes ids as long as the lease is valid; then it refuses with
    /// [`ErrorKind::Lost`](crate::ErrorKind::Lost), also in the middle of a batch, of which nothing is given out.
    ///
    /// Ids of a leased number and of one that was [given](Snowflake::new) under one layout may be the same: use one way for all
    /// that have to differ, and one pool.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for the layout, and when the numbers of the pool have more
    /// bits than its datacenter and worker together; [`ErrorKind::Lost`](crate::ErrorKind::Lost) when the lease is over, and
    /// [`ErrorKind::NotHeld`](crate::ErrorKind::NotHeld) when the number was released;
    /// [`ErrorKind::Clock`](crate::ErrorKind::Clock) when the time lies outside of what the layout has.
    pub fn snowflake(&self, layout: Layout) -> Result<Snowflake> {
        let fields = layout.fields()?;
        let room = layout.datacenter_bits + layout.worker_bits;
        if self.bits > room {
            let what = format!("the numbers of the pool have {} bits", self.bits);
            let allowed =
                format!("at most {room} with this layout, as many as its datacenter and worker have together");
            return Err(refuse("snowflake", what, allowed).on(self.key()));
        }
        self.tenancy.check().map_err(|error| error.renamed("snowflake"))?;
        let shared = self.tenancy.slots(&fields);
        fields.since_epoch(shared.timeline.now_ms())?;
        let number = self.number();
        let parts = (number >> layout.worker_bits, number & ((1 << layout.worker_bits) - 1));
        Snowflake::leased(fields, parts, Leased { lease: AssertUnwindSafe(self.tenancy.clone()), shared })
    }

    /// What it is to its client: for hosts that have one kind of hold for all.
    pub(crate) fn grant(&self) -> &Grant {
        self.tenancy.grant()
    }

    /// Whether ids may be made under it: false exactly from the end of validity on, from the moment a release begins, and once the
    /// hold was taken away. See [`Grant::is_valid`].
    pub fn is_valid(&self) -> bool {
        self.tenancy.grant().is_valid()
    }

    /// How long it stays valid if nothing is renewed; zero when it is not valid.
    pub fn remaining(&self) -> Duration {
        self.tenancy.grant().remaining()
    }

    /// How the hold stands.
    pub fn state(&self) -> HoldState {
        self.tenancy.grant().state()
    }

    /// Completes when the hold is over: with the reason when it was lost, with `None` when its release began.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn lost(&self) -> Option<LossReason> {
        self.tenancy.grant().lost().await
    }

    /// As [`Worker::lost`], waiting no longer than `wait`; one that does not wait says how things stand.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) when the hold was not over by then.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn lost_within(&self, wait: Wait) -> Result<Option<LossReason>> {
        self.tenancy.grant().lost_within(wait).await
    }

    /// Gives the number back, for all clones and generators: from here on they make no ids. The next holder begins after the
    /// last of them.
    ///
    /// # Errors
    /// [`ErrorKind::NotHeld`](crate::ErrorKind::NotHeld) when it was lost, or released before;
    /// [`ErrorKind::Connection`](crate::ErrorKind::Connection) and [`ErrorKind::OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown)
    /// when the server did not confirm it within `operation_timeout`: the lease runs out then. Other kinds as the server says, and
    /// as the client has ended.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop the release.
    pub async fn release(&self) -> Result<()> {
        self.tenancy.release().await.map_err(|error| error.on(self.key()))
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("number", &self.number()).field("grant", self.tenancy.grant()).finish()
    }
}
