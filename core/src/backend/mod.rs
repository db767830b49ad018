//! Where steps run: on a server, or in this process. Both give the same promises to what stands above.

mod hub;
mod memory;
mod redis;

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use hub::{Heard, Listen, Subscription};
pub(crate) use redis::{Answer, Members, OneServer, Quorum, Round};
use tracing::Span;

use crate::config::{Config, Options, Target};
use crate::error::{Error, Result};
use crate::event::Level;
use crate::name::ObjectName;
use crate::span;
use crate::stats::Counters;
use crate::step::{Batch, BatchStep, JointStep, PubSub, Step};
use crate::task::Tasks;
use crate::time::{ServerTime, Tick};

/// A step that was carried out.
#[derive(Clone, Debug)]
pub(crate) struct Done<R> {
    pub(crate) reply: R,
    /// When its first attempt was sent: what a lease is counted from.
    pub(crate) sent: Tick,
    /// Set when an earlier attempt got no reply: its bytes may still arrive, and take effect until this time.
    pub(crate) echo_until: Option<Tick>,
    /// The server that carried it out.
    pub(crate) reached: Reached,
}

/// The server that a connection has reached, as far as the client can tell servers apart. An answer is that server's, whatever
/// the client has found out while it was on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reached {
    /// See [`Backend::server_generation`].
    pub(crate) generation: u64,
    /// See [`Backend::moves`].
    pub(crate) moves: u64,
}

/// How many replicas must have a grant before it counts, and how long the grant waits for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequiredReplicas {
    pub(crate) count: u32,
    pub(crate) timeout: Duration,
}

impl RequiredReplicas {
    /// `None` if a grant counts without replicas.
    pub(crate) fn of(options: &Options) -> Option<RequiredReplicas> {
        let required = RequiredReplicas { count: options.replicas, timeout: options.replica_timeout };
        (required.count > 0).then_some(required)
    }
}

/// A step that failed, or whose outcome is unknown.
#[derive(Clone, Debug)]
pub(crate) struct Failed {
    pub(crate) error: Error,
    /// Set when it may have been, or may yet be, carried out: until this time.
    pub(crate) echo_until: Option<Tick>,
    /// Nothing is wrong with the step: the server cannot be reached, or refuses for a reason that passes.
    pub(crate) away: bool,
}

impl Failed {
    /// Names the object in the error.
    pub(crate) fn on(self, name: &ObjectName) -> Failed {
        Failed { error: self.error.on(name.as_str()), ..self }
    }

    /// Names the option `operation_timeout`, which is `limit`, if it was over at `deadline` and that ended the call.
    pub(crate) fn naming_timeout(self, limit: Duration, deadline: Tick, now: Tick) -> Failed {
        if !self.away || now < deadline {
            return self;
        }
        let message = format!("{}; gave up after {limit:?} (operation_timeout)", self.error.message());
        Failed { error: self.error.retold(self.error.op(), message), ..self }
    }
}

/// Until when bytes of an attempt without an answer may take effect, if there was one.
pub(crate) fn echo_until<R>(outcome: &Result<Done<R>, Failed>) -> Option<Tick> {
    match outcome {
        Ok(done) => done.echo_until,
        Err(failed) => failed.echo_until,
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed { error, echo_until: None, away: false }
    }
}

/// What came of one request of several that were sent in one write. `None` when nothing was done and it is worth to ask for it
/// by itself: it was not sent, or the server refused it for a reason that passes.
pub(crate) type Tried<R> = Option<Result<Done<R>, Failed>>;

/// Runs steps.
pub(crate) enum Backend {
    /// One server.
    Redis(redis::RedisBackend),
    Cluster(redis::Cluster),
    /// Several servers, of which a majority grants a lock.
    Quorum(Arc<Quorum>),
    Memory(memory::MemoryBackend),
}

/// A request within its span.
async fn traced<T>(span: Span, running: impl Future<Output = Result<T, Failed>>) -> Result<T, Failed> {
    let told = |span: &Span, _: &T| {
        span.record("outcome", "answered");
    };
    span::within(span, running, told, |failed| &failed.error).await
}

