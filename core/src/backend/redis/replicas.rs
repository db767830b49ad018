//! Counts the replicas that have a grant, with WAIT.
//!
//! WAIT blocks its connection, so it has connections of its own. It reports on the last write of its connection: on one that has
//! written nothing it counts every replica, at once. Each WAIT therefore comes behind a SET on the same connection. The server
//! made the grant before it ran that SET, so a replica that has the SET has the grant too. The SET also shows that the server is
//! still a primary, and a node of a cluster refuses it when it gives the slot away: there each slot has a SET of its own.
//!
//! One WAIT covers all grants that are pending when it is sent. If it takes long, the next batch starts on another connection
//! after a fraction of the timeout: a replica that hangs delays a grant by no more than that fraction beyond its own timeout.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, RedisError, Value};
use tokio::sync::oneshot;

use super::dial::{Dialled, Dialler};
use super::driver::Driver;
use super::endpoint::Endpoint;
use super::link::Link;
use super::request;
use super::server::{Purpose, Server};
use super::stream::Cause;
use super::verdict::{self, StepKind, Verdict};
use crate::backend::{Failed, Reached, RequiredReplicas};
use crate::config::{Config, Target};
use crate::ended::cut_off;
use crate::error::{Error, ErrorKind, Result};
use crate::name::ObjectName;
use crate::task::{Tasks, fault_point};
use crate::time::Tick;

/// How many connections there are at most, each with one batch.
const CONNECTIONS: u32 = 8;

/// The name of the tasks, for the fault tests.
const TASK: &str = "replicas";

/// The operation's name in errors.
const OP: &str = "acquire";

/// See [`State::ACCESS`](crate::step::State::ACCESS).
const ACCESS: &str = "~dlock_replicas:* +set +wait";

/// The time to live, in ms, of the key that the SET writes. In a cluster the key must be gone when the name is granted next: while
/// a slot is being moved, the old node takes a SET of a key that it has, although the new node may have made the grant.
const TTL: u64 = 1;

/// Counts replicas for one client and one server.
pub(super) struct Replicas(Arc<Shared>);

struct Shared {
    required: RequiredReplicas,
    /// It is a node of a cluster, which may give a part of its slots away.
    by_slot: bool,
    response_timeout: Duration,
    dialler: Dialler,
    server: Server,
    tasks: Tasks,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Grants for the next batch.
    pending: Vec<Pending>,
    /// The newest batch has neither been answered nor run for [`Shared::pace`]: the next one waits.
    collecting: bool,
    /// Batches under way.
    batches: u32,
    /// The connection that was used last is used first, so that no more are open than are needed.
    idle: Vec<Connection>,
    closed: bool,
}

/// A grant to count replicas for.
struct Pending {
    name: ObjectName,
    /// What shares a SET: all that has one slot, or everything.
    part: u16,
    /// The server that made it.
    reached: Reached,
    reply: oneshot::Sender<Result<u32, Failed>>,
}

struct Connection {
    redis: MultiplexedConnection,
    endpoint: Endpoint,
    reached: Reached,
    /// Its server has told its run id.
    is_told: bool,
    /// When it last answered.
    used: Tick,
    _driver: Driver,
}

impl Replicas {
    /// `None` if a grant needs no replicas.
    pub(super) fn start(
        dialler: &Dialler,
        link: &Link,
        server: &Server,
        config: &Config,
        tasks: &Tasks,
    ) -> Option<Replicas> {
        let shared = Arc::new(Shared {
            required: RequiredReplicas::of(&config.options)?,
            by_slot: matches!(config.target, Target::Cluster(_)),
            response_timeout: config.options.response_timeout,
            dialler: dialler.clone(),
            server: server.clone(),
            tasks: tasks.clone(),
            state: Mutex::default(),
        });
        let (weak, server, link) = (Arc::downgrade(&shared), server.clone(), link.clone());
        tasks.spawn(async move {
            let mut moves = server.moves();
            loop {
                let closed = tokio::select! {
                    // With the client, or because it needs this server no more.
                    () = link.closed() => true,
                    moved = server.moved_since(moves) => {
                        moves = moved;
                        false
                    }
                };
                let Some(shared) = weak.upgrade() else { return };
                shared.drop_idle(closed);
                if closed {
                    return;
                }
            }
        });
        Some(Replicas(shared))
    }

