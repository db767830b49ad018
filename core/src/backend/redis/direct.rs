//! The direct path: one round trip on the thread of a caller who may block, without the hop to the runtime and back.
//!
//! A few blocking connections, opened in the background when they are wanted, lent to one caller at a time. Whoever finds none
//! free, or gets no answer in 40 ms, goes on by the runtime's connection, with the same owner and the same first sending.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use redis::{RedisResult, Value};

use super::dial::{Dialler, read_run_id};
use super::socket::{PATIENCE, Socket};
use super::verdict::{self, Kind, Verdict};
use super::{RedisBackend, Sent, command, outcome_unknown};
use crate::backend::{Begun, Directly, Failed};
use crate::config::Config;
use crate::event::{Events, Level};
use crate::name::ObjectName;
use crate::step::{Call, Script, Step};
use crate::task::Tasks;
use crate::time::{Clock, Tick};

/// After a request without an answer, or a connection that did not come about, there are no direct calls for so long: a server
/// that is far away must not cost every call its 40 ms first.
const SHORTEST_REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(60);

/// A connection that was idle for longer is looked at before it is used: the server may have closed it.
const LOOK_AFTER: Duration = Duration::from_millis(10);

/// The blocking connections of one client.
pub(super) struct Direct(Arc<Shared>);

struct Shared {
    limit: usize,
    dialler: Dialler,
    clock: Clock,
    events: Events,
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
struct Loan<'a> {
    shared: &'a Shared,
    link: u64,
    /// There until it is given back.
    socket: Option<Socket>,
}

impl RedisBackend {
    /// Runs a step on the calling thread, which it blocks for 40 ms at most. One attempt; see [`Directly`].
    pub(in crate::backend) fn run_directly<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
    ) -> Directly<S::Reply> {
        let sent = self.clock.now();
        if self.direct.0.limit == 0 || sent.plus(PATIENCE) > deadline {
            return Directly::Unavailable;
        }
        let up = self.link.up(|connected| (connected.number, self.attempt_on(connected, sent)));
        let Some((number, attempt)) = up else { return Directly::Unavailable };
        let Some(mut loan) = self.direct.borrow(number, || self.server().run_id.clone()) else {
            return Directly::Unavailable;
        };
        let mut call = Call::default();
        step.encode(name, attempt, &mut call);
        let failed = |failed: Failed| Directly::Failed(failed.on(name));
        let theirs = match loan.run(S::script(), &call) {
            Ok(value) => {
                loan.give_back(self.clock.now());
                let sent = Sent { first: sent, last: sent, echo_until: None };
                return self.read(S::OP, value, S::decode, sent).map_or_else(failed, |done| {
                    self.note_time::<S>(&done.reply);
                    Directly::Done(done)
                });
            }
            Err(error) => error,
        };
        match verdict::of(Kind::of::<S>(), &theirs, &self.target) {
            Verdict::Unknown(error) => {
                drop(loan);
                self.direct.rest(verdict::how(&theirs));
                let echo_until = self.echo_of(sent);
                match S::IDEMPOTENT {
                    true => Directly::Unanswered(Begun { sent, echo_until }),
                    false => {
                        let error = outcome_unknown(S::OP, &error);
                        failed(Failed { error, echo_until: Some(echo_until), away: true })
                    }
                }
            }
            // Nothing was done. The other way knows how to wait.
            Verdict::NoScript | Verdict::Refused(_) => {
                loan.give_back(self.clock.now());
                Directly::Unavailable
            }
            Verdict::Fatal { error, halfway } => {
                loan.give_back(self.clock.now());
                failed(Failed { error, echo_until: halfway.then(|| self.clock.now()), away: false })
            }
        }
    }
}

impl Direct {
    pub(super) fn new(dialler: &Dialler, config: &Config, tasks: &Tasks) -> Direct {
        let shared = Arc::new(Shared {
            limit: config.options.blocking_connections as usize,
            dialler: dialler.clone(),
            clock: config.clock.clone(),
            events: config.events.clone(),
            pool: Mutex::default(),
        });
        let (closing, its_tasks) = (Arc::downgrade(&shared), tasks.clone());
        tasks.spawn(async move {
            its_tasks.closed().await;
            closing.upgrade().into_iter().for_each(|shared| shared.close());
        });
        Direct(shared)
    }

    /// No direct calls for a while.
    fn rest(&self, why: &str) {
        self.0.rest(why);
    }

    /// A connection to the server of supervised connection `link`, if one is free. If there could be one more, it is opened for
    /// those who come later: looking a name up has no time-out, so no caller waits for it.
    fn borrow(&self, link: u64, run_id: impl FnOnce() -> Option<String>) -> Option<Loan<'_>> {
        let shared = &*self.0;
        let now = shared.clock.now();
        let mut pool = shared.pool();
        if pool.closed || now < pool.rest_until {
            return None;
        }
        while let Some(mut idle) = pool.idle.pop() {
            if idle.link == link && (now.since(idle.since) < LOOK_AFTER || idle.socket.is_quiet()) {
                return Some(Loan { shared, link, socket: Some(idle.socket) });
            }
            pool.open -= 1;
        }
        if pool.open < shared.limit && !pool.opening {
            pool.open += 1;
            pool.opening = true;
            drop(pool);
            let (shared, run_id) = (self.0.clone(), run_id());
            let opener = thread::Builder::new().name("libdlock-dial".to_owned());
            if opener.spawn(move || shared.open(link, run_id)).is_err() {
                let mut pool = self.0.pool();
                pool.open -= 1;
                pool.opening = false;
            }
        }
        None
    }
}

impl Loan<'_> {
    /// By the script's hash, and with its text when the server does not have it.
    fn run(&mut self, script: &Script, call: &Call) -> RedisResult<Value> {
        let socket = self.socket.as_mut().expect("it is given back at the end");
        match socket.call(&command("EVALSHA", script.sha1(), call)) {
            Err(error) if error.code() == Some("NOSCRIPT") => socket.call(&command("EVAL", script.text(), call)),
            other => other,
        }
    }

    /// For the next caller.
    fn give_back(mut self, now: Tick) {
        let mut pool = self.shared.pool();
        pool.rest = Duration::ZERO;
        if !pool.closed {
            pool.idle.extend(self.socket.take().map(|socket| Idle { socket, link: self.link, since: now }));
        }
        drop(pool);
    }
}

impl Drop for Loan<'_> {
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

    /// Opens a connection for the pool, which has counted it already.
    fn open(&self, link: u64, run_id: Option<String>) {
        let opened = Socket::open(&self.dialler);
        let mut pool = self.pool();
        pool.opening = false;
        let why = match opened {
            Ok((socket, info)) => {
                let its_run_id = info.and_then(read_run_id);
                if run_id.is_none() || its_run_id.is_none() || run_id == its_run_id {
                    match pool.closed {
                        true => pool.open -= 1,
                        false => pool.idle.push(Idle { socket, link, since: self.clock.now() }),
                    }
                    return;
                }
                "another server answers there now".to_owned()
            }
            Err(error) => verdict::of_dialling(&error, self.dialler.target()).message().to_owned(),
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
