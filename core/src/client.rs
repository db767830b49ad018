//! The way in: a client is one identity on one server, with its connections, its leases and its waiters.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::backend::Backend;
use crate::config::{Config, Options};
use crate::deadline::by_deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Events, Level};
use crate::lease::{Grant, Keeper, LossReason};
use crate::limit::{LimitShared, LimiterOptions, Rate, RateLimiter, Shares};
use crate::lock::{HolderId, Inbox, Lock, LockOptions, LockShared, Renew};
use crate::name::ObjectName;
use crate::registry::Registry;
use crate::stats::{Counters, Stats};
use crate::task::{Life, Tasks};
use crate::time::{Clock, Tick};
use crate::wait::ended;

/// How long a client that closes may take to leave queues.
const LEAVING: Duration = Duration::from_millis(50);

/// A connection to Redis, Valkey or `memory://`, and everything held through it. Cheap to clone; clones are one client.
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
pub struct Client(Arc<Inner>);

/// What the primitives see of their client. Ends when the last clone and the last lock made by it are gone.
pub(crate) struct Inner {
    /// Shown in errors.
    pub(crate) target: String,
    pub(crate) options: Options,
    pub(crate) clock: Clock,
    pub(crate) events: Events,
    pub(crate) tasks: Tasks,
    pub(crate) counters: Arc<Counters>,
    pub(crate) backend: Arc<Backend>,
    pub(crate) keeper: Keeper,
    id: String,
    pub(crate) inbox: Inbox,
    attempts: AtomicU64,
    pub(crate) locks: Registry<LockShared>,
    pub(crate) limits: Registry<LimitShared>,
    pub(crate) shares: Shares,
}

impl Client {
    /// Connects as `url` says; see [`Config::from_url`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for the URL; [`ErrorKind::Connection`], naming host and port and never the password,
    /// when there is no connection within `connect_timeout`; [`ErrorKind::NoPermission`].
    ///
    /// # Panics
    /// When called outside a tokio runtime. That runtime then carries the client's tasks.
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
        let tasks = Tasks::new(Handle::current(), config.events.clone());
        // Ends what connecting has started when the caller goes away or an error comes.
        let guard = CloseOnDrop(Some(tasks.clone()));
        let counters = Arc::new(Counters::default());
        let backend = Arc::new(Backend::connect(&config, &tasks, &counters).await?);
        let keeper = Keeper::new(config.clock.clone(), config.events.clone(), counters.clone());
        keeper.start::<Renew>(&backend, &tasks);
        guard.keep();
        let client = Client(Arc::new(Inner {
            target: config.target.to_string(),
            options: config.options,
            clock: config.clock,
            events: config.events,
            tasks,
            counters,
            backend,
            keeper,
            // Version nibble 8, where Redisson's client ids have 4: a foreign holder can be told from one of ours.
            id: Uuid::new_v8(Uuid::new_v4().into_bytes()).to_string(),
            inbox: Inbox::default(),
            attempts: AtomicU64::new(0),
            locks: Registry::default(),
            limits: Registry::default(),
            shares: Shares::default(),
        }));
        let (inner, tasks) = (Arc::downgrade(&client.0), client.0.tasks.clone());
        tasks.clone().spawn(async move {
            let life = tasks.ended().await;
            inner.upgrade().into_iter().for_each(|inner: Arc<Inner>| inner.refuse_waiters(life));
        });
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
    /// As [`Client::lock`]; [`ErrorKind::InvalidArgument`] for the lease.
    pub fn lock_with(&self, name: &str, options: LockOptions) -> Result<Lock> {
        let inner = &self.0;
        let name = inner.name_of("lock", name)?;
        Lock::new(inner.lock_shared(&name), options)
    }

    /// The rate limiter of this name, without a policy for an absent server. No I/O.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidName`] as [`Client::lock`]; [`ErrorKind::InvalidArgument`] for a rate out of range, see [`Rate`].
    pub fn rate_limiter(&self, name: &str, rate: Rate) -> Result<RateLimiter> {
        self.rate_limiter_with(name, LimiterOptions::new(rate))
    }

    /// The rate limiter of this name. No I/O.
    ///
    /// # Errors
    /// As [`Client::rate_limiter`].
    pub fn rate_limiter_with(&self, name: &str, options: LimiterOptions) -> Result<RateLimiter> {
        let inner = &self.0;
        let name = inner.name_of("rate limiter", name)?;
        let shared = inner.limits.get_or_insert(&name, || LimitShared::new(name.clone(), inner.clone()));
        RateLimiter::new(shared, options)
    }

    /// The key on the server of an object of this name, as errors and events say it: with the client's key prefix. No I/O.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidName`] as [`Client::lock`].
    pub fn key_of(&self, name: &str) -> Result<String> {
        Ok(ObjectName::new(&self.0.options.key_prefix, name)?.as_str().to_owned())
    }

    /// What this client has counted since it was opened. No I/O.
    pub fn stats(&self) -> Stats {
        self.0.counters.snapshot(self.0.keeper.held())
    }

    /// Ends every hold of a holder that went away, without a word to the server: stops the renewals and warns.
    pub fn abandon(&self, holder: HolderId) {
        for lock in self.0.locks.all() {
            lock.abandon(holder);
        }
    }

