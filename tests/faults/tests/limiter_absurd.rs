//! What a limiter and a pool of worker numbers make of replies that no version gives: numbers at the ends of what can be read, and
//! lists of other lengths. Each call ends at once, in a decision or a clear error, and none panics.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use libdlock::id::WorkerOptions;
use libdlock::limit::{Absent, Algorithm, LimiterOptions};
use libdlock::{Client, Error, ErrorKind, Rate, RateLimiter, Wait};
use libdlock_faults::{SOON, bounded, client};
use libdlock_testkit::Scripted;

const SECOND: Duration = Duration::from_secs(1);
const CENTURY: Duration = Duration::from_secs(100 * 31_557_600);
const ALL: [Algorithm; 6] = [
    Algorithm::Gcra,
    Algorithm::FixedWindow,
    Algorithm::AlignedWindow,
    Algorithm::SlidingLog,
    Algorithm::SlidingCounter,
    Algorithm::Redisson { per_client: false },
];

/// Since 1970, and since 2025 as limiters count.
fn now_us() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros()).expect("us")
}

/// Numbers that the protocol can carry, from those that are normal to those that are not.
fn numbers() -> Vec<i64> {
    let now = now_us() - 1_735_689_600_000_000;
    vec![0, 1, -1, 2, 1_000, now, now + 1_000_000, now_us(), 1 << 53, i64::MAX / 2, i64::MAX, i64::MIN]
}

/// A server that gives one reply to every script.
struct Oracle {
    server: Scripted,
    reply: Arc<Mutex<String>>,
}

impl Oracle {
    fn start() -> Oracle {
        let reply = Arc::new(Mutex::new(":1\r\n".to_owned()));
        let given = reply.clone();
        let server = Scripted::start(move |words| words[0].starts_with("EVAL").then(|| given.lock().unwrap().clone()));
        Oracle { server, reply }
    }

    fn says(&self, numbers: &[i64]) {
        let items: String = numbers.iter().map(|number| format!(":{number}\r\n")).collect();
        *self.reply.lock().unwrap() = format!("*{}\r\n{items}", numbers.len());
    }
}

#[track_caller]
fn check(error: &Error, what: &str) {
    let kinds = [ErrorKind::Server, ErrorKind::WrongType, ErrorKind::Clock, ErrorKind::Busy];
    assert!(kinds.contains(&error.kind()), "{what}: {error}");
}

async fn ask(limiter: &RateLimiter, what: &str) {
    let calls = async {
        [
            limiter.try_acquire(1).await.map(drop),
            limiter.acquire(2, Wait::For(Duration::from_millis(1))).await.map(drop),
            limiter.peek().await.map(drop),
            limiter.try_acquire_many(&[("a", 1)]).await.map(drop),
            match limiter.rates()[0].algorithm() {
                Algorithm::Redisson { .. } => Ok(()),
                _ => limiter.reserve(1, Wait::Forever).await.map(drop),
            },
            limiter.try_acquire(1).await.map(drop),
        ]
    };
    for answer in bounded(SOON, what, calls).await {
        answer.err().iter().for_each(|error| check(error, what));
    }
}

/// Some of all lists: each place has each of the numbers, with what is next to it in turn.
fn replies(length: usize) -> Vec<Vec<i64>> {
    let numbers = numbers();
    let mut all = Vec::new();
    for granted in [0, 1, 2, -1] {
        for now in [now_us(), 0, i64::MAX] {
            for step in [0, 5] {
                for from in 0..numbers.len() {
                    let rest = (0..length.saturating_sub(2)).map(|at| numbers[(from + at * step) % numbers.len()]);
                    all.push([granted, now].into_iter().chain(rest).collect());
                }
            }
        }
    }
    all
}

fn limiters(client: &Client) -> Vec<RateLimiter> {
    let mut all = Vec::new();
    for by in ALL {
        for (tokens, per) in [(1, CENTURY), (100_000, Duration::from_millis(1))] {
            let name = format!("{by:?}{tokens}");
            all.push(client.rate_limiter(&name, Rate::new(tokens, per).by(by)).expect("a limiter"));
        }
    }
    let most = Rate::new(1_000_000_000_000, SECOND);
    for (at, options) in [
        LimiterOptions::new(most),
        LimiterOptions::new(most).prefetch(1.0),
        LimiterOptions::new(Rate::new(1_000, SECOND)).prefetch(0.5),
        LimiterOptions::new(Rate::new(1_000, SECOND)).absent(Absent::LocalShare { of: 3 }),
    ]
    .into_iter()
    .enumerate()
    {
        all.push(client.rate_limiter_with(&format!("more{at}"), options).expect("a limiter"));
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limiter_survives_every_number_in_a_reply() {
    let oracle = Oracle::start();
    let client = client(&oracle.server.url()).await;
    for limiter in limiters(&client) {
        let length = match limiter.rates()[0].algorithm() {
            Algorithm::Redisson { .. } => 8,
            _ => 7,
        };
        for reply in replies(length) {
            oracle.says(&reply);
            ask(&limiter, &format!("{} {reply:?}", limiter.name())).await;
        }
        for length in [0, 1, 2, 3, 4, 5, 6, 9, 10] {
            oracle.says(&vec![now_us(); length]);
            ask(&limiter, &format!("{} {length} numbers", limiter.name())).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_survives_every_number_in_a_reply() {
    let oracle = Oracle::start();
    let client = client(&oracle.server.url()).await;
    for reply in replies(4).into_iter().chain((0..3).map(|length| vec![0; length])) {
        oracle.says(&reply);
        let what = format!("{reply:?}");
        match bounded(SOON, &what, client.worker_with("orders", WorkerOptions::default())).await {
            Err(error) => check(&error, &what),
            Ok(worker) => {
                assert!(worker.number() < 1_024, "{what}: {}", worker.number());
                match worker.snowflake(libdlock::id::Layout::DEFAULT) {
                    Err(error) => check(&error, &what),
                    Ok(ids) => {
                        let made = ids.next_ids(3).map(|ids| assert!(ids.iter().all(|id| *id > 0), "{what}: {ids:?}"));
                        made.err().iter().for_each(|error| check(error, &what));
                    }
                }
            }
        }
    }
}
