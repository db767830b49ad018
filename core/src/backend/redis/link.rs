//! One supervised connection: dialled again on error, on time-out, and when an idle one does not answer a PING.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{PushInfo, PushKind, RedisResult};
use tokio::sync::{Notify, watch};

use super::dial::{Dialled, Dialler, Hello};
use super::driver::Driver;
use super::server::{Purpose, Server};
use super::stream::Cause;
use super::verdict::DialError;
use crate::backend::Reached;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Events, Level};
use crate::task::{Tasks, fault_point};
use crate::text::part;
use crate::time::{Clock, Tick};
use crate::wait::by_deadline;

const FIRST_BACKOFF: Duration = Duration::from_millis(10);
const LONGEST_BACKOFF: Duration = Duration::from_secs(1);

/// The longest pause, with jitter half as long again, before a server is dialled once more that takes no writes, or whose
/// connections for messages break soon: requests wait for it.
const LONGEST_LEAVE: Duration = Duration::from_millis(500);

/// A connection for messages that served for so long is replaced without a pause. One that did not is followed by a pause that
/// doubles.
const SETTLED: Duration = Duration::from_secs(2);

/// A connection that is there, and which one it is: a fault is reported against its number, so that a late report does
/// not tear down its successor.
#[derive(Clone)]
pub(super) struct Connected {
    pub(super) connection: MultiplexedConnection,
    pub(super) number: u64,
    /// When it was dialled.
    pub(super) since: Tick,
    /// The server that it has reached.
    pub(super) reached: Reached,
    /// Whoever has the connection keeps it going.
    _driver: Driver,
}

#[derive(Clone)]
enum State {
    Down {
        why: Option<Error>,
    },
    Up(Connected),
    /// The client was closed: there will be no other.
    Closed,
}

/// The supervised connection. Clones share it.
#[derive(Clone)]
pub(super) struct Link(Arc<Shared>);

struct Shared {
    purpose: Purpose,
    dialler: Dialler,
    server: Server,
    clock: Clock,
    events: Events,
    state: watch::Sender<State>,
    /// The number of the newest connection that somebody found broken.
    broken: AtomicU64,
    /// The number of the newest connection that was given up because of what its server said.
    redialled: AtomicU64,
    found_broken: Arc<Notify>,
    /// When a reply last came, in ticks: an idle connection is tried with a PING.
    last_reply: AtomicU64,
    on_push: Arc<dyn Fn(PushInfo) + Send + Sync>,
}

impl Link {
    /// A link that is down until [`Link::supervise`] runs.
    pub(super) fn new(
        purpose: Purpose,
        dialler: Dialler,
        server: Server,
        clock: Clock,
        events: Events,
        on_push: Arc<dyn Fn(PushInfo) + Send + Sync>,
    ) -> Link {
        let state = watch::Sender::new(State::Down { why: None });
        let (broken, redialled, last_reply) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        Link(Arc::new(Shared {
            purpose,
            dialler,
            server,
            clock,
            events,
            state,
            broken,
            redialled,
            found_broken: Arc::default(),
            last_reply,
            on_push,
        }))
    }

    /// Dials for the caller of `connect`, who is to see the error: once, and again until `wait` is over while the server may
    /// not be up yet.
    pub(super) async fn dial_first(&self, wait: Duration) -> Result<()> {
        let shared = &self.0;
        let until = shared.clock.now().plus(wait);
        let (mut backoff, mut number) = (FIRST_BACKOFF, 1);
        let mut dialled = shared.dial(number, true).await;
        loop {
            let DialError { error, passes } = match dialled {
                Ok(connected) => {
                    shared.state.send_replace(State::Up(connected));
                    return Ok(());
                }
                Err(failed) => failed,
            };
            if !passes || wait.is_zero() {
                return Err(error);
            }
            // A number of its own: the end of the failed try may still be reported.
            number += 1;
            let again = async {
                shared.pause(&mut backoff).await;
                shared.dial(number, true).await
            };
            dialled = by_deadline(&shared.clock, until, pin!(again)).await.ok_or_else(|| {
                let message = format!("{}; waited {wait:?} for it (connect_wait)", error.message());
                error.retold(error.op(), message)
            })?;
        }
    }

