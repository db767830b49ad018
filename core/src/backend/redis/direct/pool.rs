//! A few blocking connections, opened in the background when they are wanted, lent to one caller at a time.
//!
//! They lead where the supervised connection leads, and go with it: so they ask no sentinels.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use libdlock_fork::without_signals;
use redis::{RedisResult, Value};
use tokio::runtime::Handle;

use crate::backend::Reached;
use crate::backend::redis::dial::{Dialler, read_info};
use crate::backend::redis::endpoint::Endpoint;
use crate::backend::redis::link::Link;
use crate::backend::redis::request;
use crate::backend::redis::server::{Purpose, Server};
use crate::backend::redis::socket::Socket;
use crate::config::Config;
use crate::event::{Events, Level};
use crate::step::{Call, Script};
use crate::task::Tasks;
use crate::time::{Clock, Tick};

/// After a request without an answer, or a failed connection, there are no direct calls for so long: a server
/// that is far away must not cost every call its 40 ms first.
pub(super) const SHORTEST_REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(60);

/// A connection that was idle for longer is tested before it is used: the server may have closed it.
pub(super) const TEST_AFTER: Duration = Duration::from_millis(10);

/// The blocking connections of one client.
pub(in crate::backend::redis) struct Direct(Arc<Shared>);

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
pub(super) struct Loan {
    shared: Arc<Shared>,
    pub(super) beside: Beside,
    /// There until it is given back.
    socket: Option<Socket>,
}

/// The supervised connection that there is.
#[derive(Clone)]
pub(super) struct Beside {
    pub(super) link: u64,
    pub(super) endpoint: Arc<Endpoint>,
    /// Its server: a connection here was opened to the same, or to one that was found later.
    pub(super) reached: Reached,
}

impl Direct {
    pub(in crate::backend::redis) fn new(
        dialler: &Dialler,
        link: &Link,
        server: &Server,
        config: &Config,
        tasks: &Tasks,
    ) -> Direct {
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
    pub(super) fn rest(&self, why: &str) {
        self.0.rest(why);
    }

    /// Where a thread waits for answers that take longer than a caller's own thread may.
    pub(super) fn runtime(&self) -> &Handle {
        &self.0.runtime
    }

    /// A connection to the server of supervised connection `link`, if one is free. If there could be one more, it is opened for
    /// those who come later: looking a name up has no time-out, so no caller waits for it.
    pub(super) fn borrow(&self, beside: Beside, now: Tick) -> Option<Loan> {
        let shared = &*self.0;
        let mut pool = shared.pool();
        if shared.limit == 0 || pool.closed || now < pool.rest_until {
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
            if without_signals(|| opener.spawn(move || shared.open(&beside, moves))).is_err() {
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
    pub(super) fn run(&mut self, script: &Script, call: &Call, sent: Tick) -> RedisResult<Value> {
        self.send(script, call, sent)?;
        self.receive(script, call)
    }

    /// The first half of [`Loan::run`].
    pub(super) fn send(&mut self, script: &Script, call: &Call, sent: Tick) -> RedisResult<()> {
        let pubsub = self.shared.server.pubsub();
        let socket = self.socket.as_mut().expect("it is given back at the end");
        socket.send(sent, |packed| request::pack("EVALSHA", script.sha1(pubsub), call, packed))
    }

    /// The second half.
    pub(super) fn receive(&mut self, script: &Script, call: &Call) -> RedisResult<Value> {
        let socket = self.socket.as_mut().expect("it is given back at the end");
        match socket.receive() {
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
    pub(super) fn go_on(&mut self, script: &Script, call: &Call, left: Duration) -> RedisResult<Value> {
        let now = self.shared.clock.now();
        let socket = self.socket.as_mut().expect("it is given back at the end");
        match socket.go_on(now, left) {
            Err(error) if error.code() == Some("NOSCRIPT") => self.run_text(script, call),
            other => other,
        }
    }

    /// Sends what `pack` writes, any number of requests.
    pub(super) fn send_packed(&mut self, now: Tick, pack: impl FnOnce(&mut Vec<u8>)) -> RedisResult<()> {
        self.socket.as_mut().expect("it is given back at the end").send(now, pack)
    }

    /// Adds the answers until there are so many.
    pub(super) fn receive_all(&mut self, answers: &mut Vec<Value>, count: usize) -> RedisResult<()> {
        let socket = self.socket.as_mut().expect("it is given back at the end");
        while answers.len() < count {
            answers.push(socket.next_answer()?);
        }
        Ok(())
    }

    /// After a time-out of [`Loan::receive_all`]: goes on for so long.
    pub(super) fn go_on_all(&mut self, answers: &mut Vec<Value>, count: usize, left: Duration) -> RedisResult<()> {
        let (now, socket) = (self.shared.clock.now(), self.socket.as_mut().expect("it is given back at the end"));
        let usual = socket.wait_longer(now, left)?;
        self.receive_all(answers, count)?;
        self.socket.as_mut().expect("it is given back at the end").wait_as_usual(usual)
    }

    /// For the next caller, unless the client has moved to another server since.
    pub(super) fn give_back(mut self, now: Tick) {
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
        // One that hides who it is may be another than the one that the supervised connection knows.
        let hides = run_id.is_none() && self.server.is_told();
        let reached = || self.server.reached_run(Purpose::Direct, false, run_id.as_deref(), self.clock.now());
        let stays = opened.is_err() || (!hides && reached().moves == moves);
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
