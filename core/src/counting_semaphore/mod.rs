//! The counting semaphore: so many permits among all processes, which have no owner and no lease. Whoever wants to may release.
//!
//! On the server it is Redisson's `RSemaphore`: the string `<name>` says how many permits are available. It exists for fleets
//! that share one with Redisson. All others are better served by the [semaphore](crate::semaphore), whose permits come back when
//! their holder dies.
//!
//! Waiting is the engine's (`contended`), by the rules of the semaphore: in order, and neighbours that fit are admitted together.
//! A grant ends with its delivery to the caller: nothing is renewed or lost after that. Until then the id of the acquire, which
//! the server remembers for a minute, makes it one grant however often it is sent, and lets it be undone once when nobody wants
//! it any more. The wire format is in `docs/protocol`.

mod inspection;
#[cfg(test)]
mod model_test;
mod permits;
mod step;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use inspection::Inspection;
pub(crate) use permits::Counting;
pub(crate) use step::CountingState;

use self::permits::CountWanted;
use self::step::{Add, Added, Drain, SetPermits};
use crate::contended::{Caller, Contended, Home, available};
use crate::context::Context;
use crate::ended::cut_off;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Level;
use crate::lease::HolderId;
use crate::step::{Step, channels};
use crate::wait::Wait;

/// What the counting semaphores of one client share.
pub(crate) type CountingSemaphores = Home<Counting>;

/// What the counting semaphores of one name share in a client.
type CountingObject = Contended<Counting>;

/// The most permits that a semaphore has, and that one call takes or brings: Redisson counts them in an `int`.
pub const MAX_PERMITS: u32 = available::MAX_PERMITS;

/// A named semaphore whose permits have no owner and no lease, as Redisson's `RSemaphore`. Cheap to clone; clones, and all
/// counting semaphores that one client makes of one name, are the same semaphore.
///
/// Permits of a process that died never come back by themselves, and nothing stops a release of permits that nobody acquired.
/// Where no Redisson client has to share it, use a [`Semaphore`](crate::Semaphore).
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// let slots = client.counting_semaphore("slots")?;
/// assert!(slots.try_set_permits(2).await?, "it was not there");
/// slots.acquire_many(2).await?;
/// assert!(!slots.try_acquire().await?);
/// slots.release().await?; // by whomever
/// assert_eq!(slots.available().await?, 1);
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone)]
pub struct CountingSemaphore {
    shared: Arc<CountingObject>,
}

impl CountingSemaphore {
    /// The semaphore of this name. No I/O.
    pub(crate) fn open(semaphores: &Arc<CountingSemaphores>, name: &str) -> Result<CountingSemaphore> {
        Ok(CountingSemaphore { shared: semaphores.open(name)? })
    }

    /// The name that it was made with. On the server the client's `key_prefix` stands before it, and so it does in errors and
    /// events, for whoever looks for the key there.
    pub fn name(&self) -> &str {
        self.shared.name().as_given()
    }

    /// The name on the server, key prefix included: what errors and events say.
    pub fn key(&self) -> &str {
        self.shared.name().as_str()
    }

    /// Makes the semaphore with so many permits, 0 to [`MAX_PERMITS`], if it is not there; whether this call has made it. It stays
    /// until somebody deletes its key.
    ///
    /// A lost reply is asked for again, under the same id: it is `true` then, too, if this call has made it.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for the number; [`ErrorKind::WrongType`] when the key is something else, also a semaphore of
    /// which permits are taken under leases; [`ErrorKind::OutOfMemory`] when the server is full;
    /// [`ErrorKind::OutcomeUnknown`] when no reply came within `operation_timeout`; else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may leave it done or not done.
    pub async fn try_set_permits(&self, permits: u32) -> Result<bool> {
        if permits > MAX_PERMITS {
            return Err(self.out_of_range(SetPermits::OP, permits, 0));
        }
        self.shared.check_open(SetPermits::OP)?;
        let made = self.client().operate_once(self.shared.name(), |once| SetPermits { once, permits }).await;
        made.map_err(|failed| failed.error)
    }

