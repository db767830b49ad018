//! The delay with which this machine runs what is due.
//!
//! A bound on time that holds on a quiet machine is exceeded on a busy one, by as much as processes have to wait for a
//! processor. A thread that sleeps and looks how late it wakes measures that while the tests run, so that they can add it to
//! their bounds.

use std::{
    collections::VecDeque,
    sync::{Mutex, Once},
    thread,
    time::{Duration, Instant},
};

/// Time between two looks.
const NAP: Duration = Duration::from_millis(10);
/// Age at which a look is forgotten: tests that bound a time take no longer.
const KEPT: Duration = Duration::from_secs(15);
/// Number of processes and threads that have to run one after another for an operation that waits for another process: the
/// caller, its runtime and the server, twice, and what wakes the second of them.
const STEPS: u32 = 8;

/// When the looks were, and how late each of them; the latest is the last.
static LOOKS: Mutex<VecDeque<(Instant, Duration)>> = Mutex::new(VecDeque::new());

/// Begins to measure. Every server of a test does that.
pub fn watch() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        thread::Builder::new().name("lateness".into()).spawn(look).expect("a thread");
    });
}

/// Time that a busy machine adds to an operation, from the delays of the last 15 s: little more than zero on a quiet one.
pub fn lateness() -> Duration {
    watch();
    let looks = LOOKS.lock().expect("no panic");
    looks.iter().map(|(_, late)| *late).max().unwrap_or_default() * STEPS
}

fn look() {
    loop {
        let begun = Instant::now();
        thread::sleep(NAP);
        let now = Instant::now();
        let mut looks = LOOKS.lock().expect("no panic");
        looks.push_back((now, (now - begun).saturating_sub(NAP)));
        while looks.front().is_some_and(|(at, _)| now - *at > KEPT) {
            looks.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_is_little_and_more_than_nothing() {
        watch();
        thread::sleep(NAP * 20);
        let measured = LOOKS.lock().expect("no panic").len();
        assert!((2..=20).contains(&measured), "{measured}");
        assert!(lateness() > Duration::ZERO);
    }
}
