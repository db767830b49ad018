//! The generator as users see it.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use super::identity::{Identities, Identity, Member, Shared};
use super::layout::{Fields, Layout, Parts, refuse};
use super::timeline::Machine;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{EventSink, Events, Level};

/// The most ids that one call makes.
pub const MAX_BATCH: usize = 1_000_000;
/// The farthest that ids may run ahead of the clock.
pub const MAX_BORROW: Duration = Duration::from_millis(10);
/// The longest that a start may wait for the clock.
pub const MAX_START_WAIT: Duration = Duration::from_secs(60);

/// Long enough for the step of a clock that is kept in time, short enough to be waited for in a constructor.
const START_WAIT: Duration = Duration::from_secs(1);

/// A generator of ids for one datacenter and worker: numbers that are given, or leased by a [`Worker`](super::Worker). Cheap to
/// clone; clones and other generators of the same layout and numbers in this process share their state, so that they make no
/// duplicates either. Numbers that are given and leased ones do not share it.
///
/// Every id is larger than all that this process made before it under the same layout and numbers, and none comes twice.
///
/// # Clocks
/// Its time is the wall clock's when it starts. From then on it never steps, and follows the wall clock at no more than 500
/// millionths of the time that passes: faster than clocks drift apart, so that ids of a generator that ran for months still
/// say when they were made, to a few milliseconds. A clock that was set by an hour is followed in 83 days; until then ids are
/// early or late by the rest. A generator that is 10 s ahead or more warns, see [`on_event`](SnowflakeBuilder::on_event).
///
/// # Blocking
/// `next_id` takes no lock (but once a second, to look at the wall clock), and makes no system call but to read the clock
/// (which mostly is none). When the ids of a
/// millisecond are used up it sleeps until the next one: less than a millisecond, unless other threads are quicker. That is
/// no more than a task may do between two awaits. [`next_ids`](Snowflake::next_ids) sleeps as often as it needs
/// milliseconds, 244 of them for a million ids of the default layout: give a large batch to `spawn_blocking`.
///
/// # Fork and snapshots
/// A copy of a process that shares its memory's past makes the same ids under the same numbers: after a restored snapshot (a
/// cloned virtual machine, CRaC) make generators anew, each copy with a worker number of its own. A forked child has no part in
/// its parent's generators: all calls fail with [`ErrorKind::Forked`] there. It makes its own, under a worker number of its
/// own.
///
/// ```
/// let ids = libdlock::Snowflake::new(1, 7)?; // this process's numbers, and no other's
/// let order = ids.next_id()?;
/// assert!(ids.next_ids(1000)?.iter().all(|line| *line > order));
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone)]
pub struct Snowflake(Arc<Inner>);

struct Inner {
    fields: Fields,
    datacenter: u64,
    worker: u64,
    /// The bits of both in an id.
    place: u64,
    borrow_ms: u64,
    number: Number,
    /// Its sink never sees a panic go by, and nothing of it is left halfway.
    events: AssertUnwindSafe<Events>,
}

/// Where a generator's number comes from.
enum Number {
    /// From its user, who says that nobody else has it.
    Given(Member),
    Leased(Leased),
}

/// A number under a lease, and the slots that were used during it.
pub(super) struct Leased {
    /// Read from, and never left halfway.
    pub(super) lease: AssertUnwindSafe<Arc<dyn NumberLease>>,
    pub(super) shared: Arc<Shared>,
}

/// The lease of a number, as a generator sees it.
pub(super) trait NumberLease: Send + Sync {
    /// Says that the number is held now, and may be used up to now. Ids whose time was read before may be given out then: the
    /// server has taken down a later end, on the clock that the generator's time goes by.
    ///
    /// # Errors
    /// `Lost` once the lease is over, `NotHeld` once the number was given back, `Forked`.
    fn check(&self) -> Result<()>;
}

impl Number {
    fn shared(&self) -> Result<&Shared> {
        match self {
            Number::Given(member) => member.shared(),
            Number::Leased(leased) => Ok(&leased.shared),
        }
    }

    /// See [`NumberLease::check`].
    fn check(&self) -> Result<()> {
        match self {
            Number::Given(_) => Ok(()),
            Number::Leased(leased) => leased.lease.check(),
        }
    }
}

/// How to make a [`Snowflake`]; begun by [`Snowflake::builder`].
///
/// ```
/// use libdlock::Snowflake;
/// use libdlock::id::Layout;
///
/// let ids = Snowflake::builder(0, 7).layout(Layout::named("js53")?).build()?;
/// assert!(ids.next_id()? < 1 << 53);
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone)]
pub struct SnowflakeBuilder {
    datacenter: u64,
    worker: u64,
    layout: Layout,
    borrow_ahead: Duration,
    start_wait: Duration,
    events: Events,
}

