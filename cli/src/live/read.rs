//! One sweep after another: looks for objects, reads them, tells what it has seen.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use libdlock::survey::{Kind, Walk};
use libdlock::{Client, Error, ErrorKind};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::known::{Key, Known};
use super::pace::Pace;
use super::{Row, View};
use crate::args::LiveArgs;
use crate::details::{Details, is_of_one};

/// Steps of the walk in one sweep, each of about 500 keys.
const STEPS: usize = 40;

/// Locks that are read at once, in less than a millisecond.
const LOCKS: usize = 200;

/// Other objects that are read at once.
const OTHERS: usize = 32;

/// Objects whose queues are read in one sweep, and waiters of each.
const QUEUES: usize = 128;
const WAITERS: usize = 20;

/// A long sweep tells between its requests, so often.
const TELL: Duration = Duration::from_secs(1);

pub struct Reader {
    client: Client,
    walk: Walk,
    known: Known,
    pace: Pace,
    every: Duration,
    view: View,
    tell: watch::Sender<Arc<View>>,
    told: Instant,
    /// Whether the server was reached the last time.
    is_up: bool,
}

impl Reader {
    pub fn new(client: Client, args: &LiveArgs, tell: watch::Sender<Arc<View>>) -> Reader {
        let walk = client.survey().walk(&args.pattern);
        let (view, known) = (View::nothing(), Known::new(args.most as usize));
        let (pace, told) = (Pace::new(), Instant::now());
        Reader { client, walk, known, pace, every: args.every, view, tell, told, is_up: false }
    }

    /// Reads everything once, and tells; how long it took.
    ///
    /// # Errors
    /// As the server says.
    pub async fn sweep(&mut self) -> Result<Duration, Error> {
        if !self.is_up {
            self.meet().await?;
        }
        self.pace.begin();
        self.look().await?;
        self.read_locks().await?;
        self.read_others().await?;
        self.read_queues().await?;
        self.known.trim();
        (self.view.sweep, self.view.share) = (self.pace.took(), self.pace.share(self.every));
        self.view.sweeps += 1;
        self.tell();
        Ok(self.pace.took())
    }

    /// Tells why there is nothing new.
    pub fn tell_problem(&mut self, problem: String) {
        self.is_up = false;
        self.view.problem = Some(problem);
        self.tell.send_replace(Arc::new(self.view.clone()));
    }

    /// Where the server is.
    async fn meet(&mut self) -> Result<(), Error> {
        let facts = self.client.survey().facts(&[]).await?;
        let addresses: Vec<_> = facts.iter().map(|facts| facts.address.as_str()).collect();
        self.view.server = addresses.join(", ");
        if let Some(error) = facts.iter().find_map(|facts| facts.info.as_ref().err())
            && error.kind() == ErrorKind::Connection
        {
            return Err(error.clone());
        }
        self.is_up = true;
        Ok(())
    }

    async fn look(&mut self) -> Result<(), Error> {
        for _ in 0..STEPS {
            let known = &self.known;
            let step = self.walk.step(|name| known.is_sure(name)).await?;
            self.pace.rest_after(step.busy).await;
            self.known.find(step.objects.into_iter().map(|found| (found.name, found.kind)));
            if step.is_last {
                self.known.end_round();
                break;
            }
        }
        Ok(())
    }

