//! The direct path: one round trip on the thread of a caller who may block, without the hop to the runtime and back.
//!
//! A few blocking connections, opened in the background when they are wanted, lent to one caller at a time. A caller that finds
//! none free goes on by the runtime's connection. So does one that gets no answer in 40 ms, with the same owner and the same
//! first sending, if the step may be repeated; else another thread waits for the answer that is under way, up to
//! `response_timeout`.
//!
//! They lead where the supervised connection leads, and go with it: so they ask no sentinels.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use redis::{RedisResult, Value};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::dial::{Dialler, read_info};
use super::endpoint::Endpoint;
use super::link::Link;
use super::server::{Purpose, Server};
use super::socket::{PATIENCE, Socket};
use super::verdict::{self, Redial, StepKind, Verdict};
use super::{RedisBackend, Sent, outcome_unknown, request};
use crate::backend::{Done, Failed, Reached};
use crate::config::Config;
use crate::event::{Events, Level};
use crate::name::ObjectName;
use crate::step::{Call, Script, Step};
use crate::task::Tasks;
use crate::time::{Clock, Tick};

/// After a request without an answer, or a failed connection, there are no direct calls for so long: a server
/// that is far away must not cost every call its 40 ms first.
const SHORTEST_REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(60);

/// A connection that was idle for longer is tested before it is used: the server may have closed it.
const TEST_AFTER: Duration = Duration::from_millis(10);

/// The blocking connections of one client.
pub(super) struct Direct(Arc<Shared>);

struct Shared {
    limit: usize,
    dialler: Dialler,
    server: Server,
    clock: Clock,
    events: Events,
    /// Where a thread waits for answers that take longer than a caller's own thread may.
    runtime: Handle,
    pool: Mutex<Pool>,
}

#[derive(Default)]
struct Pool {
    idle: Vec<Idle>,
    /// Idle, lent or being opened.
    open: usize,
    /// One at a time, so that a server that is not there is not asked again and again.
    opening: bool,
    rest_until: Tick,
    /// How long the last rest was; zero when a request was answered since.
    rest: Duration,
    closed: bool,
}

struct Idle {
    socket: Socket,
    /// The supervised connection that there was when this one was opened: both go together.
    link: u64,
    since: Tick,
}

/// A connection in the hands of one caller. It is closed unless it is given back.
struct Loan {
    shared: Arc<Shared>,
    beside: Beside,
    /// There until it is given back.
    socket: Option<Socket>,
}

/// The supervised connection that there is.
#[derive(Clone)]
struct Beside {
    link: u64,
    endpoint: Arc<Endpoint>,
    /// Its server: a connection here was opened to the same, or to one that was found later.
    reached: Reached,
}

/// What came of a step's one attempt on the calling thread.
pub(super) enum Directly<R> {
    Done(Done<R>),
    Failed(Failed),
    /// Nothing was done: there is no connection for it, or the server refuses for now.
    Unavailable,
    /// No answer in 40 ms to a step that may be repeated.
    Unanswered(Begun),
    /// No answer in 40 ms to one that may not: [`RedisBackend::answer_of`] waits for it.
    Waiting(Waiting),
}

/// An attempt that got no answer and is to be repeated, elsewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    pub(super) sent: Tick,
    /// Until when its bytes may take effect.
    pub(super) echo_until: Tick,
}

/// A request without an answer so far, which another thread waits for. It does so to the end when this is dropped.
pub(super) struct Waiting {
    answer: JoinHandle<(Loan, RedisResult<Value>)>,
    sent: Tick,
}

