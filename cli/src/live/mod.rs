//! What `dlock top` and `dlock serve` show: a task reads the server again and again, and keeps the last view of it.
//!
//! Reading is paced by what it costs: after each request the task rests for so long that the server is busy with it for
//! [`SHARE`](pace::SHARE) of a processor at most. Few objects are read each second, ten thousand every few seconds.

pub mod clients;
pub mod json;
mod known;
mod pace;
pub mod pick;
mod rate;
mod read;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use libdlock::survey::Waiter;
use libdlock::{Client, Config};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use self::read::Reader;
use crate::args::{LiveArgs, ServerArgs};
use crate::connection::config_with;
use crate::details::Details;
use crate::exit::Failure;

/// How long a server that is away is left alone.
const AWAY: Duration = Duration::from_secs(1);

/// One object, as it was when it was read.
#[derive(Clone)]
pub struct Row {
    pub details: Details,
    pub read: Instant,
    /// The first processes that wait for it, in the order of the queue.
    pub waiters: Arc<[Waiter]>,
    /// When these were read.
    pub waiters_read: Instant,
    /// Grants per second, at least: no more than one is seen between two looks.
    pub grants: f64,
    /// How long before it was read the server granted it last.
    pub granted_ago: Option<Duration>,
}

impl Row {
    /// What is left now.
    pub fn left(&self) -> Option<Duration> {
        self.details.left.map(|left| left.saturating_sub(self.read.elapsed()))
    }

    /// Since when its holder has it, about; none of one that is free.
    pub fn held_for(&self) -> Option<Duration> {
        self.details.holder()?;
        self.granted_ago.map(|ago| ago + self.read.elapsed())
    }

    /// How long each of the first waiters has waited by now, the longest first.
    pub fn waits(&self) -> impl Iterator<Item = Duration> + '_ {
        let since = self.waiters_read.elapsed();
        self.waiters.iter().map(move |waiter| waiter.waited + since)
    }
}

/// The server as it was seen last.
#[derive(Clone)]
pub struct View {
    pub at: SystemTime,
    /// Where it is, once it has been reached.
    pub server: String,
    /// Why it could not be read, if it could not. The rest is of before.
    pub problem: Option<String>,
    /// Those that somebody holds, waits for or has filled, by name.
    pub rows: Arc<[Arc<Row>]>,
    /// How many there are besides that nobody uses.
    pub idle: usize,
    /// Whether every object has been seen; otherwise there may be more.
    pub is_complete: bool,
    /// Grants per second of all locks together, at least.
    pub grants: f64,
    /// The grants seen since this program began: of those of one lock between two looks at it, one.
    pub grants_seen: u64,
    /// How long it took to read everything once, pauses included.
    pub sweep: Duration,
    /// The part of a processor that the server spent on it.
    pub share: f64,
    /// How often everything has been read.
    pub sweeps: u64,
}

impl View {
    /// Of how long the processes have waited that wait now, these shares of them no longer. `None` when nobody waits. The server
    /// keeps no waits that are over; the statistics of each client do.
    pub fn waits<const N: usize>(&self, shares: [f64; N]) -> Option<[Duration; N]> {
        let mut waits: Vec<_> = self.rows.iter().flat_map(|row| row.waits()).collect();
        waits.sort_unstable();
        let last = waits.len().checked_sub(1)?;
        Some(shares.map(|share| waits[((share * waits.len() as f64).ceil() as usize).clamp(1, last + 1) - 1]))
    }

    fn nothing() -> View {
        View {
            at: SystemTime::now(),
            server: String::new(),
            problem: None,
            rows: Arc::new([]),
            idle: 0,
            is_complete: false,
            grants: 0.0,
            grants_seen: 0,
            sweep: Duration::ZERO,
            share: 0.0,
            sweeps: 0,
        }
    }
}

/// A view that is kept up to date until this is dropped.
pub struct Live {
    view: watch::Receiver<Arc<View>>,
    client: watch::Receiver<Option<Client>>,
    task: JoinHandle<()>,
}

