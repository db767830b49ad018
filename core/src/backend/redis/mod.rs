//! Steps on a Redis or Valkey server: sent by their scripts' hashes, repeated where that is safe, within a deadline.

mod bounded;
mod checkup;
mod cluster;
mod credentials;
mod dial;
mod direct;
mod driver;
mod endpoint;
mod framing;
mod link;
mod listen;
mod moves;
mod plain;
mod probe;
mod quiet;
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

use redis::{RedisResult, Value};

pub(crate) use self::cluster::Cluster;
use self::cluster::Routes;
use self::dial::Dialler;
use self::direct::{Begun, Direct, Directly};
use self::endpoint::Route;
use self::link::{Connected, Link};
use self::listen::Listener;
use self::moves::Moves;
use self::server::{Purpose, Server};
use self::verdict::{Left, Redial, StepKind, Verdict};
use super::{Done, Failed, Listen, Reached, Sighting, Subscription};
use crate::blocking;
use crate::config::{Address, Config, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Level;
use crate::name::ObjectName;
use crate::stats::Counters;
use crate::step::{Attempt, Batch, BatchStep, Call, Malformed, Reply, Script, Step};
use crate::task::Tasks;
use crate::time::{Clock, ServerTime, Tick};

const FIRST_BACKOFF: Duration = Duration::from_millis(5);
const LONGEST_BACKOFF: Duration = Duration::from_millis(500);

/// Before a script is sent once more to a server that did not take it with its text.
const NO_SCRIPT_PAUSE: Duration = Duration::from_millis(50);

/// An attempt with less time than this before it would only turn a known refusal into an unknown outcome.
const SHORTEST_ATTEMPT: Duration = Duration::from_millis(20);

pub(crate) struct RedisBackend {
    target: Target,
    route: Route,
    clock: Clock,
    response_timeout: Duration,
    link: Link,
    listener: Listener,
    direct: Direct,
    server: Server,
    ping_interval: Duration,
    counters: Arc<Counters>,
}

/// How long a caller that needs no server waits for a broken connection to be replaced: longer than dialling a server that is
/// there takes.
const REDIAL_GRACE: Duration = Duration::from_millis(20);

/// What the way to the server has to know of a step. One type for all of them: one piece of code serves them all.
#[derive(Clone, Copy)]
struct Request<'a> {
    kind: StepKind,
    script: &'static Script,
    encode: &'a (dyn Fn(Attempt) -> Call + Sync),
    /// Whether a refusal that passes ends the call, instead of a pause and another attempt.
    once: bool,
    at: Option<InSlot<'a>>,
}

/// That a request is about objects of a slot, at a node of a cluster.
#[derive(Clone, Copy)]
struct InSlot<'a> {
    routes: &'a Routes,
    slot: u16,
    /// The node that serves the slot, which is not this one if it is `asking`: that moves the slot to this one.
    home: &'a Address,
    asking: bool,
}

impl InSlot<'_> {
    /// Completes when the slot is served by another node. Cancel safe.
    async fn left(&self) {
        self.routes.served(self.slot, Some(self.home)).await;
    }

    fn is_left(&self) -> bool {
        self.routes.place(self.slot).is_none_or(|place| place.node.address != *self.home)
    }
}

/// Why a request ends at a node without an answer.
enum Halt {
    Failed(Failed),
    /// It goes on at another node.
    Elsewhere(Elsewhere),
}

struct Elsewhere {
    to: To,
    /// The attempts so far that got no answer.
    begun: Option<Begun>,
}

/// Where a request goes on.
enum To {
    /// At this node, which serves the slot from now on.
    Moved(Address),
    /// At this node, once.
    Ask(Address),
    /// At the one that the table names.
    Owner,
}

impl From<Failed> for Halt {
    fn from(failed: Failed) -> Halt {
        Halt::Failed(failed)
    }
}

impl Halt {
    fn map(self, change: impl FnOnce(Failed) -> Failed) -> Halt {
        match self {
            Halt::Failed(failed) => Halt::Failed(change(failed)),
            elsewhere => elsewhere,
        }
    }