    /// Keeps the connection up for as long as the client lives.
    pub(super) fn supervise(&self, task: &'static str, tasks: &Tasks) {
        let shared = self.0.clone();
        tasks.spawn_vital(task, async move { shared.supervise(task).await });
        let (last, its_tasks) = (CloseWithRuntime(self.0.clone(), tasks.clone()), tasks.clone());
        tasks.spawn(async move {
            its_tasks.closed().await;
            drop(last);
        });
    }

    /// The connection, waiting for one until `deadline`.
    ///
    /// # Errors
    /// [`ErrorKind::Connection`] with the reason why there is none; [`ErrorKind::Closed`].
    pub(super) async fn get(&self, deadline: Tick) -> Result<Connected> {
        if let Some(connected) = self.up(Connected::clone) {
            return Ok(connected);
        }
        let mut state = self.0.state.subscribe();
        tokio::select! {
            biased;
            seen = state.wait_for(|state| !matches!(state, State::Down { .. })) => match seen.as_deref() {
                Ok(State::Up(connected)) => Ok(connected.clone()),
                _ => Err(Error::new(ErrorKind::Closed, "connect", "the client was closed; open a new one")),
            },
            () = self.0.clock.sleep_until(deadline) => Err(self.unreachable()),
        }
    }

    /// Reads something of the connection, if there is one now.
    pub(super) fn up<T>(&self, see: impl FnOnce(&Connected) -> T) -> Option<T> {
        match &*self.0.state.borrow() {
            State::Up(connected) => Some(see(connected)),
            State::Down { .. } | State::Closed => None,
        }
    }

    /// Why there is no connection, if there is none.
    pub(super) fn why_down(&self) -> Option<Error> {
        match &*self.0.state.borrow() {
            State::Down { why } => why.clone(),
            State::Up(_) | State::Closed => None,
        }
    }

    /// Completes with the reason once there has been no connection for `grace`. Cancel safe.
    pub(super) async fn down_for(&self, grace: Duration) -> Error {
        let mut state = self.0.state.subscribe();
        loop {
            if state.wait_for(|state| matches!(state, State::Down { .. })).await.is_err() {
                std::future::pending::<()>().await;
            }
            if grace.is_zero() {
                return self.unreachable();
            }
            tokio::select! {
                biased;
                _ = state.wait_for(|state| !matches!(state, State::Down { .. })) => {}
                () = self.0.clock.sleep_until(self.0.clock.now().plus(grace)) => return self.unreachable(),
            }
        }
    }

    fn unreachable(&self) -> Error {
        match &*self.0.state.borrow() {
            State::Down { why: Some(why) } => why.clone(),
            _ => self.0.dialler.error("did not answer in time"),
        }
    }

