//! The way in: the constructors of a client and of everything that it opens. Only this module, [`survey`](crate::survey) below
//! it and [`embed`](crate::embed) above it may know more than one primitive.

use std::fmt;
use std::sync::Arc;

use libdlock_fork::without_signals;
use tokio::runtime::Builder;

use crate::bloom::{BloomFilter, BloomFilterOptions};
use crate::config::Config;
use crate::context::Context;
use crate::counting_semaphore::{CountingSemaphore, CountingSemaphores};
use crate::error::{Error, ErrorKind, Result};
use crate::id::{self, Worker, WorkerOptions};
use crate::id_generator::{IdGenerator, IdGeneratorOptions};
use crate::latch::{Latch, Latches};
use crate::lease::HolderId;
use crate::limit::{LimiterOptions, Limits, RateLimiter, Rates};
use crate::lock::{Lock, LockAll, LockOptions, Locks, Renew};
use crate::name::ObjectName;
use crate::queue::{self, Queue, QueueOptions, Queues};
use crate::rw_lock::{self, RwLock, RwLockOptions, RwLocks};
use crate::semaphore::{self, Semaphore, SemaphoreOptions, Semaphores};
use crate::stats::{Held, Stats};
use crate::survey::Survey;
use crate::task::{Life, OwnRuntime};

/// A connection to Redis, Valkey or `memory://`, and everything held through it. Cheap to clone; clones are one client.
///
/// # Fork
/// A forked child has no part in its parent's client: calls fail with [`ErrorKind::Forked`] there, its holds are not valid, and
/// dropping it does nothing. The child opens a client of its own.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let client = libdlock::Client::connect("memory://").await?;
/// let lock = client.lock("reports/2026")?;
/// let held = lock.acquire().await?;
/// println!("token {}", held.token());
/// held.release().await?;
/// # Ok::<(), libdlock::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Client(Arc<Parts>);

/// What objects are made from: the context, and what those of one kind share beyond it.
struct Parts {
    context: Arc<Context>,
    locks: Arc<Locks>,
    limits: Arc<Limits>,
    semaphores: Arc<Semaphores>,
    queues: Arc<Queues>,
    rw_locks: Arc<RwLocks>,
    counting: Arc<CountingSemaphores>,
    latches: Arc<Latches>,
}

impl Client {
    /// Connects as `url` says; see [`Config::from_url`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for the URL; [`ErrorKind::Connection`], naming host and port and never the password,
    /// when there is no connection within `connect_timeout`, or within `connect_wait` if that is longer;
    /// [`ErrorKind::NoPermission`].
    ///
    /// # Panics
    /// When called outside a tokio runtime. That runtime then carries the client's tasks: when it is shut down the client is
    /// closed, its holds are lost, and calls on it fail with [`ErrorKind::Closed`].
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    pub async fn connect(url: &str) -> Result<Client> {
        Client::connect_with(Config::from_url(url)?).await
    }

    /// Connects as `config` says.
    ///
    /// # Errors, panics and cancel safety
    /// As [`Client::connect`].
    pub async fn connect_with(config: Config) -> Result<Client> {
        let context = Context::connect(config).await?;
        let (locks, limits) = (Locks::start(&context), Limits::new(&context));
        let latches = Latches::new(&context);
        let (semaphores, rw_locks) = (Semaphores::start(&context), RwLocks::start(&context));
        let queues = Queues::start(&context);
        let counting = CountingSemaphores::start(&context);
        Ok(Client(Arc::new(Parts { context, locks, limits, semaphores, queues, rw_locks, counting, latches })))
    }

    /// Connects as `url` says, on the calling thread, for programs without an asynchronous runtime. The client brings a
    /// runtime of its own, with [`Config::runtime_threads`] threads, which ends with the client.
    ///
    /// ```
    /// let client = libdlock::Client::blocking_connect("memory://")?;
    /// let lock = client.lock("reports/2026")?;
    /// let held = client.block_on(lock.acquire())?;
    /// println!("token {}", held.token());
    /// client.block_on(held.release())?;
    /// # Ok::<(), libdlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Client::connect`]; [`ErrorKind::Internal`] when the operating system gives no thread.
    ///
    /// # Panics
    /// Within an asynchronous task, which must not block.
    pub fn blocking_connect(url: &str) -> Result<Client> {
        Client::blocking_connect_with(Config::from_url(url)?)
    }