    /// Of a request to the only server that there is.
    fn failed(self) -> Failed {
        match self {
            Halt::Failed(failed) => failed,
            Halt::Elsewhere(_) => unreachable!("there is no other node"),
        }
    }
}

/// When a request was sent.
#[derive(Clone, Copy)]
struct Sent {
    first: Tick,
    /// The attempt that was answered.
    last: Tick,
    /// When it was.
    answered: Tick,
    /// See [`Done::echo_until`].
    echo_until: Option<Tick>,
    reached: Reached,
}

impl<'a> Request<'a> {
    fn of<S: Step>(encode: &'a (dyn Fn(Attempt) -> Call + Sync)) -> Request<'a> {
        Request { kind: StepKind::of::<S>(), script: S::script(), encode, once: false, at: None }
    }
}

impl RedisBackend {
    pub(super) async fn connect(
        target: &Target,
        config: &Config,
        tasks: &Tasks,
        counters: &Arc<Counters>,
    ) -> Result<RedisBackend> {
        let parts = Parts::new(target, config, &Moves::default());
        let (clock, events) = (&config.clock, &config.events);
        parts.link.dial_first(config.options.connect_wait).await?;
        if config.options.tls_danger_accept_any_certificate {
            let message = format!(
                "the certificate of {target} is not verified (tls_danger_accept_any_certificate): whoever is on the way can read \
                 and change everything"
            );
            events.emit(Level::Warn, None, message);
        }
        if let Some(sentinels) = parts.dialler.route().sentinels() {
            sentinels.follow(&config.options, clock, tasks);
        }
        Ok(parts.start(target, config, tasks, counters))
    }

    /// A node of a cluster, which is dialled in the background.
    fn node(target: &Target, config: &Config, tasks: &Tasks, counters: &Arc<Counters>, moves: &Moves) -> RedisBackend {
        Parts::new(target, config, moves).start(target, config, tasks, counters)
    }

    /// Why there is no connection, if there is none.
    fn why_down(&self) -> Option<Error> {
        self.link.why_down()
    }

    /// Its reply to CLUSTER SLOTS, if there is a connection.
    async fn ask_for_slots(&self) -> Option<Value> {
        let mut connected = self.link.up(Connected::clone)?;
        self.link.in_time(cluster::ask(&mut connected.connection)).await.ok()
    }