    /// Completes when there is a connection other than number `last`. Cancel safe.
    pub(super) async fn next_after(&self, last: u64) -> Connected {
        let mut state = self.0.state.subscribe();
        loop {
            if let State::Up(connected) = &*state.borrow_and_update()
                && connected.number != last
            {
                return connected.clone();
            }
            if state.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Completes when connection `number` is the present one no more. Cancel safe.
    pub(super) async fn gone(&self, number: u64) {
        let is_it = |state: &State| matches!(state, State::Up(connected) if connected.number == number);
        if self.0.state.subscribe().wait_for(|state| !is_it(state)).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// See [`Dialler::in_time`].
    pub(super) async fn in_time<T>(&self, answer: impl Future<Output = RedisResult<T>>) -> RedisResult<T> {
        self.0.dialler.in_time(answer).await
    }

    /// When a reply last came.
    pub(super) fn heard_at(&self) -> Tick {
        Tick(self.0.last_reply.load(Ordering::Relaxed))
    }

    /// Tells that a reply came.
    pub(super) fn replied(&self, at: Tick) {
        self.0.last_reply.fetch_max(at.0, Ordering::Relaxed);
    }

    /// Tells that connection `number` is broken, and how: nobody gets it any more, a new one is dialled at once.
    pub(super) fn report_broken(&self, number: u64, how: &str) {
        self.0.report_broken(number, how);
    }

    /// Gives up connection `number`, whose server refuses what another one may do, and dials the address again, with pauses.
    pub(super) fn redial(&self, number: u64, why: &Error) {
        self.0.redial(number, why.clone());
    }
}

/// Closes the link when the client was closed, or its runtime was shut down: requests under way would wait for a connection.
struct CloseWithRuntime(Arc<Shared>, Tasks);

impl Drop for CloseWithRuntime {
    fn drop(&mut self) {
        if !self.1.is_forked() {
            self.0.state.send_replace(State::Closed);
        }
    }
}

impl Shared {
    fn report_broken(&self, number: u64, how: &str) {
        self.give_up(number, || self.dialler.error(how));
    }

    fn redial(&self, number: u64, why: Error) {
        self.redialled.fetch_max(number, Ordering::SeqCst);
        self.give_up(number, || why);
    }

    fn give_up(&self, number: u64, why: impl FnOnce() -> Error) {
        self.broken.fetch_max(number, Ordering::SeqCst);
        // At once, and not only when the supervisor runs: whoever retries must not be given it again.
        self.state.send_if_modified(|state| {
            let its_last = matches!(state, State::Up(connected) if connected.number <= number);
            if its_last {
                *state = State::Down { why: Some(why()) };
            }
            its_last
        });
        self.found_broken.notify_one();
    }

    /// Enters a new state, unless the client was closed.
    fn enter(&self, to: State) {
        self.state.send_if_modified(|state| {
            let open = !matches!(state, State::Closed);
            if open {
                *state = to;
            }
            open
        });
    }

    /// Connection `number`; `first` until the link was up once.
    async fn dial(self: &Arc<Self>, number: u64, first: bool) -> Result<Connected, DialError> {
        let on_push = self.on_push.clone();
        let (shared, cause) = (Arc::downgrade(self), Cause::default());
        let its_cause = cause.clone();
        let push = move |info: PushInfo| -> std::result::Result<(), ()> {
            match info.kind {
                PushKind::Disconnection => {
                    shared.upgrade().into_iter().for_each(|shared| shared.report_broken(number, its_cause.how()))
                }
                _ => on_push(info),
            }
            Ok(())
        };
        let Dialled { connection, driver, hello } = self.dialler.dial(first, cause, push).await?;
        let since = self.clock.now();
        self.last_reply.fetch_max(since.0, Ordering::Relaxed);
        let moved_before = self.server.moves();
        let reached = self.server.reached(self.purpose, first, &hello);
        if self.purpose == Purpose::Commands && (first || reached.moves > moved_before) {
            self.warn_of_eviction(&hello);
        }
        if self.server.alternates() {
            self.warn_of_two_servers();
        }
        Ok(Connected { connection, number, since, reached, _driver: driver })
    }

    fn warn_of_eviction(&self, hello: &Hello) {
        if let Some(policy) = &hello.evicts_by {
            let message = format!(
                "{} may evict held locks under memory pressure, and then a lock has two holders (maxmemory-policy {}); \
                 set maxmemory-policy noeviction",
                self.dialler.target(),
                part(policy)
            );
            self.events.emit(Level::Warn, None, message);
        }
    }

    fn warn_of_two_servers(&self) {
        let message = format!(
            "{} leads to several live servers by turns: each has locks and rate limits of its own, so a lock can have two \
             holders; let the address lead to one primary only",
            self.dialler.target()
        );
        self.events.emit(Level::Warn, None, message);
    }

    async fn supervise(self: Arc<Self>, task: &'static str) {
        let mut number = match &*self.state.borrow() {
            State::Up(connected) => connected.number,
            State::Down { .. } | State::Closed => 0,
        };
        let (mut backoff, mut level) = (FIRST_BACKOFF, Level::Warn);
        // What was said since a connection last served for a while: that one is broken, and that one was given up.
        let (mut said_broken, mut said_redialled) = (false, false);
        loop {
            if number > 0 {
                let since = self.clock.now();
                self.watch(number, task).await;
                let redialled = self.redialled.load(Ordering::SeqCst) >= number;
                // One that is given up answers, only not as wanted.
                let answered = redialled || Tick(self.last_reply.load(Ordering::Relaxed)) > since;
                let settled = match self.purpose {
                    // Callers wait for it, each for one request.
                    Purpose::Commands if !redialled => answered,
                    // Each new one for messages makes the client verify all that it holds.
                    _ => answered && self.clock.now().since(since) >= SETTLED,
                };
                if settled {
                    (backoff, said_broken, said_redialled) = (FIRST_BACKOFF, false, false);
                }
                // Once is enough for an outage, whatever number of connections it takes, and for a server that is left again
                // and again.
                let said = if redialled { &mut said_redialled } else { &mut said_broken };
                level = if std::mem::replace(said, true) { Level::Debug } else { Level::Warn };
                self.say_broken(level);
                if !settled {
                    backoff = if answered { backoff.min(LONGEST_LEAVE) } else { backoff };
                    self.pause(&mut backoff).await;
                }
            }
            number = self.dial_until_up(number, level).await;
        }
    }

    fn say_broken(&self, level: Level) {
        let how = match &*self.state.borrow() {
            State::Down { why: Some(why) } => why.message().to_owned(),
            _ => self.dialler.target().to_string(),
        };
        let message = format!("the connection for {} is broken, dialling again: {how}", self.purpose);
        self.events.emit(level, None, message);
    }

    /// Jitter: a fleet whose server restarts must not come back in step.
    async fn pause(&self, backoff: &mut Duration) {
        let pause = backoff.mul_f64(0.5 + fastrand::f64());
        self.clock.sleep_until(self.clock.now().plus(pause)).await;
        *backoff = (*backoff * 2).min(LONGEST_BACKOFF);
    }

    /// Returns when connection `number` is broken.
    async fn watch(&self, number: u64, task: &'static str) {
        let idle = self.dialler.ping_interval();
        let moves = match &*self.state.borrow() {
            State::Up(connected) => connected.reached.moves,
            State::Down { .. } | State::Closed => u64::MAX,
        };
        while self.broken.load(Ordering::SeqCst) < number {
            fault_point(task);
            let ping_at = Tick(self.last_reply.load(Ordering::Relaxed)).plus(idle);
            tokio::select! {
                () = self.found_broken.notified() => continue,
                _ = self.server.moved_since(moves) => {
                    self.redial(number, self.dialler.error("is another server now"));
                    continue;
                }
                () = self.clock.sleep_until(ping_at) => {}
            }
            if Tick(self.last_reply.load(Ordering::Relaxed)).plus(idle) > self.clock.now() {
                continue;
            }
            let State::Up(mut connected) = self.state.borrow().clone() else { return };
            match self.dialler.ping(&mut connected.connection).await {
                true => drop(self.last_reply.fetch_max(self.clock.now().0, Ordering::Relaxed)),
                false => self.report_broken(number, "did not answer a PING"),
            }
        }
    }

    /// Dials until there is a connection, and gives its number: each try has one of its own, larger than `last`.
    async fn dial_until_up(self: &Arc<Self>, last: u64, level: Level) -> u64 {
        let (mut said, mut backoff) = (None, FIRST_BACKOFF);
        for number in last + 1.. {
            match self.dial(number, last == 0).await {
                Ok(connected) => {
                    if last > 0 {
                        let message = format!("connected for {} to {} again", self.purpose, self.dialler.target());
                        // As loud as what it answers.
                        let level = if level == Level::Warn { Level::Info } else { level };
                        self.events.emit(level, None, message);
                    }
                    self.enter(State::Up(connected));
                    return number;
                }
                Err(DialError { error: why, .. }) => {
                    // Once for each reason, not once for each try.
                    if said.as_deref() != Some(why.message()) {
                        self.events.emit(
                            Level::Warn,
                            None,
                            format!("cannot connect for {}: {}", self.purpose, why.message()),
                        );
                        said = Some(why.message().to_owned());
                    }
                    self.enter(State::Down { why: Some(why) });
                }
            }
            self.pause(&mut backoff).await;
        }
        unreachable!("2^64 tries")
    }
}