    async fn read_locks(&mut self) -> Result<(), Error> {
        let keys = self.known.keys(|kind| kind == Kind::Lock);
        for keys in keys.chunks(LOCKS) {
            let names: Vec<&str> = keys.iter().map(|(name, _)| name.as_str()).collect();
            let glance = match self.client.survey().glance(&names).await {
                Ok(glance) => glance,
                // Of several independent servers none has the whole truth.
                Err(error) if error.kind() == ErrorKind::Unsupported => {
                    self.read_each(keys).await?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            for (key, seen) in keys.iter().zip(glance.locks) {
                match seen {
                    Ok(seen) => {
                        let (ago, is_sure) = (seen.granted_ago, seen.holder.is_some());
                        self.keep(key, Details::of_seen(&key.0, seen), ago, is_sure);
                    }
                    Err(error) => self.could_not(key, error)?,
                }
            }
            self.pace.rest_after(glance.busy).await;
            self.tell_between();
        }
        Ok(())
    }

    async fn read_others(&mut self) -> Result<(), Error> {
        let keys = self.known.keys(|kind| kind != Kind::Lock);
        for keys in keys.chunks(OTHERS) {
            self.read_each(keys).await?;
            self.tell_between();
        }
        Ok(())
    }

    /// All at once, each with a request of its own.
    async fn read_each(&mut self, keys: &[Key]) -> Result<(), Error> {
        let (before, began) = (self.client.survey().processor_time().await?, Instant::now());
        let mut reading = JoinSet::new();
        for key in keys.iter().cloned() {
            let client = self.client.clone();
            reading.spawn(async move { (Details::read(&client, key.1, &key.0).await, key) });
        }
        while let Some(read) = reading.join_next().await {
            match read {
                Ok((Ok(details), key)) => self.keep(&key, details, None, true),
                Ok((Err(error), key)) => self.could_not(&key, error)?,
                Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
            }
        }
        self.rest(before, began).await?;
        Ok(())
    }

    async fn read_queues(&mut self) -> Result<(), Error> {
        let keys = self.known.waited_for(QUEUES);
        for keys in keys.chunks(OTHERS) {
            let (before, began) = (self.client.survey().processor_time().await?, Instant::now());
            let mut reading = JoinSet::new();
            for key in keys.iter().cloned() {
                let survey = self.client.survey();
                reading.spawn(async move { (survey.waiters(key.1, &key.0, WAITERS).await, key) });
            }
            while let Some(Ok((waiters, key))) = reading.join_next().await {
                if let Some(object) = self.known.get_mut(&key)
                    && let Some(row) = object.row.as_deref().cloned()
                {
                    let (waiters, waiters_read) = (waiters.unwrap_or_default().into(), Instant::now());
                    object.row = Some(Arc::new(Row { waiters, waiters_read, ..row }));
                }
            }
            self.rest(before, began).await?;
        }
        Ok(())
    }

    /// Keeps what was read of an object, and counts whether it was granted since.
    fn keep(&mut self, key: &Key, details: Details, granted_ago: Option<Duration>, is_sure: bool) {
        let read = Instant::now();
        let since = self.known.read_at(key).map(|before| read.duration_since(before));
        let Some(object) = self.known.get_mut(key) else { return };
        self.view.grants_seen += u64::from(object.rate.look(details.token(), since));
        let grants = object.rate.per_second();
        // Until they are read anew.
        let before = object.row.as_ref().filter(|_| details.queued > 0);
        let before = before.map(|row| (row.waiters.clone(), row.waiters_read));
        let (waiters, waiters_read) = before.unwrap_or_else(|| (Arc::default(), read));
        let row = Row { details, read, waiters, waiters_read, grants, granted_ago };
        self.known.put(key, row, is_sure);
    }

    /// One that could not be read is shown as such, or is of another kind than its keys say.
    fn could_not(&mut self, key: &Key, error: Error) -> Result<(), Error> {
        match error.kind() {
            ErrorKind::WrongType => self.known.remove(key),
            _ if is_of_one(&error) => self.keep(key, Details::unreadable(key.1, &key.0, &error), None, true),
            _ => return Err(error),
        }
        Ok(())
    }

    /// Rests after requests that others may have come between.
    async fn rest(&mut self, before: Duration, began: Instant) -> Result<(), Error> {
        let took = began.elapsed();
        let spent = self.client.survey().processor_time().await?.saturating_sub(before);
        // A server that does not tell has spent no more than the time until its answers.
        self.pace.rest_after(if spent.is_zero() { took } else { spent.min(took) }).await;
        Ok(())
    }

    fn tell_between(&mut self) {
        if self.told.elapsed() >= TELL {
            self.tell();
        }
    }

    fn tell(&mut self) {
        let (rows, idle, grants) = self.known.told();
        let is_complete = self.known.is_complete;
        self.view = View { at: SystemTime::now(), problem: None, rows, idle, grants, is_complete, ..self.view.clone() };
        self.told = Instant::now();
        self.tell.send_replace(Arc::new(self.view.clone()));
    }
}
