//! Steps on a Redis or Valkey server: sent by their scripts' hashes, repeated where that is safe, within a deadline.

mod bounded;
mod call;
mod channels;
mod checkup;
mod cluster;
mod credentials;
mod dial;
mod direct;
mod driver;
mod each_server;
mod endpoint;
mod framing;
mod in_slot;
mod link;
mod listen;
mod moves;
mod parts;
mod pipelined;
mod plain;
mod probe;
mod quiet;
mod quorum;
mod replicas;
mod reply;
mod request;
mod rights;
mod sentinel;
mod server;
mod socket;
mod stream;
mod tls;
mod transport;
mod verdict;

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::Value;

use self::call::{Request, Sent};
pub(crate) use self::cluster::Cluster;
use self::direct::{Begun, Direct, Directly};
pub(crate) use self::each_server::OneServer;
use self::endpoint::Route;
use self::in_slot::{Halt, InSlot};
use self::link::{Connected, Link};
use self::listen::Listener;
use self::moves::Moves;
use self::parts::Parts;
pub(crate) use self::quorum::{Answer, Members, Quorum, Round};
use self::replicas::Replicas;
use self::server::Server;
use self::verdict::StepKind;
use super::{Done, Failed, Listen, Reached, Sighting, Subscription};
use crate::blocking;
use crate::config::{Config, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::name::ObjectName;
use crate::stats::Counters;
use crate::step::{Attempt, Batch, BatchStep, Call, Malformed, PubSub, Reply, Step};
use crate::task::Tasks;
use crate::time::{Clock, ServerTime, Tick};

pub(crate) struct RedisBackend {
    target: Target,
    route: Route,
    clock: Clock,
    response_timeout: Duration,
    link: Link,
    listener: Listener,
    /// In a cluster with sharded messages.
    shard_listener: Option<Listener>,
    direct: Direct,
    replicas: Option<Replicas>,
    server: Server,
    ping_interval: Duration,
    counters: Arc<Counters>,
}

/// How long a caller that needs no server waits for a broken connection to be replaced: longer than dialling a server that is
/// there takes.
const REDIAL_GRACE: Duration = Duration::from_millis(20);

/// How long it waits for that when the server may be known to be away.
fn redial_grace(known_away: bool) -> Duration {
    if known_away { Duration::ZERO } else { REDIAL_GRACE }
}

impl RedisBackend {
    pub(super) async fn connect(
        target: &Target,
        config: &Config,
        tasks: &Tasks,
        counters: &Arc<Counters>,
    ) -> Result<RedisBackend> {
        let parts = Parts::new(target, config, &Moves::default(), PubSub::Plain);
        if !config.options.lazy_connect {
            parts.link.dial_first(config.options.connect_wait).await?;
        }
        if let Some(sentinels) = parts.dialler.route().sentinels() {
            sentinels.follow(&config.options, &config.clock, tasks);
        }
        Ok(parts.start(target, config, tasks, counters))
    }

    /// A node of a cluster, which is dialled in the background.
    fn node(
        target: &Target,
        config: &Config,
        (tasks, counters): (&Tasks, &Arc<Counters>),
        moves: &Moves,
        pubsub: PubSub,
    ) -> RedisBackend {
        Parts::new(target, config, moves, pubsub).start(target, config, tasks, counters)
    }

    /// Ends all connections, for good.
    fn retire(&self) {
        self.link.retire();
        self.listener.retire();
        self.shard_listener.iter().for_each(Listener::retire);
    }

    /// Completes when there is a connection, or with the reason why there is none at `deadline`.
    async fn is_there(&self, deadline: Tick) -> Result<()> {
        self.link.get(deadline).await.map(drop)
    }

    /// An error of `op` if there is no connection now, nor as soon as one that broke can be replaced: then nothing was sent.
    async fn is_there_soon(&self, op: &'static str) -> Result<(), Failed> {
        if self.link.up(|_| ()).is_some() {
            return Ok(());
        }
        let there = self.is_there(self.clock.now().plus(self.link.patience(REDIAL_GRACE))).await;
        there.map_err(|error| Failed { error: error.renamed(op), echo_until: None, away: true })
    }

    /// Why there is no connection, if there is none.
    fn why_down(&self) -> Option<Error> {
        self.link.why_down()
    }

    pub(super) fn down_since(&self) -> Option<Tick> {
        self.link.down_since()
    }

    /// Its reply to CLUSTER SLOTS, if there is a connection.
    async fn ask_for_slots(&self) -> Option<Value> {
        let mut connected = self.link.up(Connected::clone)?;
        self.link.in_time(cluster::ask(&mut connected.connection)).await.ok()
    }

    pub(super) fn subscribe(&self, channel: &str, listen: Listen) -> Subscription {
        self.listener.subscribe(channel, listen)
    }

    /// By messages of the channel's slot, where the client uses such.
    fn subscribe_in_slot(&self, channel: &str, listen: Listen) -> Subscription {
        self.shard_listener.as_ref().unwrap_or(&self.listener).subscribe(channel, listen)
    }

    pub(super) fn server_generation(&self) -> u64 {
        self.server.generation()
    }

    pub(super) fn moves(&self) -> u64 {
        self.server.moves()
    }

    pub(super) async fn moved_since(&self, seen: u64) -> u64 {
        self.server.moved_since(seen).await
    }

    /// When the server was last heard of, by any call of this client.
    pub(super) fn heard_at(&self) -> Tick {
        self.link.heard_at().max(self.server.seen_at())
    }

    pub(super) fn why_away(&self) -> Option<Error> {
        self.link.why_down().or_else(|| self.server.refusal())
    }

    pub(super) fn server_time(&self, now: Tick) -> ServerTime {
        self.server.time(now)
    }

    /// See [`Backend::count_replicas`](super::Backend::count_replicas).
    pub(super) async fn count_replicas(&self, name: &ObjectName, reached: Reached) -> Result<u32, Failed> {
        match &self.replicas {
            Some(replicas) => replicas.count(name, reached).await,
            None => Ok(0),
        }
    }

    /// See [`Backend::watch_rights`](super::Backend::watch_rights). Cancel safe.
    pub(super) async fn watch_rights(
        &self,
        access: &'static str,
        name: &ObjectName,
        tell: impl Fn(&dyn fmt::Display, &[String]),
    ) -> Infallible {
        let (mut number, mut asked, mut told) = (0, None, Vec::new());
        loop {
            let mut connected = self.link.next_after(number).await;
            number = connected.number;
            let moves = connected.reached.moves;
            if asked == Some(moves) {
                continue;
            }
            let missing = rights::missing(&mut connected.connection, access, name);
            let Ok(Some(missing)) = tokio::time::timeout(self.response_timeout, missing).await else { continue };
            asked = Some(moves);
            if missing != told && !missing.is_empty() {
                tell(&*connected.endpoint, &missing);
            }
            told = missing;
        }
    }

    pub(super) fn attempt_budget(&self) -> Duration {
        self.response_timeout
    }

    pub(super) async fn run<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
        caller: Tick,
    ) -> Result<Done<S::Reply>, Failed> {
        self.run_step(name, step, deadline, caller, false, None, None).await.map_err(Halt::failed)
    }

    pub(super) async fn run_while_there<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
        known_away: bool,
    ) -> Result<Done<S::Reply>, Failed> {
        self.run_while_there_in(name, step, deadline, known_away, None, None).await.map_err(Halt::failed)
    }

    async fn run_while_there_in<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
        known_away: bool,
        begun: Option<Begun>,
        at: Option<InSlot<'_>>,
    ) -> Result<Done<S::Reply>, Halt> {
        let was_up = self.link.up(|_| ()).is_some();
        tokio::select! {
            biased;
            done = self.run_step(name, step, deadline, deadline, true, begun, at) => done,
            error = self.link.down_for(redial_grace(known_away)) => {
                // The request may be under way on the connection that is gone.
                let echo_until = Some(self.echo_of(self.clock.now()));
                let kind = StepKind::of::<S>();
                let error = if was_up && !kind.idempotent { outcome_unknown(kind, &error) } else { error.renamed(kind.op) };
                Err(Failed { error, echo_until, away: true }.on(name).into())
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what a request is, how it is sent, and what it has been through")]
    async fn run_step<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
        caller: Tick,
        once: bool,
        begun: Option<Begun>,
        at: Option<InSlot<'_>>,
    ) -> Result<Done<S::Reply>, Halt> {
        let is_asking = at.is_some_and(|at| at.asking);
        let mut directly = match begun.is_none() && !is_asking && blocking::is_allowed() {
            true => self.run_directly(name, step, deadline, caller),
            false => Directly::Unavailable,
        };
        // What is in a box is the large part: this future is moved about with whatever it is part of.
        if let Directly::Waiting(waiting) = directly {
            directly = Box::pin(self.answer_of::<S>(name, waiting)).await;
        }
        let begun = match directly {
            Directly::Done(done) => return Ok(done),
            Directly::Failed(failed) => return Err(failed.into()),
            Directly::Unanswered(begun) => Some(begun),
            Directly::Unavailable | Directly::Waiting(_) => begun,
        };
        Box::pin(self.run_by_link(name, step, deadline, begun, once, at)).await
    }

    /// On the connection of the runtime.
    async fn run_by_link<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
        begun: Option<Begun>,
        once: bool,
        at: Option<InSlot<'_>>,
    ) -> Result<Done<S::Reply>, Halt> {
        let encode = |attempt: Attempt| {
            let mut call = Call::default();
            step.encode(name, attempt, &mut call);
            call
        };
        let done = self.call(Request { once, at, ..Request::of::<S>(&encode) }, deadline, begun).await;
        let done = done.and_then(|(value, sent)| {
            let done = self.read(S::OP, value, S::decode, sent)?;
            self.note_time::<S>(&done.reply, sent.answered);
            Ok(done)
        });
        done.map_err(|halt: Halt| halt.map(|failed| failed.on(name)))
    }

    fn note_time<S: Step>(&self, reply: &S::Reply, at: Tick) {
        if let Some(server) = S::server_time(reply) {
            self.server.saw(Sighting { server, at });
        }
    }

    pub(super) async fn run_batch<S: BatchStep>(
        &self,
        batch: &Batch<S>,
        deadline: Tick,
    ) -> Result<Done<Vec<S::Reply>>, Failed> {
        self.run_batch_in(batch, deadline, None, None).await.map_err(Halt::failed)
    }

    async fn run_batch_in<S: BatchStep>(
        &self,
        batch: &Batch<S>,
        deadline: Tick,
        begun: Option<Begun>,
        at: Option<InSlot<'_>>,
    ) -> Result<Done<Vec<S::Reply>>, Halt> {
        debug_assert!(batch.items.len() <= S::CHUNK);
        let encode = |attempt: Attempt| {
            let mut call = Call::default();
            for (name, step) in &batch.items {
                step.encode(name, attempt, &mut call);
            }
            call
        };
        let (value, sent) = self.call(Request { at, ..Request::of::<S>(&encode) }, deadline, begun).await?;
        let decode = |reply| S::decode_each(reply).and_then(|replies| replies_for(batch.items.len(), replies));
        let done = self.read(S::OP, value, decode, sent)?;
        if let Some(reply) = done.reply.first() {
            self.note_time::<S>(reply, sent.answered);
        }
        Ok(done)
    }

    /// The answer to a script.
    fn read<R>(
        &self,
        op: &'static str,
        value: Value,
        decode: impl Fn(Reply) -> Result<R, Malformed>,
        sent: Sent,
    ) -> Result<Done<R>, Failed> {
        let malformed = |Malformed| {
            let message = format!("{} answered a script as no version of libdlock does", self.target);
            let error = Error::new(ErrorKind::Server, op, message).permanent();
            Failed { error, echo_until: Some(self.echo_of(sent.last)), away: false }
        };
        let reply = decode(reply::reply(value)).map_err(malformed)?;
        Ok(Done { reply, sent: sent.first, echo_until: sent.echo_until, reached: sent.reached })
    }

    fn target_error(&self, op: &'static str, what: &str) -> Error {
        Error::new(ErrorKind::Connection, op, format!("{} {what}", self.target))
    }

    /// Until when the bytes of an attempt without an answer may take effect.
    fn echo_of(&self, sent: Tick) -> Tick {
        sent.plus(self.response_timeout)
    }

    fn attempt_at(&self, sent: Tick) -> Attempt {
        Attempt { not_after: self.server_time(sent).plus(self.response_timeout) }
    }
}

/// The replies to a batch, if each item has one.
fn replies_for<R>(items: usize, replies: Vec<R>) -> Result<Vec<R>, Malformed> {
    if replies.len() == items { Ok(replies) } else { Err(Malformed) }
}

/// What an `error` means after a request without an answer. If no retry helps against the error, none finds out.
fn outcome_unknown(kind: StepKind, error: &Error) -> Error {
    if kind.reads {
        return error.renamed(kind.op);
    }
    let message = format!("{}; the request was sent, and it is not known whether it was carried out", error.message());
    let unknown = Error::new(ErrorKind::OutcomeUnknown, kind.op, message);
    if error.is_retryable() { unknown } else { unknown.permanent() }
}
