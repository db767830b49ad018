//! The count-down latch: callers wait until a count has come down to zero.
//!
//! On the server it has the layout of Redisson's `RCountDownLatch`: the string `<name>` is the count, and it is gone when the
//! latch is open. Whoever counts it down to zero says so on one channel, which reaches all that wait. The message is a hint:
//! a waiter looks at the count then, and also by itself, and only what the server shows opens it.
//!
//! Counting leaves no hold behind by which a repeat could be told. So each request carries an id that the server remembers for
//! a minute (`step/once.rs`): no request counts twice. The wire format is in `docs/protocol`.

mod latches;
#[cfg(test)]
mod model_test;
mod object;
mod step;
#[cfg(test)]
mod tests;
mod waiter;
mod watch;

use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

pub(crate) use latches::Latches;
use object::LatchObject;
pub(crate) use step::LatchState;
use step::{CountDown, Delete, Look, SetCount};

use crate::context::Context;
use crate::ended::{while_moving, while_open};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Level;
use crate::objects::ObjectKind;
use crate::step::{Step, channels};
use crate::wait::Wait;

/// The largest count of a latch: 2^53 - 1, up to which the server's scripts count exactly.
pub const MAX_COUNT: u64 = step::MAX_COUNT;

/// A named count-down latch. Cheap to clone; all latches that any process makes of one name are the same latch.
///
/// A latch that is not on the server is open. So [`Latch::try_set_count`] comes before those that wait, and before those that
/// count down. It is for one round: who waits sees the count and not who counts, so a latch that is set again before all
/// waiters have seen it open keeps the rest waiting for the new count, as Redisson's does. Give each round a name of its own.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// let ready = client.latch("deploy-7/ready")?;
/// assert!(ready.try_set_count(2).await?);
/// // In each of the two processes that start.
/// assert_eq!(ready.count_down().await?, 1);
/// assert_eq!(ready.count_down().await?, 0);
/// // In all that wait for them.
/// ready.wait().await?;
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone)]
pub struct Latch {
    shared: Arc<LatchObject>,
}

impl Latches {
    /// The latch of this name. No I/O.
    pub(crate) fn open(self: &Arc<Self>, name: &str) -> Result<Latch> {
        let name = self.context().name_of::<LatchState>(LatchObject::KIND, name)?;
        let make = || LatchObject::new(name.clone(), self.clone());
        Ok(Latch { shared: self.context().objects.get_or_insert(&name, make) })
    }
}

impl Latch {
    /// The name that it was made with. On the server the client's `key_prefix` stands before it, and so it does in errors and
    /// events, for whoever looks for the key there.
    pub fn name(&self) -> &str {
        self.shared.name().as_given()
    }

    /// The name on the server, key prefix included: what errors and events say.
    pub fn key(&self) -> &str {
        self.shared.name().as_str()
    }

    /// Gives the latch this count if it is open; false, and nothing changed, when it has a count. The count stays on the server
    /// until it is counted down or deleted: it has no time to live.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for 0 and for more than [`MAX_COUNT`]. [`ErrorKind::Connection`] when the server was not
    /// reached within `operation_timeout`: nothing was done. [`ErrorKind::OutcomeUnknown`] when a request was sent and no
    /// repeat could find out what became of it. [`ErrorKind::WrongType`] when the key holds something else;
    /// [`ErrorKind::NoPermission`], [`ErrorKind::OutOfMemory`], [`ErrorKind::Unsupported`] and [`ErrorKind::Server`] as the
    /// server says; [`ErrorKind::Clock`] when its clock jumps back and forth; [`ErrorKind::Closed`], [`ErrorKind::Forked`] and
    /// [`ErrorKind::Internal`] as the client has ended.
    ///
    /// # Cancel safety
    /// Dropping the future may leave it done or not done.
    pub async fn try_set_count(&self, count: u64) -> Result<bool> {
        self.check(SetCount::OP, count)?;
        let set = self.client().operate_once(self.shared.name(), |once| SetCount { once, count });
        self.while_open(SetCount::OP, pin!(set)).await?.map_err(|failed| failed.error)
    }

    /// Counts down by one; what is left then, 0 when the latch is open. It counts once, also when the reply is lost and the
    /// request is sent again; the number is that of the last answer. A latch that is open stays so. Anybody may count down.
    ///
    /// # Errors
    /// As [`Latch::try_set_count`], but for [`ErrorKind::OutOfMemory`]: it works on a server that is full.
    ///
    /// # Cancel safety
    /// Dropping the future may leave it counted or not counted.
    pub async fn count_down(&self) -> Result<u64> {
        self.count_down_by(1).await
    }