impl Live {
    /// Begins to read. A server that is not there is tried again and again.
    ///
    /// # Errors
    /// What no patience mends: wrong arguments, a wrong password.
    pub async fn start(server: &ServerArgs, args: &LiveArgs) -> Result<Live, Failure> {
        let mut view = View::nothing();
        let first = match Client::connect_with(config(server)?).await {
            Ok(client) => Some(client),
            Err(error) if error.is_retryable() => {
                view.problem = Some(error.to_string());
                None
            }
            Err(error) => return Err(error.into()),
        };
        let (tell, view) = watch::channel(Arc::new(view));
        let (share, client) = watch::channel(first);
        let (server, args) = (server.clone(), args.clone());
        let task = tokio::spawn(async move {
            let client = connected(&server, &share, &tell).await;
            let mut reader = Reader::new(client, &args, tell);
            loop {
                let rest = match reader.sweep().await {
                    Ok(took) => args.every.saturating_sub(took),
                    Err(error) => {
                        reader.tell_problem(error.to_string());
                        AWAY
                    }
                };
                sleep(rest).await;
            }
        });
        Ok(Live { view, client, task })
    }

    /// The last view.
    pub fn view(&self) -> Arc<View> {
        self.view.borrow().clone()
    }

    /// Waits for the next view. Cancel safe.
    ///
    /// # Errors
    /// When the task that reads has panicked.
    pub async fn changed(&mut self) -> Result<(), Failure> {
        let failed = || Failure::Code(crate::exit::FAILED, "a defect of dlock has ended the reading".to_owned());
        self.view.changed().await.map_err(|_| failed())
    }

    /// Waits until everything has been read once, or could not be read.
    pub async fn first(&mut self) -> Result<Arc<View>, Failure> {
        loop {
            let view = self.view();
            if view.sweeps > 0 || view.problem.is_some() {
                return Ok(view);
            }
            self.changed().await?;
        }
    }

    /// The client, once there is a server.
    pub fn client(&self) -> Option<Client> {
        self.client.borrow().clone()
    }

    /// For those that look at the view while somebody else waits for its changes.
    pub fn views(&self) -> watch::Receiver<Arc<View>> {
        self.view.clone()
    }

    pub fn clients(&self) -> watch::Receiver<Option<Client>> {
        self.client.clone()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A server that has gone is told sooner than to those who have work to do.
fn config(server: &ServerArgs) -> Result<Config, Failure> {
    config_with(server, &[("operation_timeout", "2s")])
}

/// The first client that there is, which connects again by itself from then on.
async fn connected(
    server: &ServerArgs,
    share: &watch::Sender<Option<Client>>,
    tell: &watch::Sender<Arc<View>>,
) -> Client {
    loop {
        if let Some(client) = share.borrow().clone() {
            return client;
        }
        let client = async { Ok::<_, Failure>(Client::connect_with(config(server)?).await?) };
        match client.await {
            Ok(client) => drop(share.send_replace(Some(client))),
            Err(failure) => {
                let problem = failure.message();
                tell.send_modify(|view| *view = Arc::new(View { problem, ..View::clone(view) }));
                sleep(AWAY).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use libdlock::survey::Kind;

    use super::*;

    fn waited_for(waits: &[u64]) -> Arc<Row> {
        let waiters: Vec<Waiter> = waits.iter().map(|ms| Waiter::new("w", Duration::from_millis(*ms))).collect();
        let error = libdlock::Client::blocking_connect("nothing://").map(drop).unwrap_err();
        let details = Details::unreadable(Kind::Lock, "l", &error);
        let (read, grants, granted_ago) = (Instant::now(), 0.0, None);
        Arc::new(Row { details, read, waiters: waiters.into(), waiters_read: read, grants, granted_ago })
    }

    #[test]
    fn the_wait_that_a_share_of_the_waiters_does_not_exceed() {
        let mut view = View::nothing();
        assert_eq!(view.waits([0.99]), None);
        let seconds = |wait: Duration| wait.as_secs();
        view.rows = [waited_for(&[7_000])].into();
        assert_eq!(view.waits([0.0, 0.5, 1.0]).unwrap().map(seconds), [7, 7, 7]);
        let hundred: Vec<u64> = (1..=100).rev().map(|s| s * 1_000).collect();
        view.rows = [waited_for(&hundred[..40]), waited_for(&[]), waited_for(&hundred[40..])].into();
        assert_eq!(view.waits([0.5, 0.99, 1.0]).unwrap().map(seconds), [50, 99, 100]);
    }
}
