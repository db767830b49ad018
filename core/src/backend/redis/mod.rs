//! Steps on a Redis or Valkey server: sent by their scripts' hashes, repeated where that is safe, within a deadline.

mod bounded;
mod checkup;
mod credentials;
mod dial;
mod direct;
mod driver;
mod endpoint;
mod framing;
mod link;
mod listen;
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

use self::dial::Dialler;
use self::direct::{Begun, Direct, Directly};
use self::endpoint::Route;
use self::link::{Connected, Link};
use self::listen::Listener;
use self::server::{Purpose, Server};
use self::verdict::{Left, Redial, StepKind, Verdict};
use super::{Done, Failed, Listen, Reached, Sighting, Subscription};
use crate::blocking;
use crate::config::{Config, Target};
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
        Request { kind: StepKind::of::<S>(), script: S::script(), encode, once: false }
    }
}

impl RedisBackend {
    pub(super) async fn connect(
        target: &Target,
        config: &Config,
        tasks: &Tasks,
        counters: &Arc<Counters>,
    ) -> Result<RedisBackend> {
        let (clock, events) = (&config.clock, &config.events);
        let dialler = Dialler::new(target, &config.options, clock, events);
        let server = Server::new();
        // Nothing is pushed on this connection.
        let nothing = Arc::new(|_| ());
        let link =
            Link::new(Purpose::Commands, dialler.clone(), server.clone(), clock.clone(), events.clone(), nothing);
        link.dial_first(config.options.connect_wait).await?;
        if config.options.tls_danger_accept_any_certificate {
            let message = format!(
                "the certificate of {target} is not verified (tls_danger_accept_any_certificate): whoever is on the way can read \
                 and change everything"
            );
            events.emit(Level::Warn, None, message);
        }
        link.supervise("supervisor", tasks);
        if let Some(sentinels) = dialler.route().sentinels() {
            sentinels.follow(&config.options, clock, tasks);
        }
        Ok(RedisBackend {
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
        })
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

    pub(super) fn run<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
        caller: Tick,
    ) -> impl Future<Output = Result<Done<S::Reply>, Failed>> {
        self.run_step(name, step, deadline, caller, false)
    }

    pub(super) async fn run_while_there<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
        known_away: bool,
    ) -> Result<Done<S::Reply>, Failed> {
        let grace = if known_away { Duration::ZERO } else { REDIAL_GRACE };
        tokio::select! {
            biased;
            done = self.run_step(name, step, deadline, deadline, true) => done,
            error = self.link.down_for(grace) => {
                // The request may be under way on the connection that is gone.
                let echo_until = Some(self.echo_of(self.clock.now()));
                Err(Failed { error: error.renamed(S::OP), echo_until, away: true }.on(name))
            }
        }
    }

    async fn run_step<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
        caller: Tick,
        once: bool,
    ) -> Result<Done<S::Reply>, Failed> {
        let mut directly = match blocking::is_allowed() {
            true => self.run_directly(name, step, deadline, caller),
            false => Directly::Unavailable,
        };
        // What is in a box is the large part: this future is moved about with whatever it is part of.
        if let Directly::Waiting(waiting) = directly {
            directly = Box::pin(self.answer_of::<S>(name, waiting)).await;
        }
        let begun = match directly {
            Directly::Done(done) => return Ok(done),
            Directly::Failed(failed) => return Err(failed),
            Directly::Unanswered(begun) => Some(begun),
            Directly::Unavailable | Directly::Waiting(_) => None,
        };
        Box::pin(self.run_by_link(name, step, deadline, begun, once)).await
    }

    /// On the connection of the runtime.
    async fn run_by_link<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
        begun: Option<Begun>,
        once: bool,
    ) -> Result<Done<S::Reply>, Failed> {
        let encode = |attempt: Attempt| {
            let mut call = Call::default();
            step.encode(name, attempt, &mut call);
            call
        };
        let done = self.call(Request { once, ..Request::of::<S>(&encode) }, deadline, begun).await;
        let done = done.and_then(|(value, sent)| {
            let done = self.read(S::OP, value, S::decode, sent)?;
            self.note_time::<S>(&done.reply, sent.answered);
            Ok(done)
        });
        done.map_err(|failed| failed.on(name))
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
        debug_assert!(batch.items.len() <= S::CHUNK);
        let encode = |attempt: Attempt| {
            let mut call = Call::default();
            for (name, step) in &batch.items {
                step.encode(name, attempt, &mut call);
            }
            call
        };
        let (value, sent) = self.call(Request::of::<S>(&encode), deadline, None).await?;
        let decode = |reply| S::decode_each(reply).and_then(|replies| replies_for(batch.items.len(), replies));
        let done = self.read(S::OP, value, decode, sent)?;
        if let Some(reply) = done.reply.first() {
            self.note_time::<S>(reply, sent.answered);
        }
        Ok(done)
    }

    /// Sends a script until it is answered, refused for good, or `deadline` has come. `begun` is an attempt before this.
    async fn call(&self, request: Request<'_>, deadline: Tick, begun: Option<Begun>) -> Result<(Value, Sent), Failed> {
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
            let mut connected =
                self.link.get(deadline).await.map_err(|error| failed(error.renamed(kind.op), echo_until))?;
            let sent = self.clock.now();
            if sent >= deadline {
                let silence =
                    || Error::new(ErrorKind::Connection, kind.op, format!("{} did not answer in time", self.target));
                return Err(failed(last_error.unwrap_or_else(silence), echo_until));
            }
            if let Some(error) = refusal.take().filter(|_| sent.plus(SHORTEST_ATTEMPT) >= deadline) {
                self.clock.sleep_until(deadline).await;
                return Err(failed(error, echo_until));
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
            match verdict::of(kind, &theirs, &connected.endpoint) {
                Verdict::Unknown(error) => {
                    let now = self.clock.now();
                    echo_until = Some(self.echo_of(sent));
                    // A caller with little time left says nothing about the connection.
                    if !theirs.is_timeout() || now.since(sent) >= self.response_timeout {
                        self.link.report_broken(connected.number, verdict::how(&theirs));
                    }
                    if !kind.idempotent || now >= deadline {
                        return Err(failed(error, echo_until));
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
                    return Err(Failed { error, echo_until, away: false });
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
                        return Err(failed(error, echo_until));
                    }
                    if refusal.is_some() {
                        continue;
                    }
                    let pause = backoff.mul_f64(0.5 + fastrand::f64());
                    let next = self.clock.now().plus(pause);
                    if next.plus(SHORTEST_ATTEMPT) >= deadline {
                        self.clock.sleep_until(deadline).await;
                        return Err(failed(error, echo_until));
                    }
                    self.clock.sleep_until(next).await;
                    backoff = (backoff * 2).min(LONGEST_BACKOFF);
                }
                Verdict::Fatal { error, halfway } => {
                    let echo = if halfway { Some(self.clock.now()) } else { echo_until };
                    return Err(Failed { error, echo_until: echo, away: false });
                }
            }
        }
    }

    /// The answer to one attempt, which may take so long. One that may be repeated is not waited for when sentinels name another
    /// master: the former one may be hung.
    async fn attempt(
        &self,
        connected: &mut Connected,
        request: Request<'_>,
        call: &Call,
        left: Duration,
    ) -> RedisResult<Value> {
        let sending = request::send(&mut connected.connection, request.script, call, left);
        if !request.kind.idempotent || self.route.sentinels().is_none() {
            return sending.await;
        }
        tokio::select! {
            biased;
            answer = sending => answer,
            () = self.route.left(&connected.endpoint) => Err(Left.into()),
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