    pub(super) fn subscribe(&self, channel: &str, listen: Listen) -> Subscription {
        self.listener.subscribe(channel, listen)
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
        let grace = if known_away { Duration::ZERO } else { REDIAL_GRACE };
        tokio::select! {
            biased;
            done = self.run_step(name, step, deadline, deadline, true, begun, at) => done,
            error = self.link.down_for(grace) => {
                // The request may be under way on the connection that is gone.
                let echo_until = Some(self.echo_of(self.clock.now()));
                Err(Failed { error: error.renamed(S::OP), echo_until, away: true }.on(name).into())
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

    /// Sends a script until it is answered, refused for good, or `deadline` has come. `begun` is an attempt before this.
    async fn call(&self, request: Request<'_>, deadline: Tick, begun: Option<Begun>) -> Result<(Value, Sent), Halt> {
        let kind = request.kind;
        let mut first_sent = begun.map(|begun| begun.sent);
        let mut echo_until = begun.map(|begun| begun.echo_until);
        let mut backoff = FIRST_BACKOFF;
        let mut last_error = None;
        let mut refusal: Option<Error> = None;
        let mut unknown_scripts = 0;
        loop {
            let failed = |error: Error, echo_until| match echo_until {
                None => Failed { error, echo_until, away: true },
                Some(_) => Failed { error: outcome_unknown(kind, &error), echo_until, away: true },
            };
            // The next attempt goes to another node. What is not known to be undone counts from its first sending.
            let elsewhere = |to, first_sent: Option<Tick>, echo_until: Option<Tick>| {
                let begun = first_sent.zip(echo_until).map(|(sent, echo_until)| Begun { sent, echo_until });
                Err(Halt::Elsewhere(Elsewhere { to, begun }))
            };
            let Some(connected) = self.connected(request, deadline).await else {
                return elsewhere(To::Owner, first_sent, echo_until);
            };
            let mut connected = connected.map_err(|error| failed(error.renamed(kind.op), echo_until))?;
            let sent = self.clock.now();
            if sent >= deadline {
                let silence =
                    || Error::new(ErrorKind::Connection, kind.op, format!("{} did not answer in time", self.target));
                return Err(failed(last_error.unwrap_or_else(silence), echo_until).into());
            }
            if let Some(error) = refusal.take().filter(|_| sent.plus(SHORTEST_ATTEMPT) >= deadline) {
                self.clock.sleep_until(deadline).await;
                return Err(failed(error, echo_until).into());
            }
            let first = *first_sent.get_or_insert(sent);
            let call = (request.encode)(self.attempt_at(sent));
            let left = deadline.since(sent).min(self.response_timeout);
            let theirs = match self.attempt(&mut connected, request, &call, left).await {
                Ok(value) => {
                    let answered = self.clock.now();
                    self.link.replied(answered);
                    return Ok((value, Sent { first, last: sent, answered, echo_until, reached: connected.reached }));
                }
                Err(error) => error,
            };
            if let Some(at) = request.at {
                if verdict::is_left(&theirs) {
                    return elsewhere(To::Owner, first_sent, Some(self.echo_of(sent)));
                }
                match verdict::elsewhere(&theirs, &connected.endpoint) {
                    Some(to) => {
                        self.link.replied(self.clock.now());
                        // What was refused was not carried out.
                        return elsewhere(to, first_sent.filter(|_| echo_until.is_some()), echo_until);
                    }
                    // Another node may take the place of this one.
                    None if !verdict::is_reply(&theirs) || verdict::code(&theirs) == Some("CLUSTERDOWN") => {
                        at.routes.doubt();
                    }
                    None => {}
                }
            }
            match verdict::of(kind, &theirs, &connected.endpoint) {
                Verdict::Unknown(error) => {
                    let now = self.clock.now();
                    echo_until = Some(self.echo_of(sent));
                    // A caller with little time left says nothing about the connection.
                    if !theirs.is_timeout() || now.since(sent) >= self.response_timeout {
                        self.link.report_broken(connected.number, verdict::how(&theirs));
                    }
                    if !kind.idempotent || now >= deadline {
                        return Err(failed(error, echo_until).into());
                    }
                    self.clock.sleep_until(now.plus(backoff.mul_f64(fastrand::f64())).min(deadline)).await;
                    backoff = (backoff * 2).min(LONGEST_BACKOFF);
                    last_error = Some(error);
                    self.counters.retried();
                }
                // No server says this to an EVAL, which brings the script along; something in between may.
                Verdict::NoScript if unknown_scripts == 0 => {
                    unknown_scripts += 1;
                    self.clock.sleep_until(self.clock.now().plus(NO_SCRIPT_PAUSE).min(deadline)).await;
                }
                Verdict::NoScript => {
                    let message = format!("{} answered NOSCRIPT to EVAL, twice; is it a Redis server?", self.target);
                    let error = Error::new(ErrorKind::Server, kind.op, message).permanent();
                    return Err(Failed { error, echo_until, away: false }.into());
                }
                Verdict::Refused { error, redial } => {
                    self.link.replied(self.clock.now());
                    self.server.refused(&error);
                    // What was refused was not carried out: the lease counts from a later attempt.
                    if echo_until.is_none() {
                        first_sent = None;
                    }
                    last_error = Some(error.clone());
                    if self.must_redial(&connected, redial) {
                        // How soon it is tried again is for the link to say.
                        self.link.redial(connected.number, &error);
                        refusal = Some(error.clone());
                    }
                    if request.once {
                        return Err(failed(error, echo_until).into());
                    }
                    if refusal.is_some() {
                        continue;
                    }
                    let pause = backoff.mul_f64(0.5 + fastrand::f64());
                    let next = self.clock.now().plus(pause);
                    if next.plus(SHORTEST_ATTEMPT) >= deadline {
                        self.clock.sleep_until(deadline).await;
                        return Err(failed(error, echo_until).into());
                    }
                    self.clock.sleep_until(next).await;
                    backoff = (backoff * 2).min(LONGEST_BACKOFF);
                    // A node that moves a slot to another may not be asked again before that is done.
                    if request.at.is_some_and(|at| at.asking) {
                        return elsewhere(To::Owner, first_sent, echo_until);
                    }
                }
                Verdict::Fatal { error, halfway } => {
                    let echo = if halfway { Some(self.clock.now()) } else { echo_until };
                    return Err(Failed { error, echo_until: echo, away: false }.into());
                }
            }
        }
    }

    /// The connection, waiting for one until `deadline`; `None` when another node serves the slot meanwhile.
    async fn connected(&self, request: Request<'_>, deadline: Tick) -> Option<Result<Connected>> {
        let Some(at) = request.at else { return Some(self.link.get(deadline).await) };
        if at.is_left() {
            return None;
        }
        if let Some(connected) = self.link.up(Connected::clone) {
            return Some(Ok(connected));
        }
        at.routes.doubt();
        tokio::select! {
            biased;
            () = at.left() => None,
            connected = self.link.get(deadline) => Some(connected),
        }
    }

    /// The answer to one attempt, which may take so long. One that may be repeated is not waited for when sentinels name another
    /// master, or another node serves the slot: the former one may be hung.
    async fn attempt(
        &self,
        connected: &mut Connected,
        request: Request<'_>,
        call: &Call,
        left: Duration,
    ) -> RedisResult<Value> {
        let asking = request.at.is_some_and(|at| at.asking);
        let sending = request::send(&mut connected.connection, request.script, call, asking, left);
        if !request.kind.idempotent || (self.route.sentinels().is_none() && request.at.is_none()) {
            return sending.await;
        }
        let left = async {
            match request.at {
                Some(at) => at.left().await,
                None => self.route.left(&connected.endpoint).await,
            }
        };
        tokio::select! {
            biased;
            answer = sending => answer,
            () = left => Err(Left.into()),
        }
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

    fn must_redial(&self, connected: &Connected, redial: Redial) -> bool {
        match redial {
            Redial::No => false,
            Redial::AtOnce => true,
            Redial::AfterAWhile => self.clock.now().since(connected.since) >= self.ping_interval,
        }
    }
}

/// What a server is reached by, before there is a connection.
struct Parts {
    dialler: Dialler,
    server: Server,
    link: Link,
}

impl Parts {
    fn new(target: &Target, config: &Config, moves: &Moves) -> Parts {
        let (clock, events) = (&config.clock, &config.events);
        let dialler = Dialler::new(target, &config.options, clock, events);
        let server = Server::new(moves);
        // Nothing is pushed on this connection.
        let nothing = Arc::new(|_| ());
        let link =
            Link::new(Purpose::Commands, dialler.clone(), server.clone(), clock.clone(), events.clone(), nothing);
        Parts { dialler, server, link }
    }

    /// Keeps it connected from now on.
    fn start(self, target: &Target, config: &Config, tasks: &Tasks, counters: &Arc<Counters>) -> RedisBackend {
        let Parts { dialler, server, link } = self;
        let (clock, events) = (&config.clock, &config.events);
        link.supervise("supervisor", tasks);
        RedisBackend {
            target: target.clone(),
            route: dialler.route().clone(),
            clock: clock.clone(),
            response_timeout: config.options.response_timeout,
            ping_interval: config.options.ping_interval,
            listener: Listener::start(&dialler, &server, clock, events, tasks),
            direct: Direct::new(&dialler, &server, config, tasks),
            link,
            server,
            counters: counters.clone(),
        }
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
