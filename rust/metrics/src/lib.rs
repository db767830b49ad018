//! Reports what a client of [libdlock] has counted to the [`metrics`] facade, and so to whatever the program exports its
//! metrics with: Prometheus, StatsD, OpenTelemetry.
//!
//! ```
//! use std::time::Duration;
//!
//! use libdlock::Client;
//! use libdlock_metrics::Reporter;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> libdlock::Result<()> {
//! // After the program has installed its recorder.
//! let client = Client::connect("memory://").await?;
//! let reporting = tokio::spawn(Reporter::new(&client).every(Duration::from_secs(10)));
//! // ... until the program ends:
//! reporting.abort();
//! # Ok(()) }
//! ```
//!
//! | metric | |
//! |---|---|
//! | `dlock_client_acquired_total` and the other counters | each statistic of [`Stats`](libdlock::stats::Stats) under its name |
//! | `dlock_client_waiting`, `dlock_client_held` | gauges |
//! | `dlock_client_wait_seconds`, `dlock_client_hold_seconds` | histograms |
//!
//! Labels: `client`, the reporter's name, and `kind`, what it is about: `lock`, `rate-limiter`, in the words of the command
//! `dlock`. A kind that the client has not used is left out. These are the names that libdlock uses in all languages.
//!
//! A client counts times by powers of two of a microsecond; the facade takes single values. It is told the middle of each such
//! span, so that a time is off by a third at most.

#![forbid(unsafe_code)]

mod rows;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use libdlock::Client;
use libdlock::stats::{HISTOGRAM_BUCKETS, Histogram};

use self::rows::{COUNTS, TIMES};

/// Reports the statistics of one client. See the [crate] for an example.
pub struct Reporter {
    client: Client,
    name: String,
    /// How much of each histogram was reported, by its place among all.
    reported: Mutex<HashMap<usize, [u64; HISTOGRAM_BUCKETS]>>,
}

impl Reporter {
    /// With `libdlock` as the label `client`, for programs that have one client.
    pub fn new(client: &Client) -> Reporter {
        Reporter::named(client, "libdlock")
    }

    /// With a name that tells the clients of a program apart.
    pub fn named(client: &Client, name: &str) -> Reporter {
        Reporter { client: client.clone(), name: name.to_owned(), reported: Mutex::default() }
    }

    /// Reports all statistics, as they are now, to the recorder that is installed. Takes some ten microseconds.
    pub fn report(&self) {
        let stats = self.client.stats();
        let is_used = |kind: &str| {
            let counts = COUNTS.iter().any(|(of, _, _, read)| *of == kind && read(&stats) > 0);
            counts || TIMES.iter().any(|(of, _, _, read)| *of == kind && read(&stats).count() > 0)
        };
        for (kind, name, what, read) in COUNTS.iter().filter(|(kind, ..)| kind.is_empty() || is_used(kind)) {
            match name.ends_with("_total") {
                true => {
                    metrics::describe_counter!(*name, *what);
                    metrics::counter!(*name, self.labels(kind)).absolute(read(&stats));
                }
                false => {
                    metrics::describe_gauge!(*name, *what);
                    metrics::gauge!(*name, self.labels(kind)).set(read(&stats) as f64);
                }
            }
        }
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        for (place, (kind, name, what, read)) in TIMES.iter().enumerate().filter(|(_, (kind, ..))| is_used(kind)) {
            metrics::describe_histogram!(*name, metrics::Unit::Seconds, *what);
            let metric = metrics::histogram!(*name, self.labels(kind));
            let Histogram { buckets, .. } = read(&stats);
            let before = reported.insert(place, buckets).unwrap_or([0; HISTOGRAM_BUCKETS]);
            for (bucket, (now, before)) in buckets.iter().zip(before).enumerate() {
                let new = usize::try_from(now.saturating_sub(before)).unwrap_or(usize::MAX);
                if new > 0 {
                    metric.record_many(middle(bucket).as_secs_f64(), new);
                }
            }
        }
    }

    /// Reports again and again, at once and then each `interval` of a millisecond or more, for as long as the program wants it:
    /// spawn it, and abort the task when the client is closed. Cancel safe.
    pub async fn every(self, interval: Duration) {
        loop {
            self.report();
            tokio::time::sleep(interval.max(Duration::from_millis(1))).await;
        }
    }

    fn labels(&self, kind: &'static str) -> Vec<metrics::Label> {
        let mut labels = vec![metrics::Label::new("client", self.name.clone())];
        if !kind.is_empty() {
            labels.push(metrics::Label::from_static_parts("kind", kind));
        }
        labels
    }
}

/// Of what a bucket counts: from 2^(bucket - 1) to 2^bucket microseconds.
fn middle(bucket: usize) -> Duration {
    Duration::from_nanos((1_000 << bucket) / 4 * 3)
}
