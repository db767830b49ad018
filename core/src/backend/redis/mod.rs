//! Steps on a Redis or Valkey server: sent by their scripts' hashes, repeated where that is safe, within a deadline.

mod dial;
mod direct;
mod driver;
mod link;
mod listen;
mod socket;
mod verdict;

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, RedisResult, Value};

use self::dial::{Dialler, Hello};
use self::direct::Direct;
use self::link::{Connected, Link};
use self::listen::Listener;
use self::verdict::{Kind, Verdict};
use super::{Begun, Done, Failed, Listen, Sighting, Subscription};
use crate::config::{Config, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::name::ObjectName;
use crate::stats::Counters;
use crate::step::{Attempt, Batch, BatchStep, Call, Malformed, Script, Step};
use crate::task::Tasks;
use crate::time::{Clock, Tick};

const FIRST_BACKOFF: Duration = Duration::from_millis(5);
const LONGEST_BACKOFF: Duration = Duration::from_millis(500);

/// An attempt with less time than this before it would only turn a known refusal into an unknown outcome.
const SHORTEST_ATTEMPT: Duration = Duration::from_millis(20);

pub(crate) struct RedisBackend {
    target: Target,
    clock: Clock,
    response_timeout: Duration,
    link: Link,
    listener: Listener,
    direct: Direct,
    server: Mutex<Server>,
    counters: Arc<Counters>,
}

/// What the way to the server has to know of a step. One type for all of them: one piece of code serves them all.
#[derive(Clone, Copy)]
struct Request<'a> {
    kind: Kind,
    script: &'static Script,
    encode: &'a (dyn Fn(Attempt) -> Call + Sync),
}

/// When a request was sent.
#[derive(Clone, Copy)]
struct Sent {
    first: Tick,
    /// The attempt that was answered.
    last: Tick,
    /// See [`Done::echo_until`].
    echo_until: Option<Tick>,
}

/// What the client knows of the server at the other end.
struct Server {
    sighting: Sighting,
    run_id: Option<String>,
    /// What it said when it last refused for a reason that passes, until it answers again.
    refusal: Option<Error>,
    /// The connection that this was learnt from.
    connection: u64,
    generation: u64,
}

impl<'a> Request<'a> {
    fn of<S: Step>(encode: &'a (dyn Fn(Attempt) -> Call + Sync)) -> Request<'a> {
        Request { kind: Kind::of::<S>(), script: S::script(), encode }
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
        let dialler = Dialler::new(target, &config.options, clock);
        // Nothing is pushed on this connection.
        let link = Link::new("commands", dialler.clone(), clock.clone(), events.clone(), Arc::new(|_| ()));
        let hello = link.dial_first().await?;
        let Hello { sighting, run_id } = (*hello).clone();
        link.supervise("supervisor", tasks);
        Ok(RedisBackend {
            target: target.clone(),
            clock: clock.clone(),
            response_timeout: config.options.response_timeout,
            listener: Listener::start(&dialler, clock, events, tasks),
            direct: Direct::new(&dialler, config, tasks),
            link,
            server: Mutex::new(Server { sighting, run_id, connection: 1, generation: 0, refusal: None }),
            counters: counters.clone(),
        })
    }

    pub(super) fn subscribe(&self, channel: &str, listen: Listen) -> Subscription {
        self.listener.subscribe(channel, listen)
    }

    pub(super) fn server_generation(&self) -> u64 {
        self.server().generation
    }

    pub(super) fn why_away(&self) -> Option<Error> {
        self.link.why_down().or_else(|| self.server().refusal.clone())
    }

    pub(super) fn attempt_budget(&self) -> Duration {
        self.response_timeout
    }

    fn server(&self) -> std::sync::MutexGuard<'_, Server> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn run<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
        begun: Option<Begun>,
    ) -> Result<Done<S::Reply>, Failed> {
        let encode = |attempt: Attempt| {
            let mut call = Call::default();
            step.encode(name, attempt, &mut call);
            call
        };
        // Boxed: whatever it is part of is moved about, and this is the large part.
        let done = Box::pin(self.call(Request::of::<S>(&encode), deadline, begun)).await;
        let done = done.and_then(|(value, sent)| self.read(S::OP, value, S::decode, sent));
        let done = done.map_err(|failed| failed.on(name))?;
        self.note_time::<S>(&done.reply);
        Ok(done)
    }