impl RedisBackend {
    /// Runs a step on the calling thread, which it blocks for 40 ms at most, and only if that is over by the time until which
    /// its caller waits. One attempt.
    pub(super) fn run_directly<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
        caller: Tick,
    ) -> Directly<S::Reply> {
        let Some((mut loan, call, sent)) = self.borrow_for(name, step, deadline.min(caller)) else {
            return Directly::Unavailable;
        };
        let answer = loan.run(S::script(), &call, sent);
        let left = || deadline.min(self.echo_of(sent)).since(self.clock.now());
        match answer {
            Err(error) if error.is_timeout() && !S::IDEMPOTENT && !left().is_zero() => {
                self.direct.rest(verdict::how(&error));
                let (runtime, left) = (self.direct.0.runtime.clone(), left());
                let answer = runtime.spawn_blocking(move || {
                    let answer = loan.go_on(S::script(), &call, left);
                    (loan, answer)
                });
                Directly::Waiting(Waiting { answer, sent })
            }
            answer => self.heard::<S>(name, loan, answer, sent),
        }
    }

    /// The answer that another thread waits for; never [`Directly::Waiting`]. Cancel safe: it is read to the end all the same.
    pub(super) async fn answer_of<S: Step>(&self, name: &ObjectName, waiting: Waiting) -> Directly<S::Reply> {
        let Waiting { answer, sent } = waiting;
        match answer.await {
            Ok((loan, answer)) => self.heard::<S>(name, loan, answer, sent),
            Err(_) => {
                let stopped = self.target_error(S::OP, "was asked by a thread that was stopped");
                let error = outcome_unknown(StepKind::of::<S>(), &stopped);
                Directly::Failed(Failed { error, echo_until: Some(self.echo_of(sent)), away: true }.on(name))
            }
        }
    }

    /// A connection, the request and the time of its sending, if this is a time for direct calls.
    fn borrow_for<S: Step>(&self, name: &ObjectName, step: &S, deadline: Tick) -> Option<(Loan, Call, Tick)> {
        let sent = self.clock.now();
        if self.direct.0.limit == 0 || sent.plus(PATIENCE) > deadline {
            return None;
        }
        let beside = self.link.up(|connected| Beside {
            link: connected.number,
            endpoint: connected.endpoint.clone(),
            reached: connected.reached,
        })?;
        let attempt = self.attempt_at(sent);
        let loan = self.direct.borrow(beside, sent)?;
        let mut call = Call::default();
        step.encode(name, attempt, &mut call);
        Some((loan, call, sent))
    }

    /// What an answer says, or its absence.
    fn heard<S: Step>(
        &self,
        name: &ObjectName,
        loan: Loan,
        answer: RedisResult<Value>,
        sent: Tick,
    ) -> Directly<S::Reply> {
        let failed = |failed: Failed| Directly::Failed(failed.on(name));
        let now = self.clock.now();
        let theirs = match answer {
            Ok(value) => {
                let reached = loan.beside.reached;
                loan.give_back(now);
                let sent = Sent { first: sent, last: sent, answered: now, echo_until: None, reached };
                return self.read(S::OP, value, S::decode, sent).map_or_else(failed, |done| {
                    self.note_time::<S>(&done.reply, now);
                    Directly::Done(done)
                });
            }
            Err(error) => error,
        };
        match verdict::of(StepKind::of::<S>(), &theirs, &loan.beside.endpoint) {
            Verdict::Unknown(error) => {
                drop(loan);
                self.direct.rest(verdict::how(&theirs));
                let echo_until = self.echo_of(sent);
                match S::IDEMPOTENT {
                    true => Directly::Unanswered(Begun { sent, echo_until }),
                    false => {
                        let error = outcome_unknown(StepKind::of::<S>(), &error);
                        failed(Failed { error, echo_until: Some(echo_until), away: true })
                    }
                }
            }
            // Nothing was done. The other way knows how to wait, and finds out where the address leads now.
            Verdict::Refused { redial: Redial::AtOnce, .. } => Directly::Unavailable,
            Verdict::NoScript | Verdict::Refused { .. } => {
                loan.give_back(now);
                Directly::Unavailable
            }
            Verdict::Fatal { error, halfway } => {
                // After anything but a reply there may be more to come.
                if verdict::is_reply(&theirs) {
                    loan.give_back(now);
                }
                failed(Failed { error, echo_until: halfway.then_some(now), away: false })
            }
        }
    }
}

impl Direct {
    pub(super) fn new(dialler: &Dialler, link: &Link, server: &Server, config: &Config, tasks: &Tasks) -> Direct {
        let shared = Arc::new(Shared {
            limit: config.options.blocking_connections as usize,
            dialler: dialler.clone(),
            server: server.clone(),
            clock: config.clock.clone(),
            events: config.events.clone(),
            runtime: tasks.runtime().clone(),
            pool: Mutex::default(),
        });
        let (pool, server, link) = (Arc::downgrade(&shared), server.clone(), link.clone());
        tasks.spawn(async move {
            let mut moves = server.moves();
            loop {
                tokio::select! {
                    // With the client, or because it needs this server no more.
                    () = link.closed() => break,
                    moved = server.moved_since(moves) => moves = moved,
                }
                let Some(shared) = pool.upgrade() else { return };
                shared.drop_idle();
            }
            pool.upgrade().into_iter().for_each(|shared| shared.close());
        });
        Direct(shared)
    }

    /// No direct calls for a while.
    fn rest(&self, why: &str) {
        self.0.rest(why);
    }