impl fmt::Debug for SnowflakeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnowflakeBuilder")
            .field("datacenter", &self.datacenter)
            .field("worker", &self.worker)
            .field("layout", &self.layout)
            .field("borrow_ahead", &self.borrow_ahead)
            .field("start_wait", &self.start_wait)
            .finish_non_exhaustive()
    }
}

impl SnowflakeBuilder {
    /// Which bits hold what; [`Layout::DEFAULT`] by default.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// How far ids may run ahead of the clock instead of waiting for the next millisecond: whole milliseconds up to
    /// [`MAX_BORROW`], none by default. It shortens bursts; the rate over time stays that of the layout. The first
    /// [`build`](Self::build) of a process waits for `at_most` and a millisecond, because a predecessor may have borrowed that
    /// time: give every process that takes over the numbers the same `at_most`, or let so much time pass.
    pub fn borrow_ahead(mut self, at_most: Duration) -> Self {
        self.borrow_ahead = at_most;
        self
    }

    /// How long [`build`](Self::build) may wait for the clock to pass the last id that this process made under the same
    /// identity: up to [`MAX_START_WAIT`], 1 s by default.
    pub fn start_wait(mut self, at_most: Duration) -> Self {
        self.start_wait = at_most;
        self
    }

    /// Receives warnings, which go to `tracing` as well: the generator is far ahead of the wall clock (10 s, and again at each
    /// doubling), or the wall clock jumped ahead of it (1 s), as after a suspension or a restored snapshot. Found out when ids
    /// are made, once a second at most.
    pub fn on_event(mut self, sink: EventSink) -> Self {
        self.events = Events(Some(sink));
        self
    }

    /// Makes the generator. Blocks only for [`borrow_ahead`](Self::borrow_ahead), and when the wall clock was set back since
    /// an earlier generator of this identity.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for the layout, for a number that does not fit it, and for durations out of range;
    /// [`ErrorKind::Clock`] when the time lies outside of what the layout has, or behind the identity's last id by more than
    /// `start_wait`.
    pub fn build(self) -> Result<Snowflake> {
        self.build_in(Identities::of_this_process()?, Machine::Real)
    }

    pub(super) fn build_in(self, identities: &'static Identities, machine: Machine) -> Result<Snowflake> {
        let fields = self.layout.fields()?;
        let place = fields.place(self.datacenter, self.worker)?;
        at_most("borrow ahead", self.borrow_ahead, MAX_BORROW)?;
        at_most("start wait", self.start_wait, MAX_START_WAIT)?;
        let borrow_ms = self.borrow_ahead.as_millis() as u64;
        let member = identities.join(Identity { fields, place }, machine, self.start_wait, borrow_ms)?;
        let Self { datacenter, worker, .. } = self;
        let events = AssertUnwindSafe(self.events);
        let number = Number::Given(member);
        Ok(Snowflake(Arc::new(Inner { fields, datacenter, worker, place, borrow_ms, number, events })))
    }
}

impl Snowflake {
    /// A generator of the default layout: `datacenter` and `worker` are 0 to 31 each, and this process's alone.
    ///
    /// # Errors
    /// As [`SnowflakeBuilder::build`].
    pub fn new(datacenter: u64, worker: u64) -> Result<Snowflake> {
        Self::builder(datacenter, worker).build()
    }

    /// Begins a generator with other than the defaults.
    pub fn builder(datacenter: u64, worker: u64) -> SnowflakeBuilder {
        SnowflakeBuilder {
            datacenter,
            worker,
            layout: Layout::DEFAULT,
            borrow_ahead: Duration::ZERO,
            start_wait: START_WAIT,
            events: Events::default(),
        }
    }

    /// One for a number under a lease.
    pub(super) fn leased(fields: Fields, (datacenter, worker): (u64, u64), leased: Leased) -> Result<Snowflake> {
        let place = fields.place(datacenter, worker)?;
        let (number, events) = (Number::Leased(leased), AssertUnwindSafe(Events::default()));
        Ok(Snowflake(Arc::new(Inner { fields, datacenter, worker, place, borrow_ms: 0, number, events })))
    }

    /// The next id. Callable from any thread; see "Blocking" above.
    ///
    /// # Errors
    /// [`ErrorKind::Clock`] past the end of the layout's time; [`ErrorKind::Forked`]. Of a [worker](super::Worker)'s generator also
    /// [`ErrorKind::Lost`] once its lease is over, and [`ErrorKind::NotHeld`] once it was released.
    pub fn next_id(&self) -> Result<i64> {
        let mut id = 0;
        self.0.fill(std::slice::from_mut(&mut id))?;
        Ok(id)
    }

