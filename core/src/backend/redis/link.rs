//! One supervised connection: dialled again on error, on time-out, and when an idle one does not answer a PING.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{PushInfo, PushKind, RedisResult};
use tokio::sync::{Notify, watch};

use super::dial::{Dialled, Dialler, Hello};
use super::driver::Driver;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Events, Level};
use crate::task::{Tasks, fault_point};
use crate::time::{Clock, Tick};

const FIRST_BACKOFF: Duration = Duration::from_millis(10);
const LONGEST_BACKOFF: Duration = Duration::from_secs(1);

/// A connection that is there, and which one it is: a fault is reported against its number, so that a late report does
/// not tear down its successor.
#[derive(Clone)]
pub(super) struct Connected {
    pub(super) connection: MultiplexedConnection,
    pub(super) number: u64,
    pub(super) hello: Arc<Hello>,
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
    /// Shown in logs: what the connection is for.
    purpose: &'static str,
    dialler: Dialler,
    clock: Clock,
    events: Events,
    state: watch::Sender<State>,
    /// The number of the newest connection that somebody found broken.
    broken: AtomicU64,
    found_broken: Arc<Notify>,
    /// When a reply last came, in ticks: an idle connection is tried with a PING.
    last_reply: AtomicU64,
    on_push: Arc<dyn Fn(PushInfo) + Send + Sync>,
}

impl Link {
    /// A link that is down until [`Link::supervise`] runs.
    pub(super) fn new(
        purpose: &'static str,
        dialler: Dialler,
        clock: Clock,
        events: Events,
        on_push: Arc<dyn Fn(PushInfo) + Send + Sync>,
    ) -> Link {
        let state = watch::Sender::new(State::Down { why: None });
        let (broken, last_reply) = (AtomicU64::new(0), AtomicU64::new(0));
        Link(Arc::new(Shared {
            purpose,
            dialler,
            clock,
            events,
            state,
            broken,
            found_broken: Arc::default(),
            last_reply,
            on_push,
        }))
    }

    /// Dials once, for the caller of `connect`, who is to see the error.
    pub(super) async fn dial_first(&self) -> Result<Arc<Hello>> {
        let connected = self.0.dial(1).await?;
        let hello = connected.hello.clone();
        self.0.state.send_replace(State::Up(connected));
        Ok(hello)
    }

    /// Keeps the connection up for as long as the client lives.
    pub(super) fn supervise(&self, task: &'static str, tasks: &Tasks) {
        let shared = self.0.clone();
        tasks.spawn_vital(task, async move { shared.supervise(task).await });
        let (shared, its_tasks) = (self.0.clone(), tasks.clone());
        tasks.spawn(async move {
            its_tasks.closed().await;
            shared.state.send_replace(State::Closed);
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

    /// Looks at the connection, if there is one now.
    pub(super) fn up<T>(&self, look: impl FnOnce(&Connected) -> T) -> Option<T> {
        match &*self.0.state.borrow() {
            State::Up(connected) => Some(look(connected)),
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

    /// See [`Dialler::in_time`].
    pub(super) async fn in_time<T>(&self, answer: impl Future<Output = RedisResult<T>>) -> RedisResult<T> {
        self.0.dialler.in_time(answer).await
    }

    /// Tells that a reply came.
    pub(super) fn replied(&self) {
        self.0.last_reply.fetch_max(self.0.clock.now().0, Ordering::Relaxed);
    }

    /// Tells that connection `number` is broken, and how: nobody gets it any more, a new one is dialled at once.
    pub(super) fn report_broken(&self, number: u64, how: &str) {
        self.0.report_broken(number, how);
    }
}

impl Shared {
    fn report_broken(&self, number: u64, how: &str) {
        self.broken.fetch_max(number, Ordering::SeqCst);
        // At once, and not only when the supervisor runs: whoever retries must not be given it again.
        self.state.send_if_modified(|state| {
            let its_last = matches!(state, State::Up(connected) if connected.number <= number);
            if its_last {
                *state = State::Down { why: Some(self.dialler.error(how)) };
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

    async fn dial(self: &Arc<Self>, number: u64) -> Result<Connected> {
        let on_push = self.on_push.clone();
        let shared = Arc::downgrade(self);
        let push = move |info: PushInfo| -> std::result::Result<(), ()> {
            match info.kind {
                PushKind::Disconnection => shared
                    .upgrade()
                    .into_iter()
                    .for_each(|shared| shared.report_broken(number, "closed the connection")),
                _ => on_push(info),
            }
            Ok(())
        };
        let Dialled { connection, driver, hello } = self.dialler.dial(push).await?;
        self.last_reply.fetch_max(self.clock.now().0, Ordering::Relaxed);
        Ok(Connected { connection, number, hello: Arc::new(hello), _driver: driver })
    }

    async fn supervise(self: Arc<Self>, task: &'static str) {
        let mut number = match &*self.state.borrow() {
            State::Up(connected) => connected.number,
            State::Down { .. } | State::Closed => 0,
        };
        let mut backoff = FIRST_BACKOFF;
        loop {
            if number > 0 {
                let since = self.clock.now();
                self.watch(number, task).await;
                self.say_broken();
                // One that never answered anything must not be dialled again without pause.
                if Tick(self.last_reply.load(Ordering::Relaxed)) > since {
                    backoff = FIRST_BACKOFF;
                } else {
                    self.pause(&mut backoff).await;
                }
            }
            number = self.dial_until_up(number, &mut backoff).await;
        }
    }

    fn say_broken(&self) {
        let how = match &*self.state.borrow() {
            State::Down { why: Some(why) } => why.message().to_owned(),
            _ => self.dialler.target().to_string(),
        };
        let message = format!("the connection for {} is broken, dialling again: {how}", self.purpose);
        self.events.emit(Level::Warn, None, message);
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
        while self.broken.load(Ordering::SeqCst) < number {
            fault_point(task);
            let ping_at = Tick(self.last_reply.load(Ordering::Relaxed)).plus(idle);
            tokio::select! {
                () = self.found_broken.notified() => continue,
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
    async fn dial_until_up(self: &Arc<Self>, last: u64, backoff: &mut Duration) -> u64 {
        let mut said = None;
        for number in last + 1.. {
            match self.dial(number).await {
                Ok(connected) => {
                    if last > 0 {
                        let message = format!("connected for {} to {} again", self.purpose, self.dialler.target());
                        self.events.emit(Level::Info, None, message);
                    }
                    self.enter(State::Up(connected));
                    return number;
                }
                Err(why) => {
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
            self.pause(backoff).await;
        }
        unreachable!("2^64 tries")
    }
}
