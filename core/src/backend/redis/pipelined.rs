//! Many requests of one kind in one write, each of which is answered by itself.
//!
//! One attempt. What a server has refused for now was not carried out: that, and what was not sent at all, is left to the
//! caller, who asks for it by itself.

use std::borrow::Cow;
use std::pin::pin;
use std::time::Duration;

use redis::{Pipeline, RedisError, RedisResult, Value};

use super::link::Connected;
use super::verdict::{StepKind, Verdict};
use super::{RedisBackend, Sent, outcome_unknown, redial_grace, request, verdict};
use crate::backend::{Done, Failed, Tried};
use crate::blocking;
use crate::error::Error;
use crate::name::ObjectName;
use crate::step::{Call, Step};
use crate::time::Tick;

/// Why there is no answer to any of the requests.
enum Silence {
    /// `of_link`: on the connection of the runtime, which is of no more use.
    Theirs { error: RedisError, of_link: bool },
    /// There has been no connection for a while, and the caller has an answer of its own.
    Down(Error),
}

impl RedisBackend {
    /// See [`Backend::run_pipelined`](crate::backend::Backend::run_pipelined). `directly`: whether the calling thread may do it
    /// by itself, if it may block.
    pub(in crate::backend) async fn run_pipelined<S: Step>(
        &self,
        items: &[(&ObjectName, &S)],
        deadline: Tick,
        alone: Option<bool>,
        directly: bool,
    ) -> Vec<Tried<S::Reply>> {
        let mut tried: Vec<Tried<S::Reply>> = items.iter().map(|_| None).collect();
        let Some(mut connected) = self.link.up(Connected::clone) else { return tried };
        let mut open: Vec<usize> = (0..items.len()).collect();
        // A server that does not have the script gets it with the first request of the second try.
        for brings_text in [false, true] {
            let sent = self.clock.now();
            if open.is_empty() || sent >= deadline {
                break;
            }
            let requests = self.requests(open.iter().map(|&at| items[at]), brings_text, sent);
            let until = deadline.min(self.echo_of(sent));
            let borrowed = (directly && blocking::is_allowed()).then(|| self.borrow_for_many(sent, until)).flatten();
            let values = match borrowed {
                Some(borrowed) => {
                    let pack = |packed: &mut Vec<u8>| {
                        requests.iter().for_each(|(verb, script, call)| request::pack(verb, script, call, packed));
                    };
                    let answers = self.answers_of_many(borrowed, pack, requests.len(), (sent, until)).await;
                    answers.map_err(|error| Silence::Theirs { error, of_link: false })
                }
                None => self.answers_by_link(&mut connected, &requests, until.since(sent), alone).await,
            };
            let values = match values {
                Ok(values) => values,
                Err(silence) => {
                    let failed = self.silent::<S>(silence, &connected, sent);
                    open.iter().for_each(|&at| tried[at] = Some(Err(failed.clone().on(items[at].0))));
                    return tried;
                }
            };
            let answered = self.clock.now();
            self.link.replied(answered);
            let sent = Sent { first: sent, last: sent, answered, echo_until: None, reached: connected.reached };
            let mut unknown_script = Vec::new();
            for (at, value) in open.into_iter().zip(values) {
                match self.answer_to_one::<S>(value, &connected, sent) {
                    One::Answer(outcome) => tried[at] = Some(outcome.map_err(|failed| failed.on(items[at].0))),
                    One::NoScript => unknown_script.push(at),
                    One::Refused => {}
                }
            }
            open = unknown_script;
        }
        tried
    }