    /// Connects as `config` says; see [`Client::blocking_connect`].
    ///
    /// # Errors and panics
    /// As [`Client::blocking_connect`].
    pub fn blocking_connect_with(config: Config) -> Result<Client> {
        let no_runtime = |error| {
            let message = format!("no runtime could be started: {error}");
            Error::new(ErrorKind::Internal, "connect", message)
        };
        let mut threads = Builder::new_multi_thread();
        let threads = threads.worker_threads(config.runtime_threads()).thread_name("libdlock").enable_all();
        let runtime = OwnRuntime::new(without_signals(|| threads.build()).map_err(no_runtime)?);
        let client = runtime.get().block_on(Client::connect_with(config))?;
        client.context().own(runtime);
        Ok(client)
    }

    /// The lock of this name, with the client's defaults. No I/O.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidName`]: a name is 1 to 512 bytes of UTF-8, key prefix included, without NUL, and its braces, if
    /// any, form one hash tag.
    pub fn lock(&self, name: &str) -> Result<Lock> {
        self.lock_with(name, LockOptions::default())
    }

    /// The lock of this name. No I/O.
    ///
    /// # Errors
    /// As [`Client::lock`]; [`ErrorKind::InvalidArgument`] for the lease or the watchdog's.
    pub fn lock_with(&self, name: &str, options: LockOptions) -> Result<Lock> {
        Lock::open(&self.0.locks, name, options)
    }