    /// Acquires one permit, waiting as long as it takes. The permit is the caller's until somebody releases it.
    ///
    /// A semaphore that is not there has no permits: this waits until it is made and has one.
    ///
    /// # Errors
    /// [`ErrorKind::Connection`] when the server could not be asked for `operation_timeout`; [`ErrorKind::OutcomeUnknown`] when
    /// it was asked and did not answer: this caller has no permit, and what the server granted all the same is given back in the
    /// background. [`ErrorKind::WrongType`] when the key is something else, also a semaphore of which permits are taken under
    /// leases. [`ErrorKind::NoPermission`], [`ErrorKind::OutOfMemory`], [`ErrorKind::Unsupported`] and [`ErrorKind::Server`]
    /// as the server says; [`ErrorKind::Clock`] when its clock jumps back and forth; [`ErrorKind::Closed`],
    /// [`ErrorKind::Forked`] and [`ErrorKind::Internal`] as the client has ended.
    ///
    /// # Cancel safety
    /// Dropping the future at any point before it is ready leaves neither permits nor a place in the line: what the server
    /// granted meanwhile is given back in the background. If the server cannot be reached for half a minute then, or the client
    /// ends first, those permits may be missing, of which an event warns.
    pub async fn acquire(&self) -> Result<()> {
        self.acquire_many(1).await
    }

    /// Acquires so many permits, 1 to [`MAX_PERMITS`], all at once, waiting as long as it takes. In the order of arrival: who
    /// wants few does not overtake for ever who wants many.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for the number; else as [`CountingSemaphore::acquire`].
    ///
    /// # Cancel safety
    /// As [`CountingSemaphore::acquire`].
    pub async fn acquire_many(&self, permits: u32) -> Result<()> {
        self.acquire_within(permits, Wait::Forever).await
    }

    /// Acquires one permit if one is available now; whether it did.
    ///
    /// # Errors and cancel safety
    /// As [`CountingSemaphore::acquire`].
    pub async fn try_acquire(&self) -> Result<bool> {
        self.try_acquire_many(1).await
    }