    /// What is sent: verb, script or its hash, keys and arguments.
    fn requests<'a, S: Step>(
        &self,
        items: impl Iterator<Item = (&'a ObjectName, &'a S)>,
        brings_text: bool,
        sent: Tick,
    ) -> Vec<(&'static str, Cow<'static, str>, Call)> {
        let (pubsub, attempt) = (self.server.pubsub(), self.attempt_at(sent));
        let request = |(at, (name, step)): (usize, (&'a ObjectName, &'a S))| {
            let mut call = Call::default();
            step.encode(name, attempt, &mut call);
            match brings_text && at == 0 {
                true => ("EVAL", Cow::Owned(S::script().text(pubsub)), call),
                false => ("EVALSHA", Cow::Borrowed(S::script().sha1(pubsub)), call),
            }
        };
        items.enumerate().map(request).collect()
    }

    /// One answer to each request, on the connection of the runtime.
    async fn answers_by_link(
        &self,
        connected: &mut Connected,
        requests: &[(&'static str, Cow<'static, str>, Call)],
        left: Duration,
        alone: Option<bool>,
    ) -> Result<Vec<Value>, Silence> {
        let mut pipeline = Pipeline::with_capacity(requests.len());
        for (verb, script, call) in requests {
            pipeline.add_command(request::command(verb, script, call));
        }
        let down = async {
            match alone {
                Some(known_away) => self.link.down_for(redial_grace(known_away)).await,
                None => std::future::pending().await,
            }
        };
        let sending = connected.connection.send_packed_commands(&pipeline, 0, requests.len());
        let (sending, down, limit) = (pin!(sending), pin!(down), pin!(tokio::time::sleep(left)));
        let theirs = |error| Silence::Theirs { error, of_link: true };
        let answers: RedisResult<Vec<Value>> = tokio::select! {
            biased;
            answers = sending => answers,
            error = down => return Err(Silence::Down(error)),
            () = limit => Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()),
        };
        let answers = answers.map_err(theirs)?;
        match answers.len() == requests.len() {
            true => Ok(answers),
            false => Err(theirs(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into())),
        }
    }

    /// What becomes of each request when no answer came.
    fn silent<S: Step>(&self, silence: Silence, connected: &Connected, sent: Tick) -> Failed {
        let (kind, echo_until) = (StepKind::of::<S>(), Some(self.echo_of(sent)));
        let (theirs, of_link) = match silence {
            Silence::Down(error) => return Failed { error: error.renamed(S::OP), echo_until, away: true },
            Silence::Theirs { error, of_link } => (error, of_link),
        };
        match verdict::of(kind, &theirs, &connected.endpoint) {
            Verdict::Unknown(error) | Verdict::Refused { error, .. } => {
                // A caller with little time left says nothing about the connection.
                if of_link && (!theirs.is_timeout() || self.clock.now().since(sent) >= self.response_timeout) {
                    self.link.report_broken(connected.number, verdict::how(&theirs));
                }
                Failed { error: outcome_unknown(kind, &error), echo_until, away: true }
            }
            Verdict::Fatal { error, .. } => Failed { error, echo_until, away: false },
            Verdict::NoScript => {
                let error = self.target_error(S::OP, "answered NOSCRIPT to requests in a row");
                Failed { error: outcome_unknown(kind, &error), echo_until, away: true }
            }
        }
    }

    fn answer_to_one<S: Step>(&self, value: Value, connected: &Connected, sent: Sent) -> One<S::Reply> {
        let theirs: RedisError = match value {
            Value::ServerError(error) => error.into(),
            value => {
                let done = self.read(S::OP, value, S::decode, sent);
                return One::Answer(done.inspect(|done| self.note_time::<S>(&done.reply, sent.answered)));
            }
        };
        let kind = StepKind::of::<S>();
        match verdict::of(kind, &theirs, &connected.endpoint) {
            Verdict::NoScript => One::NoScript,
            Verdict::Refused { .. } => One::Refused,
            Verdict::Unknown(error) => {
                let error = outcome_unknown(kind, &error);
                One::Answer(Err(Failed { error, echo_until: Some(self.echo_of(sent.last)), away: true }))
            }
            Verdict::Fatal { error, halfway } => {
                let echo_until = halfway.then_some(sent.answered);
                One::Answer(Err(Failed { error, echo_until, away: false }))
            }
        }
    }
}

/// The answer to one request of several.
enum One<R> {
    Answer(Result<Done<R>, Failed>),
    NoScript,
    /// Not carried out, for a reason that passes, or that another node knows.
    Refused,
}
