//! One supervised connection: dialled again on error, on time-out, and when an idle one does not answer a PING.

mod supervise;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use redis::aio::MultiplexedConnection;
use redis::{PushInfo, PushKind, RedisResult};
use tokio::sync::{Notify, watch};

use super::checkup::Checkup;
use super::dial::{Dialled, Dialler};
use super::driver::Driver;
use super::endpoint::Endpoint;
use super::server::{Purpose, Server};
use super::stream::Cause;
use super::verdict::{DialError, Passes};
use crate::backend::Reached;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Events, Level};
use crate::task::Tasks;
use crate::time::{Clock, Tick};
use crate::wait::by_deadline;

const FIRST_BACKOFF: Duration = Duration::from_millis(10);

/// A connection that is there, and which one it is: a fault is reported against its number, so that a late report does
/// not tear down its successor.
#[derive(Clone)]
pub(super) struct Connected {
    pub(super) connection: MultiplexedConnection,
    pub(super) number: u64,
    /// Where it leads.
    pub(super) endpoint: Arc<Endpoint>,
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
        since: Tick,
        why: Option<Error>,
    },
    Up(Connected),
    /// The client was closed, or the link retired: there will be no other.
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
    /// Of a connection for commands.
    checkup: Option<Checkup>,
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
        checkup: Option<Checkup>,
    ) -> Link {
        let state = watch::Sender::new(State::Down { since: clock.now(), why: None });
        let (broken, redialled, last_reply) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        Link(Arc::new(Shared {
            purpose,
            dialler,
            server,
            clock,
            events,
            checkup,
            state,
            broken,
            redialled,
            found_broken: Arc::default(),
            last_reply,
            on_push,
        }))
    }

    /// Dials for the caller of `connect`, who is to see the error: once, and again until `wait` is over while the server may
    /// not be up yet, and for as long as one try may take while sentinels may be about to name another master.
    pub(super) async fn dial_first(&self, wait: Duration) -> Result<()> {
        let shared = &self.0;
        let (began, for_a_failover) = (shared.clock.now(), shared.dialler.options().connect_timeout);
        let (mut backoff, mut number, mut news) = (FIRST_BACKOFF, 1, shared.dialler.route().news());
        let mut dialled = shared.dial(number, true).await;
        loop {
            let DialError { error, passes } = match dialled {
                Ok(connected) => {
                    shared.state.send_replace(State::Up(connected));
                    return Ok(());
                }
                Err(failed) => failed,
            };
            let (wait, option) = match passes {
                Passes::Never => return Err(error),
                Passes::WithFailover if for_a_failover > wait => (for_a_failover, "connect_timeout"),
                Passes::WhenUp | Passes::WithFailover => (wait, "connect_wait"),
            };
            if began.plus(wait) <= shared.clock.now() {
                return Err(error);
            }
            // A number of its own: the end of the failed try may still be reported.
            number += 1;
            let again = async {
                shared.pause(&mut backoff, &mut news).await;
                shared.dial(number, true).await
            };
            dialled = by_deadline(&shared.clock, began.plus(wait), pin!(again)).await.ok_or_else(|| {
                let message = format!("{}; waited {wait:?} for it ({option})", error.message());
                error.retold(error.op(), message)
            })?;
        }
    }

    /// Keeps the connection up for as long as the client lives.
    pub(super) fn supervise(&self, task: &'static str, tasks: &Tasks) {
        let shared = self.0.clone();
        let retired = self.clone();
        tasks.spawn_vital(task, async move {
            tokio::select! {
                () = shared.supervise(task) => {}
                () = retired.closed() => {}
            }
        });
        let (last, its_tasks) = (CloseWithRuntime(self.0.clone(), tasks.clone()), tasks.clone());
        let retired = self.clone();
        tasks.spawn(async move {
            tokio::select! {
                () = its_tasks.closed() => {}
                () = retired.closed() => {}
            }
            drop(last);
        });
    }

    /// Ends the link, whose server the client needs no more: there will be no other connection.
    pub(super) fn retire(&self) {
        self.0.state.send_replace(State::Closed);
    }

    /// Completes when there will be no other connection. Cancel safe.
    pub(super) async fn closed(&self) {
        // The sender lives in `self`.
        let _ = self.0.state.subscribe().wait_for(|state| matches!(state, State::Closed)).await;
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
        self.0.up(see)
    }

    /// Why there is no connection, if there is none.
    pub(super) fn why_down(&self) -> Option<Error> {
        match &*self.0.state.borrow() {
            State::Down { why, .. } => why.clone(),
            State::Up(_) | State::Closed => None,
        }
    }

    /// Since when there is no connection, if there is none.
    pub(super) fn down_since(&self) -> Option<Tick> {
        match &*self.0.state.borrow() {
            State::Down { since, .. } => Some(*since),
            State::Up(_) | State::Closed => None,
        }
    }

    /// How long a caller with this `grace` waits for a connection: as long as for an answer while no dial has ended yet, of a
    /// client that connects lazily.
    pub(super) fn patience(&self, grace: Duration) -> Duration {
        match &*self.0.state.borrow() {
            State::Down { why: None, .. } => grace.max(self.0.dialler.options().response_timeout),
            _ => grace,
        }
    }

    /// Completes with the reason once there has been no connection for `grace`, or for as long as [`Link::patience`] says; at once
    /// for none. Cancel safe.
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
                () = self.0.clock.sleep_until(self.0.clock.now().plus(self.patience(grace))) => return self.unreachable(),
            }
        }
    }

    fn unreachable(&self) -> Error {
        match &*self.0.state.borrow() {
            State::Down { why: Some(why), .. } => why.clone(),
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
    fn up<T>(&self, see: impl FnOnce(&Connected) -> T) -> Option<T> {
        match &*self.state.borrow() {
            State::Up(connected) => Some(see(connected)),
            State::Down { .. } | State::Closed => None,
        }
    }

    fn report_broken(&self, number: u64, how: &str) {
        self.give_up(number, |connected| connected.endpoint.error(how));
    }

    fn redial(&self, number: u64, why: Error) {
        self.redialled.fetch_max(number, Ordering::SeqCst);
        self.give_up(number, |_| why);
    }

    fn give_up(&self, number: u64, why: impl FnOnce(&Connected) -> Error) {
        self.broken.fetch_max(number, Ordering::SeqCst);
        // At once, and not only when the supervisor runs: whoever retries must not be given it again.
        self.state.send_if_modified(|state| {
            let State::Up(connected) = state else { return false };
            let its_last = connected.number <= number;
            if its_last {
                *state = State::Down { since: self.clock.now(), why: Some(why(connected)) };
            }
            its_last
        });
        self.found_broken.notify_one();
    }

    /// Enters a new state, unless the client was closed.
    fn enter(&self, to: impl FnOnce(&State) -> State) {
        self.state.send_if_modified(|state| {
            let open = !matches!(state, State::Closed);
            if open {
                *state = to(state);
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
        let Dialled { connection, driver, endpoint, hello } = self.dialler.dial(first, cause, push).await?;
        let since = self.clock.now();
        self.last_reply.fetch_max(since.0, Ordering::Relaxed);
        let reached = self.server.reached(self.purpose, first, &hello);
        if let Some(checkup) = &self.checkup {
            let warnings = checkup.warnings(&endpoint, &hello, SystemTime::now());
            warnings.for_each(|warning| self.events.emit(Level::Warn, None, warning));
        }
        // Sentinels say which server is right, however often they change it.
        if matches!(endpoint, Endpoint::Tcp(_)) && self.server.alternates() {
            self.warn_of_two_servers(&endpoint);
        }
        Ok(Connected { connection, number, endpoint: Arc::new(endpoint), since, reached, _driver: driver })
    }

    fn warn_of_two_servers(&self, endpoint: &Endpoint) {
        let message = format!(
            "{endpoint} leads to several live servers by turns: each has locks and rate limits of its own, so a lock can have two \
             holders; let the address lead to one primary only"
        );
        self.events.emit(Level::Warn, None, message);
    }
}