    fn note_time<S: Step>(&self, reply: &S::Reply) {
        if let Some(server) = S::server_time(reply) {
            let at = self.clock.now();
            let mut known = self.server();
            known.sighting = Sighting { server, at };
            known.refusal = None;
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
        self.read(S::OP, value, S::decode_each, sent)
    }

    /// Sends a script until it is answered, refused for good, or `deadline` has come. `begun` is an attempt before this.
    async fn call(&self, request: Request<'_>, deadline: Tick, begun: Option<Begun>) -> Result<(Value, Sent), Failed> {
        let kind = request.kind;
        let mut first_sent = begun.map(|begun| begun.sent);
        let mut echo_until = begun.map(|begun| begun.echo_until);
        let mut backoff = FIRST_BACKOFF;
        let mut last_error = None;
        loop {
            let failed = |error: Error, echo_until| match echo_until {
                None => Failed { error, echo_until, away: true },
                Some(_) => Failed { error: outcome_unknown(kind.op, &error), echo_until, away: true },
            };
            let mut connected =
                self.link.get(deadline).await.map_err(|error| failed(rename(kind.op, &error), echo_until))?;
            let sent = self.clock.now();
            if sent >= deadline {
                let silence =
                    || Error::new(ErrorKind::Connection, kind.op, format!("{} did not answer in time", self.target));
                return Err(failed(last_error.unwrap_or_else(silence), echo_until));
            }
            let first = *first_sent.get_or_insert(sent);
            let call = (request.encode)(self.attempt_on(&connected, sent));
            let theirs = match self.send(&mut connected, request.script, &call, deadline).await {
                Ok(value) => {
                    self.link.replied();
                    return Ok((value, Sent { first, last: sent, echo_until }));
                }
                Err(error) => error,
            };
            match verdict::of(kind, &theirs, &self.target) {
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
                // NOSCRIPT for an EVAL does not exist; to repeat is the right answer all the same.
                Verdict::NoScript => {}
                Verdict::Refused(error) => {
                    self.link.replied();
                    self.server().refusal = Some(error.clone());
                    // What was refused was not carried out: the lease counts from a later attempt.
                    if echo_until.is_none() {
                        first_sent = None;
                    }
                    let pause = backoff.mul_f64(0.5 + fastrand::f64());
                    let next = self.clock.now().plus(pause);
                    if next.plus(SHORTEST_ATTEMPT) >= deadline {
                        self.clock.sleep_until(deadline).await;
                        return Err(failed(error, echo_until));
                    }
                    self.clock.sleep_until(next).await;
                    backoff = (backoff * 2).min(LONGEST_BACKOFF);
                    last_error = Some(error);
                }
                Verdict::Fatal { error, halfway } => {
                    let echo = if halfway { Some(self.clock.now()) } else { echo_until };
                    return Err(Failed { error, echo_until: echo, away: false });
                }
            }
        }
    }

    /// The answer to a script.
    fn read<R>(
        &self,
        op: &'static str,
        value: Value,
        decode: impl Fn(Value) -> Result<R, Malformed>,
        sent: Sent,
    ) -> Result<Done<R>, Failed> {
        let malformed = |Malformed| {
            let message = format!("{} answered a script as no version of libdlock does", self.target);
            let error = Error::new(ErrorKind::Server, op, message);
            Failed { error, echo_until: Some(self.echo_of(sent.last)), away: false }
        };
        Ok(Done { reply: decode(value).map_err(malformed)?, sent: sent.first, echo_until: sent.echo_until })
    }

    /// Until when the bytes of an attempt without an answer may take effect.
    fn echo_of(&self, sent: Tick) -> Tick {
        sent.plus(self.response_timeout)
    }

    fn attempt_on(&self, connected: &Connected, sent: Tick) -> Attempt {
        Attempt { not_after: self.server_time(connected, sent).plus(self.response_timeout) }
    }

    /// One attempt: by the script's hash, and with its text when the server does not have it.
    async fn send(
        &self,
        connected: &mut Connected,
        script: &Script,
        call: &Call,
        deadline: Tick,
    ) -> RedisResult<Value> {
        let left = deadline.since(self.clock.now()).min(self.response_timeout);
        let attempt = async {
            let connection = &mut connected.connection;
            match ask(connection, &command("EVALSHA", script.sha1(), call)).await {
                // A script can be evicted at any time, also between these two: EVAL brings it along.
                Err(error) if error.code() == Some("NOSCRIPT") => {
                    ask(connection, &command("EVAL", script.text(), call)).await
                }
                other => other,
            }
        };
        // Both where they are: to make a time-out of them would move them.
        let (mut attempt, mut limit) = (pin!(attempt), pin!(tokio::time::sleep(left)));
        tokio::select! {
            biased;
            answer = &mut attempt => answer,
            () = &mut limit => Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()),
        }
    }

    /// The server's time now, as far as the client knows it; learnt afresh from every new connection, which may lead to
    /// another server.
    fn server_time(&self, connected: &Connected, now: Tick) -> crate::time::ServerTime {
        let mut server = self.server();
        if connected.number > server.connection {
            let hello = &connected.hello;
            if hello.run_id.is_some() && hello.run_id != server.run_id {
                server.generation += 1;
                server.run_id.clone_from(&hello.run_id);
            }
            server.connection = connected.number;
            server.sighting = hello.sighting;
        }
        server.sighting.at(now)
    }
}

/// One request on the connection. Not by `query_async`, which would put it into a box.
async fn ask(connection: &mut MultiplexedConnection, command: &Cmd) -> RedisResult<Value> {
    match connection.send_packed_command(command).await? {
        Value::ServerError(error) => Err(error.into()),
        value => Ok(value),
    }
}

fn command(verb: &str, script: &str, call: &Call) -> Cmd {
    let words = 3 + call.keys.len() + call.args.len();
    let bytes = script.len() + call.keys.bytes() + call.args.bytes() + 16;
    let mut command = Cmd::with_capacity(words, bytes);
    command.arg(verb).arg(script).arg(call.keys.len());
    for word in call.keys.iter().chain(call.args.iter()) {
        command.arg(word);
    }
    command
}

fn rename(op: &'static str, error: &Error) -> Error {
    Error::new(error.kind(), op, error.message())
}

fn outcome_unknown(op: &'static str, error: &Error) -> Error {
    let message = format!("{}; the request was sent, and it is not known whether it was carried out", error.message());
    Error::new(ErrorKind::OutcomeUnknown, op, message)
}
