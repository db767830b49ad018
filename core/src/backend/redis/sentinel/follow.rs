//! Listens to one sentinel for failovers, so that a client leaves a master at once that is none any more, and not when it does
//! not answer.
//!
//! A message only says that it is time to ask. What the sentinels answer then decides.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redis::{PushInfo, PushKind};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::Sentinels;
use super::refusal::Refusal;
use crate::config::{Address, Options};
use crate::event::Level;
use crate::task::{Tasks, fault_point};
use crate::time::Clock;

/// The name of the task, for the fault tests.
const TASK: &str = "sentinel";

/// A sentinel says the first when all is done, which may be minutes after it has said the second: the other replicas follow the
/// new master first. The other sentinels say the first as soon as they hear of the failover.
const CHANNELS: [&str; 2] = ["+switch-master", "+promoted-slave"];

const FIRST_BACKOFF: Duration = Duration::from_millis(50);
const LONGEST_BACKOFF: Duration = Duration::from_secs(2);

/// Where listening is forbidden, the sentinel is asked so often at least.
const WITHOUT_MESSAGES: Duration = Duration::from_secs(1);

struct Follower {
    sentinels: Sentinels,
    clock: Clock,
    ping_interval: Duration,
    /// How long a sentinel may take to answer before another one is listened to.
    patience: Duration,
}

/// What a connection to a sentinel has heard and nobody has looked at.
#[derive(Default)]
struct Heard {
    news: Notify,
    is_over: AtomicBool,
}

/// See [`Sentinels::follow`].
pub(super) fn start(sentinels: &Sentinels, options: &Options, clock: &Clock, tasks: &Tasks) {
    let follower = Follower {
        sentinels: sentinels.clone(),
        clock: clock.clone(),
        ping_interval: options.ping_interval,
        patience: options.response_timeout,
    };
    tasks.spawn_vital(TASK, follower.run());
}

impl Follower {
    async fn run(self) {
        // Clients are spread over the sentinels.
        let mut turn = fastrand::usize(..);
        let mut backoff = FIRST_BACKOFF;
        loop {
            let known = self.sentinels.known();
            let address = &known[turn % known.len()];
            turn = turn.wrapping_add(1);
            let began = self.clock.now();
            let why = self.listen_to(address).await;
            self.sentinels.0.events.emit(
                Level::Debug,
                None,
                format!("the sentinel {address} {why}: listening to another"),
            );
            if self.clock.now().since(began) > LONGEST_BACKOFF {
                backoff = FIRST_BACKOFF;
            }
            self.clock.sleep_until(self.clock.now().plus(backoff.mul_f64(0.5 + fastrand::f64()))).await;
            backoff = (backoff * 2).min(LONGEST_BACKOFF);
        }
    }

    /// Listens for as long as the sentinel answers and is in touch with most of the others; then says why not.
    async fn listen_to(&self, address: &Address) -> Refusal {
        let asker = &self.sentinels.0.asker;
        let heard = Arc::new(Heard::default());
        let silent = || Refusal::Silent(self.patience);
        let opened = async {
            let mut sentinel = asker.listen_at(address, heard.clone().listener(&asker.master)).await?;
            let listens = sentinel.subscribe(&CHANNELS).await.map_err(|error| Refusal::of(&error, false))?;
            Ok((sentinel, listens))
        };
        let (mut sentinel, listens) = match timeout(self.patience, opened).await {
            Ok(Ok(opened)) => opened,
            Ok(Err(refusal)) => return refusal,
            Err(_) => return silent(),
        };
        if !listens {
            self.say_forbidden(address);
        }
        let idle = if listens { self.ping_interval } else { self.ping_interval.min(WITHOUT_MESSAGES) };
        // What was said before the subscription was not heard.
        heard.news.notify_one();
        loop {
            fault_point(TASK);
            tokio::select! {
                () = heard.news.notified() => self.look().await,
                () = self.clock.sleep_until(self.clock.now().plus(idle)) => {}
            }
            if heard.is_over.load(Ordering::SeqCst) {
                return Refusal::Other("closed the connection".to_owned());
            }
            let answer = match timeout(self.patience, asker.ask(&mut sentinel)).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(refusal)) => return refusal,
                Err(_) => return silent(),
            };
            if !answer.sees_majority() {
                return Refusal::Other("is cut off from most of the others".to_owned());
            }
            if self.sentinels.is_news(&answer.named) {
                self.look().await;
            }
        }
    }

    /// Asks all of them. If the master is another one, its connections hear of it.
    async fn look(&self) {
        // Whoever dials says why there is no answer.
        let _ = self.sentinels.find(self.patience, false).await;
    }

    fn say_forbidden(&self, address: &Address) {
        let channels = CHANNELS.map(|channel| format!("&{channel}")).join(" ");
        let message = format!(
            "the sentinel {address} does not let this user listen: a failover is noticed up to {WITHOUT_MESSAGES:?} later; allow \
             +subscribe and the channels {channels}"
        );
        self.sentinels.0.warn_once(message);
    }
}

impl Heard {
    /// What a connection calls with each message.
    fn listener(self: Arc<Self>, master: &str) -> impl Fn(PushInfo) -> Result<(), ()> + Send + Sync + 'static {
        // `NAME ip port ip port`, and `slave NAME ip port @ NAME ip port`.
        let (first, behind) = (format!("{master} "), format!(" @ {master} "));
        move |push: PushInfo| {
            let is_news = match push.kind {
                PushKind::Disconnection => {
                    self.is_over.store(true, Ordering::SeqCst);
                    true
                }
                PushKind::Message => push.data.last().is_some_and(|message| {
                    let message = super::answer::text(message);
                    message.is_some_and(|message| message.starts_with(&first) || message.contains(&behind))
                }),
                _ => false,
            };
            if is_news {
                self.news.notify_one();
            }
            Ok(())
        }
    }
}
