//! Where steps run: on a server, or in this process. Both give the same promises to what stands above.

mod hub;
mod memory;
mod redis;

use std::sync::Arc;
use std::time::Duration;

pub(crate) use hub::{Heard, Listen, Subscription};

use crate::config::{Config, Target};
use crate::error::{Error, Result};
use crate::limit::LimitState;
use crate::lock::LockState;
use crate::name::ObjectName;
use crate::stats::Counters;
use crate::step::{Batch, BatchStep, Step};
use crate::task::Tasks;
use crate::time::{ServerTime, Tick};

/// The state of one object of any kind, in the memory backend.
#[derive(Clone)]
pub(crate) enum Cell {
    Lock(LockState),
    Limit(LimitState),
}

/// A step that was carried out.
#[derive(Debug)]
pub(crate) struct Done<R> {
    pub(crate) reply: R,
    /// When its first attempt was sent: what a lease is counted from.
    pub(crate) sent: Tick,
    /// Set when an earlier attempt got no reply: its bytes may still arrive, and take effect until this time.
    pub(crate) echo_until: Option<Tick>,
}

/// A step that was not, or of which that is not known.
#[derive(Debug)]
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
}

/// Until when bytes of an attempt without an answer may take effect, if there was one.
pub(crate) fn echo_until<R>(outcome: &Result<Done<R>, Failed>) -> Option<Tick> {
    match outcome {
        Ok(done) => done.echo_until,
        Err(failed) => failed.echo_until,
    }
}

/// An attempt that got no answer and is to be repeated, elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) sent: Tick,
    /// Until when its bytes may take effect.
    pub(crate) echo_until: Tick,
}

/// What came of a step's one attempt on the calling thread.
#[derive(Debug)]
pub(crate) enum Directly<R> {
    Done(Done<R>),
    /// Nothing was done: there is no connection for it, or the server refuses for now. Run it as usual.
    Unavailable,
    /// No answer to an idempotent step: [`Backend::run_from`] goes on with the same step.
    Unanswered(Begun),
    Failed(Failed),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed { error, echo_until: None, away: false }
    }
}

/// Runs steps.
pub(crate) enum Backend {
    Redis(redis::RedisBackend),
    Memory(memory::MemoryBackend),
}

impl Backend {
    /// Reaches the server within `connect_timeout`, or says why not.
    pub(crate) async fn connect(config: &Config, tasks: &Tasks, counters: &Arc<Counters>) -> Result<Backend> {
        Ok(match &config.target {
            Target::Memory(name) => Backend::Memory(memory::MemoryBackend::open(name.as_deref(), config.clock.clone())),
            target => Backend::Redis(redis::RedisBackend::connect(target, config, tasks, counters).await?),
        })
    }

    /// Runs one step on one object, with retries until `deadline` where the step allows them.
    pub(crate) async fn run<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
    ) -> Result<Done<S::Reply>, Failed> {
        self.run_from(name, step, deadline, None).await
    }

    /// As [`Backend::run`], for a step of which an attempt was sent already: the lease counts from that one.
    pub(crate) async fn run_from<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
        begun: Option<Begun>,
    ) -> Result<Done<S::Reply>, Failed> {
        match self {
            Backend::Redis(redis) => redis.run(name, step, deadline, begun).await,
            Backend::Memory(memory) => memory.run(name, step).map_err(Failed::from),
        }
    }

    /// Runs one step on one object on the calling thread, which it blocks for 40 ms at most. Not for a thread that runs a
    /// runtime's tasks.
    pub(crate) fn run_directly<S: Step>(&self, name: &ObjectName, step: &S, deadline: Tick) -> Directly<S::Reply> {
        match self {
            Backend::Redis(redis) => redis.run_directly(name, step, deadline),
            Backend::Memory(memory) => match memory.run(name, step) {
                Ok(done) => Directly::Done(done),
                Err(error) => Directly::Failed(error.into()),
            },
        }
    }

    /// Runs one kind of step over many names, in one script call. At most [`BatchStep::CHUNK`] of them.
    pub(crate) async fn run_batch<S: BatchStep>(&self, batch: Batch<S>, deadline: Tick) -> Result<Done<Vec<S::Reply>>> {
        match self {
            Backend::Redis(redis) => redis.run_batch(&batch, deadline).await.map_err(|failed| failed.error),
            Backend::Memory(memory) => memory.run_batch(&batch),
        }
    }

    /// Listens on a channel until the subscription is dropped. The listener hears every message, and
    /// [`Heard::LookAgain`] when the server has confirmed the subscription and after every interruption.
    pub(crate) fn subscribe(&self, channel: &str, listen: Listen) -> Subscription {
        match self {
            Backend::Redis(redis) => redis.subscribe(channel, listen),
            Backend::Memory(memory) => memory.subscribe(channel, listen),
        }
    }

    /// Changes when the client finds itself on another server than before (a restart, a failover).
    pub(crate) fn server_generation(&self) -> u64 {
        match self {
            Backend::Redis(redis) => redis.server_generation(),
            Backend::Memory(_) => 0,
        }
    }

    /// Why the server cannot be reached, or what it refuses for now, if that is known.
    pub(crate) fn why_away(&self) -> Option<Error> {
        match self {
            Backend::Redis(redis) => redis.why_away(),
            Backend::Memory(_) => None,
        }
    }

    /// How long the bytes of one attempt may take effect after they were sent.
    pub(crate) fn attempt_budget(&self) -> Duration {
        match self {
            Backend::Redis(redis) => redis.attempt_budget(),
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
