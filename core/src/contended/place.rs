//! Where the tests of the kinds that can be waited for run: on `memory://` and on a real server, or with a clock that stands still.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use libdlock_testkit::Server;

use crate::time::ManualClock;
use crate::{Client, Config};

/// Long enough for anything that is bound to happen on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(10);

/// Where clients meet: a store in this process, or a server.
pub(crate) struct Place {
    pub(crate) url: String,
    pub(crate) server: Option<Server>,
}

impl Place {
    pub(crate) fn memory() -> Place {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let url = format!("memory://objects-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        Place { url, server: None }
    }

    pub(crate) fn server() -> Place {
        let server = Server::start();
        Place { url: server.url(), server: Some(server) }
    }

    pub(crate) fn both() -> [Place; 2] {
        [Place::memory(), Place::server()]
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(&self.url).await.unwrap()
    }
}

/// A client on a store of its own, whose time stands still unless the test moves it.
pub(crate) async fn still_client() -> (Client, ManualClock) {
    let clock = ManualClock::new();
    let mut config = Config::from_url("memory://?lease=10s").unwrap();
    config.clock(clock.clone()).unwrap();
    (Client::connect_with(config).await.unwrap(), clock)
}

/// Awaits, but not for longer than [`SOON`].
#[track_caller]
pub(crate) fn soon<F: Future>(what: &'static str, future: F) -> impl Future<Output = F::Output> {
    let caller = std::panic::Location::caller();
    async move {
        let done = tokio::time::timeout(SOON, future).await;
        done.unwrap_or_else(|_| panic!("not within {SOON:?}: {what} ({caller})"))
    }
}

/// Lets the tasks that are ready run: with a clock that stands still there is nothing else to wait for.
pub(crate) async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

/// Polls a future so many times, with the tasks that are ready run in between, and drops it. True when it was done before.
pub(crate) async fn dropped_after<F: Future>(polls: usize, future: F) -> bool {
    let mut future = pin!(future);
    for _ in 0..polls {
        let done = poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await;
        if done {
            return true;
        }
        tokio::task::yield_now().await;
    }
    false
}