    /// Acquires so many permits, 1 to [`MAX_PERMITS`], if they are available now; whether it did. May jump the queue, at most
    /// twice per queue head: after that it is `false` also when so many are available.
    ///
    /// # Errors and cancel safety
    /// As [`CountingSemaphore::acquire_many`].
    pub async fn try_acquire_many(&self, permits: u32) -> Result<bool> {
        match self.acquire_within(permits, Wait::Try).await {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::Busy => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Acquires one permit, waiting at most `wait`.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when none was available in time; [`ErrorKind::Connection`] when the server could not be asked within
    /// a wait of 100 ms or more; else as [`CountingSemaphore::acquire`].
    ///
    /// # Cancel safety
    /// As [`CountingSemaphore::acquire`].
    pub async fn acquire_timeout(&self, wait: Duration) -> Result<()> {
        self.acquire_within(1, Wait::For(wait)).await
    }

    /// Acquires so many permits, 1 to [`MAX_PERMITS`], waiting as `wait` says.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for the number; else as [`CountingSemaphore::acquire_timeout`].
    ///
    /// # Cancel safety
    /// As [`CountingSemaphore::acquire`].
    pub async fn acquire_within(&self, permits: u32, wait: Wait) -> Result<()> {
        const OP: &str = "acquire";
        if !(1..=MAX_PERMITS).contains(&permits) {
            return Err(self.out_of_range(OP, permits, 1));
        }
        let asked_at = self.client().clock.now();
        self.shared.check_open(OP)?;
        let caller = Caller::new(&self.shared, HolderId::fresh(), CountWanted(permits), asked_at);
        // The grant is of no use any more: it has reached its caller.
        match wait.until(asked_at) {
            None => caller.once().await.map(drop),
            Some(deadline) => caller.until(deadline).await.map(drop),
        }
    }

    /// Releases one permit and wakes those whose turn it is. Anybody may, whether or not anybody has acquired one.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when there would be more than [`MAX_PERMITS`]; [`ErrorKind::WrongType`] when the key is
    /// something else, also a semaphore of which permits are taken under leases. [`ErrorKind::OutcomeUnknown`] when no
    /// reply came within `operation_timeout`, or a minute if that is less: the permits may have been released or not, and
    /// may yet be. A second call would release others. [`ErrorKind::Connection`] when nothing was sent. Else as the server says.
    /// A server that is full releases.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop the release.
    pub async fn release(&self) -> Result<()> {
        self.release_many(1).await
    }

    /// As [`CountingSemaphore::release`], of so many permits, 1 to [`MAX_PERMITS`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for the number; else as [`CountingSemaphore::release`].
    ///
    /// # Cancel safety
    /// As [`CountingSemaphore::release`].
    pub async fn release_many(&self, permits: u32) -> Result<()> {
        match i32::try_from(permits) {
            Ok(permits @ 1..) => {
                self.add(Add::OP, permits).await?;
                self.client().counters.counting.released();
                Ok(())
            }
            _ => Err(self.out_of_range(Add::OP, permits, 1)),
        }
    }

    /// Changes how many permits are available by so many; negative takes away, without waiting, and may leave fewer than none:
    /// then nothing is granted until enough came back. Makes a semaphore that is not there.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for 0, and when there would be more than [`MAX_PERMITS`], or less than as many below 0; else
    /// as [`CountingSemaphore::release`].
    ///
    /// # Cancel safety
    /// As [`CountingSemaphore::release`].
    pub async fn add_permits(&self, permits: i32) -> Result<()> {
        const OP: &str = "add permits";
        if permits == 0 || permits == i32::MIN {
            let given = format_args!("{permits} permits are out of range");
            let allowed = format!("1 to {MAX_PERMITS}, and as many below 0");
            return Err(Error::refused(ErrorKind::InvalidArgument, OP, given, allowed).on(self.key()));
        }
        self.add(OP, permits).await
    }

    /// Takes all permits that are available, past those that wait; how many there were. A negative number becomes 0, as with
    /// Redisson, and is returned.
    ///
    /// # Errors
    /// [`ErrorKind::OutcomeUnknown`] when the reply was lost: this is not repeated, because with the reply the number is lost.
    /// [`ErrorKind::WrongType`], [`ErrorKind::OutOfMemory`] and others as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may leave it done or not done.
    pub async fn drain(&self) -> Result<i64> {
        self.shared.check_open(Drain::OP)?;
        let drained = self.client().operate_once(self.shared.name(), |_| Drain).await;
        drained.map_err(|failed| failed.error)
    }

    async fn add(&self, op: &'static str, permits: i32) -> Result<()> {
        self.shared.check_open(op)?;
        let semaphore = self.clone();
        let adding = async move {
            let name = semaphore.shared.name();
            let answered = semaphore.shared.primitive().take_answered();
            let add = |once| Add { once, permits, answered: answered.clone() };
            let added = semaphore.client().operate_once_or_again(name, add).await;
            let (added, request) = added.map_err(|failed| failed.error.renamed(op))?;
            request.iter().for_each(|request| semaphore.shared.primitive().is_answered(request.id()));
            semaphore.settle(op, permits, added)
        };
        let added = self.client().tasks.operation(adding).await;
        added.unwrap_or_else(|| Err(cut_off(op, &self.client().tasks, "the release").on(self.key())))
    }

    fn settle(&self, op: &'static str, permits: i32, added: Added) -> Result<()> {
        match added {
            Added::Done { announced: true } => {}
            Added::Done { announced: false } => {
                let message = format!(
                    "released, but the server's access rules forbid to tell the waiters, who come by their timers; allow the \
                     channels with {}",
                    channels::<<Add as Step>::State>()
                );
                self.client().events.emit(Level::Warn, Some(self.key()), message);
            }
            Added::OutOfRange { available } => {
                let given = format_args!("{permits} permits cannot be added to {available}");
                let allowed = format!("a sum of up to {MAX_PERMITS}, or as many below 0");
                return Err(Error::refused(ErrorKind::InvalidArgument, op, given, allowed).on(self.key()));
            }
        }
        Ok(())
    }

    fn out_of_range(&self, op: &'static str, permits: u32, least: u32) -> Error {
        let given = format_args!("{permits} permits are out of range");
        Error::refused(ErrorKind::InvalidArgument, op, given, format!("{least} to {MAX_PERMITS}")).on(self.key())
    }

    fn client(&self) -> &Context {
        self.shared.client()
    }
}

impl Drop for CountingSemaphore {
    fn drop(&mut self) {
        self.client().tasks.leak_if_forked(&self.shared);
    }
}

impl fmt::Debug for CountingSemaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CountingSemaphore").field("name", self.shared.name()).finish()
    }
}
