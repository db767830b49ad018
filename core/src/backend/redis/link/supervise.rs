//! What keeps a link up: watches its connection, and dials again, with pauses, when it is broken or given up.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::super::dial::told_later;
use super::super::sentinel::News;
use super::super::server::Purpose;
use super::super::verdict::{self, DialError};
use super::{Connected, FIRST_BACKOFF, Shared, State};
use crate::event::Level;
use crate::task::fault_point;
use crate::time::Tick;

const LONGEST_BACKOFF: Duration = Duration::from_secs(1);

/// The longest pause, with jitter half as long again, before a server is dialled once more that takes no writes, or whose
/// connections for messages break soon: requests wait for it.
const LONGEST_LEAVE: Duration = Duration::from_millis(500);

/// A connection for messages that served for so long is replaced without a pause. One that did not is followed by a pause that
/// doubles.
const SETTLED: Duration = Duration::from_secs(2);

impl Shared {
    pub(super) async fn supervise(self: Arc<Self>, task: &'static str) {
        let mut number = self.up(|connected| connected.number).unwrap_or(0);
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
                level = if std::mem::replace(said, true) { Level::Debug } else { self.purpose.level() };
                self.say_broken(level);
                if !settled {
                    backoff = if answered { backoff.min(LONGEST_LEAVE) } else { backoff };
                    self.pause(&mut backoff, &mut self.dialler.route().news()).await;
                }
            }
            number = self.dial_until_up(number, level).await;
        }
    }

    fn say_broken(&self, level: Level) {
        let how = match &*self.state.borrow() {
            State::Down { why: Some(why), .. } => why.message().to_owned(),
            _ => "it is not known why".to_owned(),
        };
        let message = format!("the connection for {} is broken, dialling again: {how}", self.purpose);
        self.events.emit(level, None, message);
    }

    /// Jitter: a fleet whose server restarts must not come back in step. Over at once when sentinels name another server.
    pub(super) async fn pause(&self, backoff: &mut Duration, news: &mut News) {
        let pause = backoff.mul_f64(0.5 + fastrand::f64());
        tokio::select! {
            () = self.clock.sleep_until(self.clock.now().plus(pause)) => *backoff = (*backoff * 2).min(LONGEST_BACKOFF),
            () = news.changed() => *backoff = FIRST_BACKOFF,
        }
    }

    /// Returns when connection `number` is broken.
    async fn watch(&self, number: u64, task: &'static str) {
        let idle = self.dialler.ping_interval();
        let seen = self.up(|connected| (connected.reached.moves, connected.endpoint.clone()));
        // Broken already, or the client was closed, which ends this task.
        let Some((moves, endpoint)) = seen else { return };
        while self.broken.load(Ordering::SeqCst) < number {
            fault_point(task);
            let ping_at = Tick(self.last_reply.load(Ordering::Relaxed)).plus(idle);
            tokio::select! {
                () = self.found_broken.notified() => continue,
                _ = self.server.moved_since(moves) => {
                    self.redial(number, endpoint.error("is another server now"));
                    continue;
                }
                () = self.dialler.route().left(&endpoint) => {
                    self.redial(number, verdict::of_leaving(&endpoint).error);
                    continue;
                }
                () = self.clock.sleep_until(ping_at) => {}
            }
            if Tick(self.last_reply.load(Ordering::Relaxed)).plus(idle) > self.clock.now() {
                continue;
            }
            let Some(mut connected) = self.up(Connected::clone) else { return };
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
            let mut news = self.dialler.route().news();
            match self.dial(number, last == 0).await {
                Ok(connected) => {
                    if last > 0 {
                        let message = format!("connected for {} to {} again", self.purpose, connected.endpoint);
                        // As loud as what it answers.
                        let level = if level == Level::Warn { Level::Info } else { level };
                        self.events.emit(level, None, message);
                    }
                    self.enter(|_| State::Up(connected));
                    return number;
                }
                Err(DialError { error: why, .. }) => {
                    let why = told_later(why);
                    // Once for each reason, not once for each try.
                    if said.as_deref() != Some(why.message()) {
                        self.events.emit(
                            self.purpose.level(),
                            None,
                            format!("cannot connect for {}: {}", self.purpose, why.message()),
                        );
                        said = Some(why.message().to_owned());
                    }
                    self.enter(|last| match last {
                        State::Down { since, .. } => State::Down { since: *since, why: Some(why) },
                        _ => State::Down { since: self.clock.now(), why: Some(why) },
                    });
                }
            }
            self.pause(&mut backoff, &mut news).await;
        }
        unreachable!("2^64 tries")
    }
}