    /// Closes: waiters get [`ErrorKind::Closed`], holds are told as lost and their renewal stops; their leases run out by
    /// themselves. Leaves the queues in which this process stands, for which it takes 50 ms at most. May be called again.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop the closing.
    pub async fn close(&self) {
        let inner = self.0.clone();
        inner.tasks.begin_to_close();
        inner.refuse_waiters(Life::Closing);
        inner.keeper.end(LossReason::Closed);
        let closing = self.0.tasks.runtime().spawn(async move {
            // A place that is not left costs whoever stands behind it seconds.
            let _ = tokio::time::timeout(LEAVING, inner.tasks.idle()).await;
            inner.tasks.close();
        });
        // Cut off with its runtime, there is nothing left to close.
        let _ = closing.await;
    }

    /// Releases whatever is held through this client, then closes. Waits end first, so that nobody gets what is released.
    ///
    /// # Errors
    /// The first release that could not be confirmed; the client is closed all the same.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop the closing.
    pub async fn close_releasing(&self) -> Result<()> {
        let inner = self.0.clone();
        // From here on: a lock that is dropped now must still be released, and not abandoned.
        let locks = inner.locks.all();
        let closing = self.0.tasks.runtime().spawn(async move {
            let _locks = locks;
            inner.tasks.begin_to_close();
            inner.refuse_waiters(Life::Closing);
            let first = inner.release_all().await;
            // Attempts that were under way may have been granted since. A server that does not answer holds nothing up:
            // each operation has its own deadline, and this is the latest of them.
            by_deadline(&inner.clock, inner.operation_deadline(), inner.tasks.idle()).await;
            let released = first.and(inner.release_all().await);
            inner.close();
            released
        });
        let cut_off = |_| {
            let message = "the closing was cut off: its runtime was shut down, or libdlock has a defect";
            Err(Error::new(ErrorKind::Internal, "close", message))
        };
        closing.await.unwrap_or_else(cut_off)
    }

    /// Whether the client was closed, or is being closed.
    pub fn is_closed(&self) -> bool {
        matches!(self.0.tasks.life(), Life::Closing | Life::Closed)
    }
}

impl Inner {
    fn close(&self) {
        self.tasks.close();
        self.keeper.end(LossReason::Closed);
    }

    fn refuse_waiters(&self, life: Life) {
        let error = ended("acquire", life);
        self.locks.all().iter().for_each(|lock| lock.refuse_all(&error));
    }

    /// The client's id on the wire.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The lock with this key on the server, made if nobody here uses it.
    pub(crate) fn lock_of_key(self: &Arc<Inner>, key: &str) -> Option<Arc<LockShared>> {
        // Nearly always somebody has it: a name need not be made.
        if let Some(lock) = self.locks.get(key) {
            return Some(lock);
        }
        let given = key.strip_prefix(self.options.key_prefix.as_str())?;
        let name = ObjectName::new(&self.options.key_prefix, given).ok()?;
        Some(self.lock_shared(&name))
    }

    pub(crate) fn lock_shared(self: &Arc<Inner>, name: &ObjectName) -> Arc<LockShared> {
        self.locks.get_or_insert(name, || LockShared::new(name.clone(), self.clone()))
    }

    /// Refuses calls on a client that has ended.
    pub(crate) fn check_open(&self, op: &'static str) -> Result<()> {
        match self.tasks.life() {
            Life::Open => Ok(()),
            life => Err(ended(op, life)),
        }
    }

    /// The full name of an object that is about to be made: with the key prefix, and checked.
    fn name_of(&self, op: &'static str, name: &str) -> Result<ObjectName> {
        self.check_open(op)?;
        ObjectName::new(&self.options.key_prefix, name)
    }

    /// An owner that no attempt had before: what makes a retry recognisable.
    pub(crate) fn next_owner(&self) -> String {
        format!("{}:{}", self.id, self.attempts.fetch_add(1, Ordering::Relaxed) + 1)
    }

    pub(crate) fn owns(&self, owner: &str) -> bool {
        owner.strip_prefix(self.id.as_str()).is_some_and(|rest| rest.starts_with(':'))
    }

    /// When a call that does not wait has to be over.
    pub(crate) fn operation_deadline(&self) -> Tick {
        self.clock.now().plus(self.options.operation_timeout)
    }

    pub(crate) fn abandon_grant(&self, grant: &Grant) {
        self.keeper.forget(grant);
        if grant.lose(LossReason::Closed) {
            self.counters.lost();
            let message = format!(
                "abandoned while held, token {}: its holder went away; the lease runs out by itself",
                grant.token()
            );
            self.events.emit(Level::Warn, Some(grant.name().as_str()), message);
        }
    }

    /// Releases everything that is held, all at once; the first error of any.
    async fn release_all(&self) -> Result<()> {
        let mut releases = JoinSet::new();
        for lock in self.locks.all() {
            for grant in lock.take_valid() {
                let lock = lock.clone();
                releases.spawn_on(async move { lock.release(grant).await }, self.tasks.runtime());
            }
        }
        releases.join_all().await.into_iter().collect()
    }
}

struct CloseOnDrop(Option<Tasks>);

impl CloseOnDrop {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        if let Some(tasks) = &self.0 {
            tasks.close();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.tasks.close();
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.0;
        f.debug_struct("Client")
            .field("target", &inner.target)
            .field("id", &inner.id)
            .field("life", &inner.tasks.life())
            .finish()
    }
}