    /// Counts down by so many, or by what is left if that is less; what is left then.
    ///
    /// # Errors
    /// As [`Latch::count_down`]; [`ErrorKind::InvalidArgument`] for 0 and for more than [`MAX_COUNT`].
    ///
    /// # Cancel safety
    /// As [`Latch::count_down`].
    pub async fn count_down_by(&self, by: u64) -> Result<u64> {
        self.check(CountDown::OP, by)?;
        let down = self.client().operate_once(self.shared.name(), |once| CountDown { once, by });
        let done = self.while_open(CountDown::OP, pin!(down)).await?.map_err(|failed| failed.error)?;
        self.client().counters.latch.counted_down();
        if !done.told {
            let message = format!(
                "open, but the server's access rules forbid to tell the waiters, who come by their timers; allow the channel \
                 with {}",
                channels::<step::LatchState>()
            );
            self.client().events.emit(Level::Warn, Some(self.key()), message);
        }
        Ok(done.left)
    }

    /// The count now, 0 when the latch is open.
    ///
    /// # Errors
    /// As [`Latch::try_set_count`], but for [`ErrorKind::OutcomeUnknown`] and [`ErrorKind::OutOfMemory`].
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn count(&self) -> Result<u64> {
        self.check_open(Look::OP)?;
        let look = self.client().operate(self.shared.name(), &Look);
        let looked = self.while_open(Look::OP, pin!(look)).await?;
        looked.map(|done| done.reply.count).map_err(|failed| failed.error.renamed(Look::OP))
    }

    /// Waits until the latch is open, as long as it takes.
    ///
    /// All callers of this process that wait for one name share one subscription. One message tells them, and they look at the
    /// count together; they look also every `poll_interval`, should the message be lost. A latch that was lost, with a server
    /// that was restarted empty, or deleted, is open: who waits finds that within `poll_interval`.
    ///
    /// # Errors
    /// [`ErrorKind::Connection`] when the server did not answer for `operation_timeout`; [`ErrorKind::WrongType`],
    /// [`ErrorKind::NoPermission`], [`ErrorKind::Unsupported`] and [`ErrorKind::Server`] as the server says;
    /// [`ErrorKind::Closed`], [`ErrorKind::Forked`] and [`ErrorKind::Internal`] as the client has ended.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing on the server.
    pub async fn wait(&self) -> Result<()> {
        self.wait_for(Wait::Forever).await.map(drop)
    }

    /// Waits until the latch is open, for `wait` at most; whether it was open then. A wait of zero asks once.
    ///
    /// # Errors
    /// As [`Latch::wait`]. A server that goes away ends this wait only when its time is over, with [`ErrorKind::Connection`]
    /// if it did not answer once within a wait of 100 ms or more, or did not answer last.
    ///
    /// # Cancel safety
    /// As [`Latch::wait`].
    pub async fn wait_timeout(&self, wait: Duration) -> Result<bool> {
        self.wait_for(Wait::For(wait)).await
    }

    /// Waits until the latch is open, as long as `wait` says; whether it was open then.
    ///
    /// # Errors and cancel safety
    /// As [`Latch::wait_timeout`].
    pub async fn wait_for(&self, wait: Wait) -> Result<bool> {
        self.check_open(waiter::OP)?;
        let clock = &self.client().clock;
        let waits = pin!(waiter::wait(&self.shared, wait));
        let waits = pin!(while_moving(waiter::OP, Some(clock).filter(|_| matches!(wait, Wait::For(_))), waits));
        self.while_open(waiter::OP, waits).await?.map_err(|error| error.on(self.key()))?
    }

    /// Removes the latch; false when it was not there. It tells nobody that the latch is open, as Redisson's does not: its own
    /// clients go on waiting. But a latch that is not there is open, which those that look find out, libdlock's waiters
    /// within their `poll_interval`.
    ///
    /// # Errors
    /// As [`Latch::count_down`].
    ///
    /// # Cancel safety
    /// Dropping the future may leave it done or not done.
    pub async fn delete(&self) -> Result<bool> {
        self.check_open(Delete::OP)?;
        let delete = self.client().operate_once(self.shared.name(), |once| Delete { once });
        self.while_open(Delete::OP, pin!(delete)).await?.map_err(|failed| failed.error)
    }

    fn client(&self) -> &Context {
        self.shared.client()
    }

    fn check_open(&self, op: &'static str) -> Result<()> {
        self.client().check_open(op).map_err(|error| error.on(self.key()))
    }

    fn check(&self, op: &'static str, count: u64) -> Result<()> {
        self.check_open(op)?;
        if (1..=MAX_COUNT).contains(&count) {
            return Ok(());
        }
        let given = format_args!("a count of {count} is out of range");
        Err(Error::refused(ErrorKind::InvalidArgument, op, given, format!("1 to {MAX_COUNT}")).on(self.key()))
    }

    async fn while_open<T>(&self, op: &'static str, work: Pin<&mut impl Future<Output = T>>) -> Result<T> {
        while_open(op, &self.client().tasks, work).await.map_err(|error| error.on(self.key()))
    }
}

impl Drop for Latch {
    fn drop(&mut self) {
        self.client().tasks.leak_if_forked(&self.shared);
    }
}

impl fmt::Debug for Latch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Latch").field("name", self.shared.name()).finish()
    }
}
