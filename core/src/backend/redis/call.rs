//! One request to one server, repeated until it is answered, refused for good, or to be answered elsewhere.

use std::time::Duration;

use redis::{RedisResult, Value};

use super::direct::Begun;
use super::in_slot::{Elsewhere, Halt, InSlot, To};
use super::link::Connected;
use super::verdict::{Left, Redial, StepKind, Verdict};
use super::{RedisBackend, outcome_unknown, request, verdict};
use crate::backend::{Failed, Reached};
use crate::error::{Error, ErrorKind, Result};
use crate::step::{Attempt, Call, Script, Step};
use crate::time::Tick;

const FIRST_BACKOFF: Duration = Duration::from_millis(5);
const LONGEST_BACKOFF: Duration = Duration::from_millis(500);

/// While a slot is being moved, which takes milliseconds as a rule: waiters may stand behind a release that waits for it.
const LONGEST_WHILE_MOVING: Duration = Duration::from_millis(50);

/// Before a script is sent once more to a server that did not take it with its text.
const NO_SCRIPT_PAUSE: Duration = Duration::from_millis(50);

/// An attempt with less time than this before it would only turn a known refusal into an unknown outcome.
const SHORTEST_ATTEMPT: Duration = Duration::from_millis(20);

/// What the way to the server has to know of a step. One type for all of them: one piece of code serves them all.
#[derive(Clone, Copy)]
pub(super) struct Request<'a> {
    pub(super) kind: StepKind,
    pub(super) script: &'static Script,
    pub(super) encode: &'a (dyn Fn(Attempt) -> Call + Sync),
    /// Whether a refusal that passes ends the call, instead of a pause and another attempt.
    pub(super) once: bool,
    pub(super) at: Option<InSlot<'a>>,
}

/// When a request was sent.
#[derive(Clone, Copy)]
pub(super) struct Sent {
    pub(super) first: Tick,
    /// The attempt that was answered.
    pub(super) last: Tick,
    /// When it was.
    pub(super) answered: Tick,
    /// See [`Done::echo_until`].
    pub(super) echo_until: Option<Tick>,
    pub(super) reached: Reached,
}

impl<'a> Request<'a> {
    pub(super) fn of<S: Step>(encode: &'a (dyn Fn(Attempt) -> Call + Sync)) -> Request<'a> {
        Request { kind: StepKind::of::<S>(), script: S::script(), encode, once: false, at: None }
    }
}

impl RedisBackend {
    /// Sends a script until it is answered, refused for good, or `deadline` has come. `begun` is an attempt before this.
    pub(super) async fn call(
        &self,
        request: Request<'_>,
        deadline: Tick,
        begun: Option<Begun>,
    ) -> Result<(Value, Sent), Halt> {
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
                    // Another node may take the place of this one, or has done so.
                    None if !verdict::is_reply(&theirs)
                        || matches!(verdict::code(&theirs), Some("CLUSTERDOWN" | "MOVED" | "ASK")) =>
                    {
                        at.routes.doubt();
                    }
                    None => {}
                }
            }
            let verdict = match verdict::code(&theirs) {
                Some("MOVED" | "ASK") if request.at.is_some() => verdict::of_no_address(kind, &connected.endpoint),
                _ => verdict::of(kind, &theirs, &connected.endpoint),
            };
            match verdict {
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
                    let is_moving = verdict::code(&theirs) == Some("TRYAGAIN");
                    backoff = (backoff * 2).min(if is_moving { LONGEST_WHILE_MOVING } else { LONGEST_BACKOFF });
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
        let sending =
            request::send(&mut connected.connection, (request.script, self.server.pubsub()), call, asking, left);
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

    fn must_redial(&self, connected: &Connected, redial: Redial) -> bool {
        match redial {
            Redial::No => false,
            Redial::AtOnce => true,
            Redial::AfterAWhile => self.clock.now().since(connected.since) >= self.ping_interval,
        }
    }
}