    /// A connection to the server of supervised connection `link`, if one is free. If there could be one more, it is opened for
    /// those who come later: looking a name up has no time-out, so no caller waits for it.
    fn borrow(&self, beside: Beside, now: Tick) -> Option<Loan> {
        let shared = &*self.0;
        let mut pool = shared.pool();
        if pool.closed || now < pool.rest_until {
            return None;
        }
        while let Some(mut idle) = pool.idle.pop() {
            if idle.link == beside.link && (now.since(idle.since) < TEST_AFTER || idle.socket.is_quiet()) {
                return Some(Loan { shared: self.0.clone(), beside, socket: Some(idle.socket) });
            }
            pool.open -= 1;
        }
        if pool.open < shared.limit && !pool.opening {
            pool.open += 1;
            pool.opening = true;
            drop(pool);
            let (shared, moves) = (self.0.clone(), shared.server.moves());
            let opener = thread::Builder::new().name("libdlock-dial".to_owned());
            if opener.spawn(move || shared.open(&beside, moves)).is_err() {
                let mut pool = self.0.pool();
                pool.open -= 1;
                pool.opening = false;
            }
        }
        None
    }
}

impl Loan {
    /// By the script's hash, and with its text when the server does not have it.
    fn run(&mut self, script: &Script, call: &Call, sent: Tick) -> RedisResult<Value> {
        let pubsub = self.shared.server.pubsub();
        let socket = self.socket.as_mut().expect("it is given back at the end");
        match socket.call(sent, |packed| request::pack("EVALSHA", script.sha1(pubsub), call, packed)) {
            Err(error) if error.code() == Some("NOSCRIPT") => self.run_text(script, call),
            other => other,
        }
    }

    fn run_text(&mut self, script: &Script, call: &Call) -> RedisResult<Value> {
        let (now, socket) = (self.shared.clock.now(), self.socket.as_mut().expect("it is given back at the end"));
        let text = script.text(self.shared.server.pubsub());
        socket.call(now, |packed| request::pack("EVAL", &text, call, packed))
    }

    /// After a time-out of [`Loan::run`]: waits for its answer for so long.
    fn go_on(&mut self, script: &Script, call: &Call, left: Duration) -> RedisResult<Value> {
        let now = self.shared.clock.now();
        let socket = self.socket.as_mut().expect("it is given back at the end");
        match socket.go_on(now, left) {
            Err(error) if error.code() == Some("NOSCRIPT") => self.run_text(script, call),
            other => other,
        }
    }

    /// For the next caller, unless the client has moved to another server since.
    fn give_back(mut self, now: Tick) {
        let mut pool = self.shared.pool();
        pool.rest = Duration::ZERO;
        if !pool.closed && self.shared.server.moves() == self.beside.reached.moves {
            pool.idle.extend(self.socket.take().map(|socket| Idle { socket, link: self.beside.link, since: now }));
        }
        drop(pool);
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if self.socket.is_some() {
            self.shared.pool().open -= 1;
        }
    }
}

impl Shared {
    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the idle connections, which lead to the former server: a caller that would find them broken may never come.
    fn drop_idle(&self) {
        let mut pool = self.pool();
        let idle = std::mem::take(&mut pool.idle);
        pool.open -= idle.len();
        drop(pool);
        drop(idle);
    }

    /// Opens a connection for the pool, which has counted it already. `moves` are those of the server until now.
    fn open(&self, beside: &Beside, moves: u64) {
        let opened = self.dialler.read_credentials().and_then(|credentials| {
            let opened = Socket::open(&self.dialler, &beside.endpoint, credentials);
            opened.map_err(|error| self.dialler.judge(&error, &beside.endpoint).error)
        });
        let run_id = opened.as_ref().ok().and_then(|(_, info)| read_info(info.clone()?, "run_id:"));
        let stays = opened.is_err()
            || self.server.reached_run(Purpose::Direct, false, run_id.as_deref(), self.clock.now()).moves == moves;
        let mut pool = self.pool();
        pool.opening = false;
        let why = match opened {
            Ok((socket, _)) if stays && self.server.moves() == moves => {
                match pool.closed {
                    true => pool.open -= 1,
                    false => pool.idle.push(Idle { socket, link: beside.link, since: self.clock.now() }),
                }
                return;
            }
            Ok(_) => "another server answers there now".to_owned(),
            Err(error) => error.message().to_owned(),
        };
        pool.open -= 1;
        drop(pool);
        self.rest(&why);
    }

    fn rest(&self, why: &str) {
        let now = self.clock.now();
        let mut pool = self.pool();
        // Those that fail together have one cause.
        if now >= pool.rest_until {
            pool.rest = (pool.rest * 2).clamp(SHORTEST_REST, LONGEST_REST);
            pool.rest_until = now.plus(pool.rest);
        }
        let rest = pool.rest_until.since(now);
        drop(pool);
        let message = format!("blocking calls go by the runtime's connection for {rest:?}: {why}");
        self.events.emit(Level::Debug, None, message);
    }

    fn close(&self) {
        let mut pool = self.pool();
        pool.closed = true;
        let idle = std::mem::take(&mut pool.idle);
        pool.open -= idle.len();
        drop(pool);
        drop(idle);
    }
}

#[cfg(test)]
#[path = "direct_tests.rs"]
mod tests;