impl Backend {
    /// Reaches the server within `connect_timeout`, or says why not.
    pub(crate) async fn connect(config: &Config, tasks: &Tasks, counters: &Arc<Counters>) -> Result<Backend> {
        let backend = match &config.target {
            Target::Memory(name) => Backend::Memory(memory::MemoryBackend::open(name.as_deref(), config.clock.clone())),
            Target::Cluster(nodes) => Backend::Cluster(redis::Cluster::connect(nodes, config, tasks, counters).await?),
            Target::Quorum(servers) => {
                Backend::Quorum(Arc::new(Quorum::connect(servers, config, tasks, counters).await?))
            }
            target => Backend::Redis(redis::RedisBackend::connect(target, config, tasks, counters).await?),
        };
        if config.options.tls_danger_accept_any_certificate {
            let message = format!(
                "the certificate of {} is not verified (tls_danger_accept_any_certificate): whoever is on the way can read and \
                 change everything",
                config.target
            );
            config.events.emit(Level::Warn, None, message);
        }
        Ok(backend)
    }

    /// Whether all names are on one server: then there is none that others would have to wait for.
    pub(crate) fn is_one_server(&self) -> bool {
        matches!(self, Backend::Redis(_) | Backend::Memory(_))
    }

    /// Runs one step on one object, with retries until `deadline` where the step allows them. The first attempt is made on the
    /// calling thread if that [may block](crate::embed::may_block).
    pub(crate) async fn run<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
    ) -> Result<Done<S::Reply>, Failed> {
        self.run_for(name, step, deadline, deadline).await
    }

    /// As [`Backend::run`], for a caller that waits until `caller`: its thread is not blocked for longer.
    pub(crate) async fn run_for<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
        caller: Tick,
    ) -> Result<Done<S::Reply>, Failed> {
        let running = async {
            match self {
                Backend::Redis(redis) => redis.run(name, step, deadline, caller).await,
                Backend::Cluster(cluster) => cluster.run(name, step, deadline, caller).await,
                Backend::Quorum(quorum) => Err(quorum.refuse(S::OP).on(name)),
                Backend::Memory(memory) => memory.run(name, step).map_err(Failed::from),
            }
        };
        traced(span::request(S::OP, name.as_str()), running).await
    }

    /// As [`Backend::run`], for a caller with an answer of its own: one attempt, which fails as soon as the server refuses for
    /// now or there is no connection to it. Unless it is `known_away`, a broken connection gets a moment to be replaced.
    pub(crate) async fn run_while_there<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
        known_away: bool,
    ) -> Result<Done<S::Reply>, Failed> {
        let running = async {
            match self {
                Backend::Redis(redis) => redis.run_while_there(name, step, deadline, known_away).await,
                Backend::Cluster(cluster) => cluster.run_while_there(name, step, deadline, known_away).await,
                Backend::Quorum(quorum) => Err(quorum.refuse(S::OP).on(name)),
                Backend::Memory(memory) => memory.run(name, step).map_err(Failed::from),
            }
        };
        traced(span::request(S::OP, name.as_str()), running).await
    }

    /// Runs steps of one kind, which must not be repeated, by requests that are written at once: each is carried out and answered
    /// by itself, those of one server in their order. One attempt. `alone`, for a caller with an answer of its own: whether the
    /// server is known to be away; see [`Backend::run_while_there`].
    pub(crate) async fn run_pipelined<S: Step>(
        &self,
        items: &[(&ObjectName, &S)],
        deadline: Tick,
        alone: Option<bool>,
    ) -> Vec<Tried<S::Reply>> {
        const { assert!(!S::IDEMPOTENT, "a step whose reply was lost would have to be repeated") };
        match self {
            Backend::Redis(redis) => redis.run_pipelined(items, deadline, alone, true).await,
            Backend::Cluster(cluster) => cluster.run_pipelined(items, deadline, alone).await,
            Backend::Quorum(quorum) => items.iter().map(|(name, _)| Some(Err(quorum.refuse(S::OP).on(name)))).collect(),
            Backend::Memory(memory) => {
                items.iter().map(|(name, step)| Some(memory.run(name, *step).map_err(Failed::from))).collect()
            }
        }
    }

    /// Runs one kind of step over many names, in one script call: a reply for each. At most [`BatchStep::CHUNK`] of them.
    pub(crate) async fn run_batch<S: BatchStep>(
        &self,
        batch: Batch<S>,
        deadline: Tick,
    ) -> Result<Done<Vec<S::Reply>>, Failed> {
        match self {
            Backend::Redis(redis) => redis.run_batch(&batch, deadline).await,
            Backend::Cluster(cluster) => cluster.run_batch(&batch, deadline).await,
            Backend::Quorum(quorum) => Err(quorum.refuse(S::OP)),
            Backend::Memory(memory) => Ok(memory.run_batch(&batch)),
        }
    }

    /// As [`Backend::run_batch`], of a step that changes all of the objects or none of them.
    pub(crate) async fn run_jointly<S: JointStep>(
        &self,
        batch: Batch<S>,
        deadline: Tick,
    ) -> Result<Done<Vec<S::Reply>>, Failed> {
        match self {
            Backend::Redis(redis) => redis.run_batch(&batch, deadline).await,
            Backend::Cluster(cluster) => cluster.run_batch(&batch, deadline).await,
            Backend::Quorum(quorum) => Err(quorum.refuse(S::OP)),
            Backend::Memory(memory) => Ok(memory.run_jointly(&batch)),
        }
    }

    /// Names with the same number may stand in one batch: on a cluster those of one slot.
    pub(crate) fn batch_of(&self, name: &ObjectName) -> u16 {
        match self {
            Backend::Cluster(_) => name.slot(),
            Backend::Redis(_) | Backend::Quorum(_) | Backend::Memory(_) => 0,
        }
    }

    /// The servers, where a majority of several grants.
    pub(crate) fn quorum(&self) -> Option<&Arc<Quorum>> {
        match self {
            Backend::Quorum(quorum) => Some(quorum),
            Backend::Redis(_) | Backend::Cluster(_) | Backend::Memory(_) => None,
        }
    }

    /// Whether names may be of more than one batch.
    pub(crate) fn has_batches(&self) -> bool {
        matches!(self, Backend::Cluster(_))
    }

    /// Whether objects can move from one server to another while both go on, so that no connection tells of it.
    pub(crate) fn moves_objects(&self) -> bool {
        matches!(self, Backend::Cluster(_))
    }

    /// A number of the server of the object of this name, which tells it from others of the client.
    pub(crate) fn server_of(&self, name: &ObjectName) -> u64 {
        match self {
            Backend::Cluster(cluster) => cluster.server_of(name),
            Backend::Redis(_) | Backend::Quorum(_) | Backend::Memory(_) => 0,
        }
    }

    /// Whether messages can be said in the slot of an object alone.
    pub(crate) fn has_messages_of_slots(&self) -> bool {
        matches!(self, Backend::Cluster(cluster) if cluster.pubsub() == PubSub::Sharded)
    }

    /// How many replicas have what the server `reached` granted under this name before this call. Counts up to
    /// [`RequiredReplicas::count`], and no longer than its timeout. Cancel safe.
    pub(crate) async fn count_replicas(&self, name: &ObjectName, reached: Reached) -> Result<u32, Failed> {
        match self {
            Backend::Redis(redis) => redis.count_replicas(name, reached).await,
            Backend::Cluster(cluster) => cluster.count_replicas(name, reached).await,
            // The option goes with no quorum.
            Backend::Quorum(_) | Backend::Memory(_) => Ok(0),
        }
    }

    /// Listens on a channel of the object of this name until the subscription is dropped. The listener hears every message, and
    /// [`Heard::Subscribed`] when the server has confirmed the subscription and after every interruption,
    /// [`Heard::Interrupted`] at its beginning, or [`Heard::Refused`].
    pub(crate) fn subscribe(&self, name: &ObjectName, channel: &str, listen: Listen) -> Subscription {
        match self {
            Backend::Redis(redis) => redis.subscribe(channel, listen),
            Backend::Cluster(cluster) => cluster.subscribe(name, channel, listen),
            Backend::Quorum(quorum) => quorum.subscribe(channel, listen),
            Backend::Memory(memory) => memory.subscribe(channel, listen),
        }
    }

    /// As [`Backend::subscribe`], on a channel where the servers of all objects publish.
    pub(crate) fn subscribe_to_all(&self, channel: &str, listen: Listen) -> Subscription {
        match self {
            Backend::Redis(redis) => redis.subscribe(channel, listen),
            Backend::Cluster(cluster) => cluster.subscribe_to_all(channel, listen),
            Backend::Quorum(quorum) => quorum.subscribe(channel, listen),
            Backend::Memory(memory) => memory.subscribe(channel, listen),
        }
    }

    /// Changes when the client finds the object of this name on another server than before (a restart, a failover).
    pub(crate) fn server_generation(&self, name: &ObjectName) -> u64 {
        match self {
            Backend::Redis(redis) => redis.server_generation(),
            Backend::Cluster(cluster) => cluster.server_generation(name),
            // A hold outlives the restart of one server.
            Backend::Quorum(_) | Backend::Memory(_) => 0,
        }
    }

    /// The last move of the object of this name: that the client may have found it on another server. As
    /// [`Backend::server_generation`], and also where two servers cannot be told apart. The moves of all objects are numbered in
    /// one row, from 1 on; 0 before the first.
    pub(crate) fn moves(&self, name: &ObjectName) -> u64 {
        match self {
            Backend::Redis(redis) => redis.moves(),
            Backend::Cluster(cluster) => cluster.moves(name),
            Backend::Quorum(quorum) => quorum.last_move(),
            Backend::Memory(_) => 0,
        }
    }

    /// The last move of any object.
    pub(crate) fn last_move(&self) -> u64 {
        match self {
            Backend::Redis(redis) => redis.moves(),
            Backend::Cluster(cluster) => cluster.last_move(),
            Backend::Quorum(quorum) => quorum.last_move(),
            Backend::Memory(_) => 0,
        }
    }

    /// Completes when [`Backend::last_move`] is more than `seen`, with that. Cancel safe.
    pub(crate) async fn moved_since(&self, seen: u64) -> u64 {
        match self {
            Backend::Redis(redis) => redis.moved_since(seen).await,
            Backend::Cluster(cluster) => cluster.moved_since(seen).await,
            Backend::Quorum(quorum) => quorum.moved_since(seen).await,
            Backend::Memory(_) => std::future::pending().await,
        }
    }

    /// When the server of the object of this name last answered any call of this client. Memory answers at once:
    /// [`Tick::NEVER`], which is later than any call, says that it is never away.
    pub(crate) fn heard_at(&self, name: &ObjectName) -> Tick {
        match self {
            Backend::Redis(redis) => redis.heard_at(),
            Backend::Cluster(cluster) => cluster.heard_at(name),
            Backend::Quorum(quorum) => quorum.heard_at(),
            Backend::Memory(_) => Tick::NEVER,
        }
    }

    /// Why the server of the object of this name cannot be reached, or what it refuses for now, if that is known.
    pub(crate) fn why_away(&self, name: &ObjectName) -> Option<Error> {
        match self {
            Backend::Redis(redis) => redis.why_away(),
            Backend::Cluster(cluster) => cluster.why_away(name),
            Backend::Quorum(quorum) => quorum.why_away(),
            Backend::Memory(_) => None,
        }
    }

    /// Since when there is no connection to the server of the object of this name, if there is none.
    pub(crate) fn down_since(&self, name: &ObjectName) -> Option<Tick> {
        match self {
            Backend::Redis(redis) => redis.down_since(),
            Backend::Cluster(cluster) => cluster.down_since(name),
            Backend::Quorum(_) | Backend::Memory(_) => None,
        }
    }

    /// The time of the server of the object of this name, as far as the client knows it; `None` where
    /// the steps run in this process.
    pub(crate) fn server_time(&self, name: &ObjectName, now: Tick) -> Option<ServerTime> {
        match self {
            Backend::Redis(redis) => Some(redis.server_time(now)),
            Backend::Cluster(cluster) => Some(cluster.server_time(name, now)),
            Backend::Quorum(quorum) => Some(quorum.server_time(now)),
            Backend::Memory(_) => None,
        }
    }

    /// Asks each server that the client comes to which of the rules in `access` its user lacks for the object of this name, and
    /// tells where they are not those of the server before. Tells nothing of a server that does not say. Cancel safe.
    pub(crate) async fn watch_rights(
        &self,
        access: &'static str,
        name: &ObjectName,
        tell: impl Fn(&dyn fmt::Display, &[String]),
    ) -> Infallible {
        match self {
            Backend::Redis(redis) => redis.watch_rights(access, name, tell).await,
            Backend::Cluster(cluster) => cluster.watch_rights(access, name, tell).await,
            Backend::Quorum(quorum) => quorum.watch_rights(access, name, tell).await,
            Backend::Memory(_) => std::future::pending().await,
        }
    }

    /// Whether the reply to a step can be lost: not where the steps run in this process.
    pub(crate) fn loses_replies(&self) -> bool {
        match self {
            Backend::Redis(_) | Backend::Cluster(_) | Backend::Quorum(_) => true,
            Backend::Memory(_) => false,
        }
    }

    /// How long the bytes of one attempt may take effect after they were sent.
    pub(crate) fn attempt_budget(&self) -> Duration {
        match self {
            Backend::Redis(redis) => redis.attempt_budget(),
            Backend::Cluster(cluster) => cluster.attempt_budget(),
            Backend::Quorum(quorum) => quorum.attempt_budget(),
            Backend::Memory(_) => Duration::ZERO,
        }
    }
}

/// The server's time as far as the client knows it: the last that it saw plus monotonic time since.
#[derive(Clone, Copy, Debug)]
struct Sighting {
    server: ServerTime,
    at: Tick,
}

impl Sighting {
    fn at(&self, now: Tick) -> ServerTime {
        self.server.plus(now.since(self.at))
    }
}