    /// The locks of these names as one, with the client's defaults: [`LockAll`] takes all of them or none. A name that is given
    /// twice counts once. On a node of a cluster all of them need one hash tag. No I/O.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidName`] as [`Client::lock`]; [`ErrorKind::InvalidArgument`] for no name, or more than
    /// [`MAX_LOCKS`](crate::lock::MAX_LOCKS) different ones; [`ErrorKind::Unsupported`] with several independent servers
    /// (`redis+quorum`).
    pub fn lock_all<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) -> Result<LockAll> {
        self.lock_all_with(names, LockOptions::default())
    }

    /// The locks of these names as one. No I/O.
    ///
    /// # Errors
    /// As [`Client::lock_all`]; [`ErrorKind::InvalidArgument`] also for the lease or the watchdog's.
    pub fn lock_all_with<N: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = N>,
        options: LockOptions,
    ) -> Result<LockAll> {
        LockAll::open(&self.0.locks, names, options)
    }

    /// The semaphore of this name, with the client's defaults, which has so many permits when it is made on the server. No I/O.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidName`] as [`Client::lock`]; [`ErrorKind::InvalidArgument`] for 0 permits or too many;
    /// [`ErrorKind::Unsupported`] with several independent servers (`redis+quorum`).
    pub fn semaphore(&self, name: &str, permits: u32) -> Result<Semaphore> {
        self.semaphore_with(name, SemaphoreOptions::new(permits))
    }

    /// The semaphore of this name. No I/O.
    ///
    /// # Errors
    /// As [`Client::semaphore`]; [`ErrorKind::InvalidArgument`] also for the lease or the watchdog's.
    pub fn semaphore_with(&self, name: &str, options: SemaphoreOptions) -> Result<Semaphore> {
        Semaphore::open(&self.0.semaphores, name, options)
    }

    /// The delayed queue of this name, with the client's defaults. No I/O.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidName`] as [`Client::lock`]; [`ErrorKind::Unsupported`] with several independent servers
    /// (`redis+quorum`).
    pub fn queue(&self, name: &str) -> Result<Queue> {
        self.queue_with(name, QueueOptions::default())
    }

    /// The delayed queue of this name. No I/O.
    ///
    /// # Errors
    /// As [`Client::queue`]; [`ErrorKind::InvalidArgument`] also for what the options say.
    pub fn queue_with(&self, name: &str, options: QueueOptions) -> Result<Queue> {
        Queue::open(&self.0.queues, name, options)
    }

    /// The counting semaphore of this name, which Redisson calls `RSemaphore`: its permits have no owner and no lease. Where none
    /// of its clients has to share it, use a [`semaphore`](Client::semaphore). No I/O.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidName`] as [`Client::lock`]; [`ErrorKind::Unsupported`] with several independent servers
    /// (`redis+quorum`).
    pub fn counting_semaphore(&self, name: &str) -> Result<CountingSemaphore> {
        CountingSemaphore::open(&self.0.counting, name)
    }

    /// The read-write lock of this name, with the client's defaults. No I/O.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidName`] as [`Client::lock`]; [`ErrorKind::Unsupported`] with several independent servers
    /// (`redis+quorum`).
    pub fn rw_lock(&self, name: &str) -> Result<RwLock> {
        self.rw_lock_with(name, RwLockOptions::default())
    }

    /// The read-write lock of this name. No I/O.
    ///
    /// # Errors
    /// As [`Client::rw_lock`]; [`ErrorKind::InvalidArgument`] for the lease or the watchdog's.
    pub fn rw_lock_with(&self, name: &str, options: RwLockOptions) -> Result<RwLock> {
        RwLock::open(&self.0.rw_locks, name, options)
    }

    /// The count-down latch of this name. No I/O.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidName`] as [`Client::lock`]; [`ErrorKind::Unsupported`] with several independent servers
    /// (`redis+quorum`).
    pub fn latch(&self, name: &str) -> Result<Latch> {
        self.0.latches.open(name)
    }

    /// The generator of ids of this name, in blocks of [`DEFAULT_BLOCK`](crate::id_generator::DEFAULT_BLOCK) unless the server
    /// knows another size. No I/O.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidName`] as [`Client::lock`]; [`ErrorKind::Unsupported`] with several independent servers
    /// (`redis+quorum`).
    pub fn id_generator(&self, name: &str) -> Result<IdGenerator> {
        self.id_generator_with(name, IdGeneratorOptions::default())
    }

    /// The generator of ids of this name. No I/O.
    ///
    /// # Errors
    /// As [`Client::id_generator`]; [`ErrorKind::InvalidArgument`] for the size of a block.
    pub fn id_generator_with(&self, name: &str, options: IdGeneratorOptions) -> Result<IdGenerator> {
        IdGenerator::open(self.context(), name, options)
    }

    /// The Bloom filter of this name, made for so many items and this rate of false positives. No I/O.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidName`] as [`Client::lock`]; [`ErrorKind::InvalidArgument`] for 0 items, for a rate that is not between 0
    /// and 1, and for a filter that would have no bit, or more than [`MAX_SIZE`](crate::bloom::MAX_SIZE);
    /// [`ErrorKind::Unsupported`] with several independent servers (`redis+quorum`).
    pub fn bloom_filter(&self, name: &str, expected: u64, false_positive_rate: f64) -> Result<BloomFilter> {
        self.bloom_filter_with(name, BloomFilterOptions::new(expected, false_positive_rate))
    }

    /// The Bloom filter of this name. No I/O.
    ///
    /// # Errors
    /// As [`Client::bloom_filter`]; [`ErrorKind::InvalidArgument`] also for the time to live.
    pub fn bloom_filter_with(&self, name: &str, options: BloomFilterOptions) -> Result<BloomFilter> {
        BloomFilter::open(self.context(), name, options)
    }

    /// The rate limiter of this name, with one [`Rate`](crate::Rate) or several, without a policy for an absent server. No I/O.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidName`] as [`Client::lock`]; [`ErrorKind::InvalidArgument`] for a rate out of range, see
    /// [`Rate`](crate::Rate), and for rates that contradict each other, see [`Rates`];
    /// [`ErrorKind::Unsupported`] with several independent servers (`redis+quorum`).
    pub fn rate_limiter(&self, name: &str, rates: impl Into<Rates>) -> Result<RateLimiter> {
        self.rate_limiter_with(name, LimiterOptions::new(rates))
    }

    /// The rate limiter of this name. No I/O.
    ///
    /// # Errors
    /// As [`Client::rate_limiter`].
    pub fn rate_limiter_with(&self, name: &str, options: LimiterOptions) -> Result<RateLimiter> {
        self.0.limits.open(name, options)
    }

    /// Leases a worker number of this pool, the lowest that is free, of 10 bits: 0 to 1,023. All processes whose ids have to differ
    /// use one pool. No two have the same number at a time, so that none has to be handed out.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when all are taken; it says how many are, and when the next may be free, which
    /// [`Error::retry_after`] has too. [`ErrorKind::InvalidName`] as [`Client::lock`]; [`ErrorKind::Unsupported`] with several
    /// independent servers (`redis+quorum`). [`ErrorKind::Connection`] and [`ErrorKind::OutcomeUnknown`] when the server did not
    /// answer within `operation_timeout`: what it has leased all the same is given back in the background.
    /// [`ErrorKind::WrongType`], [`ErrorKind::NoPermission`], [`ErrorKind::OutOfMemory`] and [`ErrorKind::Server`] as the server
    /// says; [`ErrorKind::Clock`] when its clock jumps back and forth; [`ErrorKind::Closed`], [`ErrorKind::Forked`] and
    /// [`ErrorKind::Internal`] as the client has ended.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing leased: what the server has leased meanwhile is given back in the background.
    pub async fn worker(&self, pool: &str) -> Result<Worker> {
        self.worker_with(pool, WorkerOptions::default()).await
    }

    /// Leases a worker number of this pool.
    ///
    /// # Errors and cancel safety
    /// As [`Client::worker`]; [`ErrorKind::InvalidArgument`] for the bits or the lease.
    pub async fn worker_with(&self, pool: &str, options: WorkerOptions) -> Result<Worker> {
        Worker::lease(self.context(), pool, options).await
    }

    /// The key on the server of an object of this name, as errors and events say it: with the client's key prefix. No I/O.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidName`] as [`Client::lock`].
    pub fn key_of(&self, name: &str) -> Result<String> {
        Ok(ObjectName::new(&self.context().options.key_prefix, name)?.as_str().to_owned())
    }

    /// Looks at the servers, for tools: which objects there are, who waits, how each server is set up. No I/O.
    pub fn survey(&self) -> Survey {
        Survey::of(self.context())
    }

    /// What this client has counted since it was opened. No I/O.
    pub fn stats(&self) -> Stats {
        let context = self.context();
        if context.tasks.is_forked() {
            return context.counters.snapshot(Held::default());
        }
        let keeper = &context.keeper;
        context.counters.snapshot(Held {
            locks: keeper.held::<Renew>(),
            semaphores: keeper.held::<semaphore::Renew>(),
            rw_locks: keeper.held::<rw_lock::Renew>(),
            workers: keeper.held::<id::worker::Renew>(),
            deliveries: keeper.held::<queue::Renew>(),
        })
    }

    /// Ends every hold of a holder that went away, without a word to the server: stops the renewals and warns.
    pub(crate) fn abandon(&self, holder: HolderId) {
        self.context().abandon(holder);
    }

    /// Ends what [`Lock::keep_while_held`] began, for all locks: holds end with the last
    /// [`Lock`](crate::Lock) of their name again.
    pub(crate) fn let_go(&self) {
        self.context().let_go();
    }

    /// Closes: waiters get [`ErrorKind::Closed`], holds are told as lost and their renewal stops; their leases run out by
    /// themselves. Leaves the queues in which this process stands, for which it takes 50 ms at most. May be called again.
    ///
    /// After a lost reply, bytes of an acquire may still arrive and take a lock for nobody. Normally that is undone once no
    /// more of them can take effect. What of it has arrived is undone within the 50 ms; bytes that arrive later take the lock
    /// until the lease runs out. [`Client::close_releasing`] waits for them.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop the closing.
    pub async fn close(&self) {
        self.context().close().await;
    }

    /// Releases whatever is held through this client, then closes. Waits end first, so that nobody of this client gets what is
    /// released. Holders are told as by [`Client::close`]: their holds are lost, because others may get them at once. When a
    /// reply was lost a moment before, waits until the bytes of that acquire can take no lock any more: about four
    /// `response_timeout`, and `operation_timeout` at most.
    ///
    /// # Errors
    /// The first release that could not be confirmed; the client is closed all the same.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop the closing.
    pub async fn close_releasing(&self) -> Result<()> {
        self.context().close_releasing().await
    }

    /// Runs a call of this client to its end on the calling thread, which blocks: for threads that run no tasks, with a client
    /// of any kind. The thread does the round trip itself, on a connection of its own if one of `blocking_connections` is free,
    /// which takes a third less time than the way through the runtime.
    ///
    /// ```
    /// # let client = libdlock::Client::blocking_connect("memory://")?;
    /// let api = client.rate_limiter("api", libdlock::Rate::new(100, std::time::Duration::from_secs(1)))?;
    /// assert!(client.block_on(api.try_acquire(1))?.allowed);
    /// client.block_on(client.close());
    /// # Ok::<(), libdlock::Error>(())
    /// ```
    ///
    /// # Panics
    /// Within an asynchronous task, when the call has to wait.
    pub fn block_on<T>(&self, call: impl Future<Output = T>) -> T {
        self.context().tasks.block_on(call)
    }

    /// Whether the client was closed, or is being closed.
    pub fn is_closed(&self) -> bool {
        matches!(self.context().tasks.life(), Life::Closing | Life::ClosingAtOnce | Life::Closed)
    }

    fn context(&self) -> &Arc<Context> {
        &self.0.context
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.context().tasks.leak_if_forked(&self.0);
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let context = self.context();
        f.debug_struct("Client")
            .field("target", &context.target)
            .field("id", &context.id())
            .field("life", &context.tasks.life())
            .finish()
    }
}