    /// How many replicas have what the server `reached` granted before this call. Cancel safe.
    pub(super) async fn count(&self, name: &ObjectName, reached: Reached) -> Result<u32, Failed> {
        let shared = &self.0;
        let (reply, replied) = oneshot::channel();
        {
            let part = if shared.by_slot { name.slot() } else { 0 };
            let mut state = shared.state();
            state.pending.push(Pending { name: name.clone(), part, reached, reply });
            shared.start_batch(&mut state);
        }
        let limit = shared.required.timeout + shared.pace() + shared.response_timeout;
        match tokio::time::timeout(limit, replied).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(cut_off(OP, &shared.tasks, "counting the replicas").into()),
            Err(_) => Err(away(shared.dialler.error(&format!("did not answer WAIT within {limit:?}")))),
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long a batch may keep the next one waiting.
    fn pace(&self) -> Duration {
        self.required.timeout / CONNECTIONS
    }

    /// Closes idle connections: the server is another one now, or the client was closed.
    fn drop_idle(&self, closed: bool) {
        let mut state = self.state();
        state.closed |= closed;
        let idle = std::mem::take(&mut state.idle);
        drop(state);
        drop(idle);
    }

    /// Sends what is pending, unless it has to wait for the newest batch or for a connection.
    fn start_batch(self: &Arc<Self>, state: &mut State) {
        state.pending.retain(|pending| !pending.reply.is_closed());
        if state.pending.is_empty() || state.collecting || state.batches == CONNECTIONS {
            return;
        }
        let batch = std::mem::take(&mut state.pending);
        state.collecting = true;
        state.batches += 1;
        let shared = self.clone();
        self.tasks.spawn_vital(TASK, async move { shared.run(batch).await });
    }

    async fn run(self: Arc<Self>, batch: Vec<Pending>) {
        fault_point(TASK);
        let mut confirmed = pin!(self.confirm(batch));
        let is_newest = tokio::select! {
            biased;
            () = &mut confirmed => true,
            () = tokio::time::sleep(self.pace()) => {
                let mut state = self.state();
                state.collecting = false;
                self.start_batch(&mut state);
                false
            }
        };
        if !is_newest {
            confirmed.await;
        }
        let mut state = self.state();
        state.batches -= 1;
        state.collecting &= !is_newest;
        self.start_batch(&mut state);
    }

    /// Counts for all of these, and tells them.
    async fn confirm(&self, mut batch: Vec<Pending>) {
        while !batch.is_empty() {
            // Asked first: if it changes later, a move tells of it.
            let is_told = self.server.is_told();
            let (connection, is_new) = match self.connection().await {
                Ok(found) => found,
                Err(error) => return tell(batch, &Err(away(error))),
            };
            let is_of_former = |pending: &mut Pending| pending.reached.moves < connection.reached.moves;
            let of_former = batch.extract_if(.., is_of_former).collect();
            tell(of_former, &Err(away(connection.endpoint.error("has replaced the server that made the grant"))));
            if !(is_told && connection.is_told) {
                return tell(batch, &Err(hidden(&connection.endpoint).into()));
            }
            if batch.is_empty() {
                return self.keep(connection);
            }
            match self.ask(&connection, &mut batch).await {
                Ok(count) => {
                    self.keep(connection);
                    return tell(batch, &Ok(count));
                }
                // What its WAIT says would be about something else, and nobody waits for it.
                Err(NotCounted::AllRefused) => return,
                // The server may have closed it while it was idle.
                Err(NotCounted::Failed(error)) if error.is_connection_dropped() && !is_new => {}
                Err(NotCounted::Failed(error)) => return tell(batch, &Err(judge(&error, &connection.endpoint))),
            }
        }
    }

    /// A connection to the present server, and whether it is new.
    async fn connection(&self) -> Result<(Connection, bool)> {
        let clock = self.dialler.clock();
        loop {
            let idle = self.state().idle.pop();
            let Some(mut idle) = idle else { break };
            let is_recent = clock.now().since(idle.used) < self.dialler.ping_interval();
            let leads_there = idle.reached.moves == self.server.moves();
            if leads_there && (is_recent || self.dialler.ping(&mut idle.redis).await) {
                return Ok((idle, false));
            }
        }
        // The server pushes nothing on this connection, and its next user sees that it has ended.
        let dialled = self.dialler.dial(false, Cause::default(), |_| Ok(())).await;
        let Dialled { connection, driver, endpoint, hello } = dialled.map_err(|failed| failed.error)?;
        let reached = self.server.reached(Purpose::Replicas, false, &hello);
        let is_told = hello.run_id.is_some();
        Ok((Connection { redis: connection, endpoint, reached, is_told, used: clock.now(), _driver: driver }, true))
    }

    /// Keeps a connection that has just answered for the next batch, and closes those that no batch has needed for a while.
    fn keep(&self, connection: Connection) {
        let (used, rest) = (self.dialler.clock().now(), self.dialler.ping_interval());
        let mut state = self.state();
        let unneeded: Vec<_> = state.idle.extract_if(.., |idle| used.since(idle.used) >= rest).collect();
        if !state.closed {
            state.idle.push(Connection { used, ..connection });
        }
        drop(state);
        drop(unneeded);
    }

    /// How many replicas have all that was written until now. Takes out those whose SET is refused, and tells them at once.
    async fn ask(&self, connection: &Connection, batch: &mut Vec<Pending>) -> Result<u32, NotCounted> {
        let RequiredReplicas { count, timeout } = self.required;
        let names: BTreeMap<u16, &ObjectName> = batch.iter().map(|pending| (pending.part, &pending.name)).collect();
        let mut sets = Pipeline::with_capacity(names.len());
        for name in names.values() {
            sets.cmd("SET").arg(name.companion("dlock_replicas")).arg(1).arg("PX").arg(TTL);
        }
        let parts: Vec<u16> = names.into_keys().collect();
        let mut wait = Cmd::new();
        wait.arg("WAIT").arg(count).arg(timeout.as_millis().max(1) as u64);
        let (mut for_sets, mut for_wait) = (connection.redis.clone(), connection.redis.clone());
        let set = async {
            let answers = for_sets.send_packed_commands(&sets, 0, parts.len()).await.map_err(NotCounted::Failed)?;
            for (part, answer) in parts.iter().zip(answers) {
                if let Value::ServerError(error) = answer {
                    let refused = judge_set(&error.into(), &connection.endpoint);
                    let of_part = batch.extract_if(.., |pending| pending.part == *part).collect();
                    tell(of_part, &Err(refused));
                }
            }
            if batch.is_empty() { Err(NotCounted::AllRefused) } else { Ok(()) }
        };
        let wait = async { request::ask(&mut for_wait, &wait).await.map_err(NotCounted::Failed) };
        // The SETs first.
        let both = async { tokio::try_join!(biased; set, wait) };
        let timed_out = |_| Err(NotCounted::Failed(std::io::Error::from(std::io::ErrorKind::TimedOut).into()));
        match tokio::time::timeout(timeout + self.response_timeout, both).await.unwrap_or_else(timed_out)? {
            ((), Value::Int(count)) => Ok(u32::try_from(count).unwrap_or(0)),
            _ => {
                let error = (redis::ErrorKind::UnexpectedReturnType, "WAIT returned no number");
                Err(NotCounted::Failed(error.into()))
            }
        }
    }
}

/// Why there is no count.
enum NotCounted {
    /// Each SET was.
    AllRefused,
    Failed(RedisError),
}

/// Without a run id the connections may lead to different servers, and the count would be of another one's replicas.
fn hidden(endpoint: &Endpoint) -> Error {
    let message = format!(
        "{endpoint} does not tell which server it is (INFO server), so its replicas cannot be told from those of another \
         one; the user needs +info"
    );
    Error::new(ErrorKind::NoPermission, OP, message)
}

/// What the refusal of a SET means.
fn judge_set(error: &RedisError, endpoint: &Endpoint) -> Failed {
    if verdict::elsewhere(error, endpoint).is_none() {
        return judge(error, endpoint);
    }
    let moving = "is handing the slot of this name over to another node, whose replicas may lack the grant";
    away(Error::new(ErrorKind::Server, OP, format!("{endpoint} {moving}")))
}

/// What the error of one of the two commands means.
fn judge(error: &RedisError, endpoint: &Endpoint) -> Failed {
    // It became a replica: before the WAIT, or while that blocked. A client may be unblocked by command, too.
    let code = verdict::code(error);
    if code == Some("UNBLOCKED") || verdict::said(error).contains("cannot be used with replica instances") {
        let message = format!("{endpoint} ended the WAIT before its time: it has become a replica, or was told to");
        return away(Error::new(ErrorKind::Server, OP, message));
    }
    let step = StepKind { op: OP, idempotent: true, reads: false, access: ACCESS };
    match verdict::of(step, error, endpoint) {
        Verdict::Refused { error, .. } | Verdict::Unknown(error) => away(error),
        Verdict::Fatal { error, .. } => error.into(),
        Verdict::NoScript => endpoint.error("answered NOSCRIPT to WAIT; is it a Redis server?").into(),
    }
}

fn away(error: Error) -> Failed {
    Failed { error, echo_until: None, away: true }
}

fn tell(batch: Vec<Pending>, answer: &Result<u32, Failed>) {
    for pending in batch {
        // Its caller may have gone.
        drop(pending.reply.send(answer.clone()));
    }
}