    /// The next `count` ids, in increasing order: 1 to [`MAX_BATCH`]. They need not follow one another without gaps.
    ///
    /// # Errors
    /// As [`next_id`](Self::next_id); [`ErrorKind::InvalidArgument`] for the count.
    pub fn next_ids(&self, count: usize) -> Result<Vec<i64>> {
        check_batch(count)?;
        let mut ids = vec![0; count];
        self.0.fill(&mut ids)?;
        Ok(ids)
    }

    /// As [`next_ids`](Self::next_ids), as many as `ids` has room for. After an error its content is of no use.
    ///
    /// # Errors
    /// As [`next_ids`](Self::next_ids).
    pub fn fill(&self, ids: &mut [i64]) -> Result<()> {
        check_batch(ids.len())?;
        self.0.fill(ids)
    }

    /// Takes an id of this generator's layout apart; see [`Layout::decode`].
    ///
    /// # Errors
    /// As there.
    pub fn decode(&self, id: i64) -> Result<Parts> {
        self.0.fields.layout.decode(id)
    }

    /// The layout of its ids.
    pub fn layout(&self) -> Layout {
        self.0.fields.layout
    }

    /// The datacenter it was made with.
    pub fn datacenter(&self) -> u64 {
        self.0.datacenter
    }

    /// The worker it was made with.
    pub fn worker(&self) -> u64 {
        self.0.worker
    }
}

impl Inner {
    fn fill(&self, ids: &mut [i64]) -> Result<()> {
        let shared = self.number.shared()?;
        let mut done = 0;
        while done < ids.len() {
            // In this order: see `watch.rs`.
            let due_ms = shared.watch.due_ms();
            let mut unix_ms = shared.timeline.now_ms();
            if unix_ms >= due_ms {
                if let Some(message) = shared.watch.look(&shared.timeline) {
                    self.events.emit(Level::Warn, None, format!("worker {}: {message}", self.worker));
                }
                unix_ms = shared.timeline.now_ms();
            }
            let now_ms = self.fields.since_epoch(unix_ms)?;
            let newest_ms = (now_ms + self.borrow_ms).min(self.fields.last_ms());
            match shared.slots.take((ids.len() - done) as u64, now_ms, newest_ms) {
                Ok(taken) => {
                    let slots = taken.first..taken.first + taken.count;
                    for (place, slot) in ids[done..].iter_mut().zip(slots) {
                        *place = self.fields.id(slot, self.place);
                    }
                    done += taken.count as usize;
                }
                Err(used_up) => self.wait(shared, used_up.next_ms)?,
            }
        }
        // Once, and last: this thread may have stood still since it read the time. Nothing of a leased number is borrowed, so what
        // it has lies before this look.
        self.number.check()
    }

    /// Until `next_ms` may be used.
    #[cold]
    fn wait(&self, shared: &Shared, next_ms: u64) -> Result<()> {
        // A long batch does not go on to its end for nothing.
        self.number.check()?;
        // Read anew: this thread may have stood still since it last looked, while others went on.
        let now_ms = self.fields.since_epoch(shared.timeline.now_ms())?;
        // Ahead of the clock by what one millisecond, a borrowing brother and a look that moved the time back explain. More is
        // a clock that went back.
        let most_ms = MAX_BORROW.as_millis() as u64 + 2;
        if next_ms > now_ms + most_ms {
            let behind = next_ms - now_ms;
            let message = format!("the monotonic clock went back: it is {behind} ms behind the last id");
            let bearable = Duration::from_millis(behind - most_ms);
            return Err(Error::new(ErrorKind::Clock, "next id", message).retry_in(Some(bearable)));
        }
        // Past the end there is nothing to borrow: the next look at the clock then tells.
        let borrow_ms = if next_ms > self.fields.last_ms() { 0 } else { self.borrow_ms };
        let epoch_ms = self.fields.layout.epoch_ms as u64;
        shared.timeline.sleep_until(epoch_ms + next_ms - borrow_ms);
        Ok(())
    }
}

impl fmt::Debug for Snowflake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snowflake")
            .field("datacenter", &self.0.datacenter)
            .field("worker", &self.0.worker)
            .field("layout", &self.0.fields.layout)
            .finish()
    }
}

fn check_batch(count: usize) -> Result<()> {
    if (1..=MAX_BATCH).contains(&count) {
        return Ok(());
    }
    Err(refuse("next ids", format!("a batch of {count} was asked for"), format!("1 to {MAX_BATCH}")))
}

fn at_most(what: &str, given: Duration, most: Duration) -> Result<()> {
    if given <= most {
        return Ok(());
    }
    Err(refuse("snowflake", format!("{what} {given:?} is out of range"), format!("0 to {most:?}")))
}
