//! Jobs that are put and done while something happens to their server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use libdlock::queue::NewJob;
use libdlock::{ErrorKind, Queue, Wait};
use libdlock_testkit::Server;
use tokio::task::JoinHandle;

use crate::{SOON, bounded};

/// The jobs of the queue `mails` in one script, so that nothing moves meanwhile: in M, in R, in F, in O, in X.
const PLACES: &str = "return {redis.call('HLEN', KEYS[1]), redis.call('ZCARD', KEYS[2]), redis.call('ZCARD', KEYS[3]), \
                      redis.call('HLEN', KEYS[4]), redis.call('ZCARD', KEYS[5])}";

/// How many jobs the queue `mails` has: each is in one place, and each delivery has a lease.
#[track_caller]
pub fn is_whole(server: &Server, what: &str) -> usize {
    let keys = ["all", "due", "leases", "held", "dead"].map(|kind| format!("dlock_queue_{kind}:{{mails}}"));
    let words = ["EVAL", PLACES, "5"].into_iter().chain(keys.iter().map(String::as_str));
    let reply = server.cmd(&words.collect::<Vec<_>>());
    let counts: Vec<i64> = reply.array().iter().map(|count| count.int()).collect();
    let [all, due, leases, held, dead] = counts[..] else { panic!("{counts:?}") };
    assert_eq!((all, held), (due + held + dead, leases), "{what}: {counts:?}");
    all as usize
}

/// Takes and acknowledges until so many were done; their ids, and which attempt each was.
pub async fn work(queue: &Queue, count: usize) -> BTreeMap<String, u32> {
    let mut done = BTreeMap::new();
    while done.len() < count {
        let taken = bounded(SOON, "a job comes", queue.take_many(100, Wait::Forever)).await.expect("take");
        for delivery in taken {
            let before = done.insert(delivery.id().to_owned(), delivery.attempt());
            assert_eq!(before, None, "{} was done twice", delivery.id());
            delivery.ack().await.expect("ack");
        }
    }
    done
}

/// As [`work`], where the server may be replaced by one that does not know of a delivery yet: then its job comes again. The ids of
/// all that were acknowledged.
pub async fn work_on(queue: &Queue, count: usize) -> BTreeSet<String> {
    let mut done = BTreeSet::new();
    while done.len() < count {
        let taken = bounded(SOON, "a job comes", queue.take_many(100, Wait::Forever)).await;
        let taken = match taken {
            Err(error) if passes(error.kind()) => continue,
            taken => taken.expect("take"),
        };
        for delivery in taken {
            let id = delivery.id().to_owned();
            match delivery.ack().await {
                Ok(()) => drop(done.insert(id)),
                Err(error) => assert!(passes(error.kind()) || error.kind() == ErrorKind::NotHeld, "ack: {error}"),
            }
        }
    }
    done
}

/// What consumers have done.
#[derive(Default)]
pub struct Done {
    /// Acknowledged, and that was confirmed; how often.
    pub acked: BTreeMap<String, u32>,
    /// It is not known what became of an acknowledgement.
    pub unknown: BTreeSet<String>,
    /// Deliveries that were lost before their end.
    pub lost: u32,
}

/// A producer and consumers that go on whatever fails.
pub struct Traffic {
    is_over: Arc<AtomicBool>,
    queue: Queue,
    producer: JoinHandle<BTreeSet<String>>,
    consumers: Vec<JoinHandle<Done>>,
}

impl Traffic {
    /// Puts a job every few ms through the first queue, and takes through the others.
    pub fn start(puts: &Queue, takes: &[Queue]) -> Traffic {
        let is_over = Arc::new(AtomicBool::new(false));
        let producer = tokio::spawn(produce(puts.clone(), is_over.clone()));
        let consumers = takes.iter().map(|queue| tokio::spawn(consume(queue.clone(), is_over.clone()))).collect();
        Traffic { is_over, queue: puts.clone(), producer, consumers }
    }

    /// Puts no more, and waits until all is done: what was put, and what the consumers did.
    pub async fn finish(self) -> (BTreeSet<String>, Done) {
        self.is_over.store(true, Ordering::Relaxed);
        let put = bounded(SOON, "the last put", self.producer).await.expect("no panic");
        let begun = Instant::now();
        loop {
            let counts = self.queue.counts().await;
            if counts.as_ref().is_ok_and(|counts| counts.ready + counts.delayed + counts.in_flight == 0) {
                break;
            }
            assert!(begun.elapsed() < SOON * 2, "not all is done: {counts:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let mut all = Done::default();
        for consumer in self.consumers {
            let Done { acked, unknown, lost } = bounded(SOON, "a consumer ends", consumer).await.expect("no panic");
            acked.into_iter().for_each(|(id, times)| *all.acked.entry(id).or_default() += times);
            all.unknown.extend(unknown);
            all.lost += lost;
        }
        (put, all)
    }

    /// As [`Traffic::finish`] where no fault may lose or repeat anything: each job was done, and none was acknowledged twice.
    pub async fn finish_exactly(self) -> usize {
        let (put, done) = self.finish().await;
        let missing = put.iter().filter(|id| !done.acked.contains_key(*id) && !done.unknown.contains(*id));
        assert_eq!(missing.collect::<Vec<_>>(), [""; 0], "put and never done");
        let twice = done.acked.iter().filter(|(_, times)| **times > 1);
        assert_eq!(twice.collect::<Vec<_>>(), [], "acknowledged twice");
        println!("{} jobs, {} of unknown outcome, {} deliveries lost", put.len(), done.unknown.len(), done.lost);
        put.len()
    }
}

/// Errors that a server which is away, or another one now, may cause.
fn passes(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Connection | ErrorKind::OutcomeUnknown | ErrorKind::Server)
}

async fn produce(queue: Queue, is_over: Arc<AtomicBool>) -> BTreeSet<String> {
    let mut put = BTreeSet::new();
    while !is_over.load(Ordering::Relaxed) {
        let id = put.len().to_string();
        let delay = Duration::from_millis(fastrand::u64(..20));
        match queue.put(NewJob::new(id.clone()).id(id.clone()).delay(delay)).await {
            Ok(_) => assert!(put.insert(id)),
            // The next one has another id: this one may be done already.
            Err(error) if passes(error.kind()) => assert!(put.insert(format!("not-{id}"))),
            Err(error) => panic!("put: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    put.retain(|id| !id.starts_with("not-"));
    put
}

async fn consume(queue: Queue, is_over: Arc<AtomicBool>) -> Done {
    let mut done = Done::default();
    loop {
        match queue.take_timeout(Duration::from_secs(1)).await {
            Ok(Some(delivery)) => {
                let id = delivery.id().to_owned();
                match delivery.ack().await {
                    Ok(()) => *done.acked.entry(id).or_default() += 1,
                    Err(error) if error.kind() == ErrorKind::NotHeld => done.lost += 1,
                    Err(error) if passes(error.kind()) => drop(done.unknown.insert(id)),
                    Err(error) => panic!("ack: {error}"),
                }
            }
            Ok(None) if is_over.load(Ordering::Relaxed) => return done,
            Ok(None) => {}
            Err(error) if passes(error.kind()) => tokio::time::sleep(Duration::from_millis(20)).await,
            Err(error) => panic!("take: {error}"),
        }
    }
}
