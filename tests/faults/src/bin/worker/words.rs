//! What the verbs have in common: how their words are read, what is kept between requests, and what is said of holds.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use libdlock::Wait;
use libdlock::lease::{Grant, HolderId, Lease};
use libdlock_testkit::wait::monotonic_us;

/// Kind and message.
pub type Failure = (String, String);

/// What is held, by holder and name.
pub struct Kept<T>(Mutex<HashMap<(String, String), T>>);

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept(Mutex::default())
    }
}

impl<T> Kept<T> {
    pub fn keep(&self, holder: &str, name: &str, held: T) {
        let of = (holder.to_owned(), name.to_owned());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(of, held);
    }

    pub fn take(&self, holder: &str, name: &str) -> Option<T> {
        let of = (holder.to_owned(), name.to_owned());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&of)
    }

    /// Whether it is there, and that is so of it.
    pub fn is(&self, holder: &str, name: &str, so: impl FnOnce(&T) -> bool) -> bool {
        let of = (holder.to_owned(), name.to_owned());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&of).is_some_and(so)
    }
}

/// Holds for a moment and reports it. `remaining`: how long the hold stays valid.
pub async fn while_held(holder: &str, weight: u64, remaining: impl Fn() -> Duration) {
    let acquired_at = monotonic_us();
    let valid_for = remaining().as_micros() as i64;
    tokio::time::sleep(Duration::from_millis(fastrand::u64(0..3))).await;
    let now = monotonic_us();
    let ended_at = if remaining().is_zero() { now.min(acquired_at + valid_for) } else { now };
    // Said before the release: a worker that is killed in between has still told the truth.
    if valid_for > 0 {
        println!("hold {holder} {weight} {acquired_at} {ended_at}");
    }
}

/// Tells the test when the hold is lost, and until when it was valid by the last look before.
pub fn report_loss(name: &str, grant: &Grant) {
    let (name, grant) = (name.to_owned(), grant.clone());
    tokio::spawn(async move {
        let Some(reason) = grant.lost().await else { return };
        println!("lost {name} {} {} {}", reason.as_str(), monotonic_us(), valid_until(&grant));
    });
}

pub fn valid_until(grant: &Grant) -> i64 {
    monotonic_us() + grant.remaining().as_micros() as i64
}

pub fn failure(error: libdlock::Error) -> Failure {
    (error.kind().as_str().to_owned(), error.to_string())
}

pub fn holder_of(text: &str) -> HolderId {
    libdlock::embed::holder(number(text) as u64)
}

pub fn number(text: &str) -> i64 {
    text.parse().unwrap_or_else(|_| panic!("no number: {text:?}"))
}

pub fn wait_of(ms: i64) -> Wait {
    match ms {
        0 => Wait::Try,
        1.. => Wait::For(Duration::from_millis(ms as u64)),
        _ => Wait::Forever,
    }
}

pub fn lease_of(ms: i64) -> Option<Lease> {
    (ms > 0).then(|| Lease::Fixed(Duration::from_millis(ms as u64)))
}
