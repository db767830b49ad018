//! How often a waiter polls: asks or looks without a message. And how long it may be silent before others take it for dead.
//!
//! The two depend on one another: a waiter has to poll well before another client could drop it. All these constants are here,
//! and the compiler checks how they relate.

use std::time::Duration;

use crate::config::Options;
use crate::text::contains;

/// No timer is shorter than this: a lock that expires "now" must not be asked for without pause.
pub(crate) const FLOOR: Duration = Duration::from_millis(20);

/// The same where time makes room: what is due at an ms is there at that ms, whoever is in front.
pub(crate) const EXACT_FLOOR: Duration = Duration::from_millis(1);

/// By how much a poll interval varies, to both sides.
const JITTER_PERCENT: u64 = 20;

/// When a waiter polls next: when the lease in the way has run out, at the latest after the poll interval,
/// with jitter so that many waiters do not come together.
pub(crate) fn next_poll(ttl_ms: i64, poll_interval: Duration) -> Duration {
    let jitter = JITTER_PERCENT as f64 / 100.0;
    let poll = poll_interval.mul_f64(1.0 - jitter + 2.0 * jitter * fastrand::f64());
    let expiry = u64::try_from(ttl_ms).map_or(poll, |ttl| Duration::from_millis(ttl.saturating_add(1)));
    poll.min(expiry).max(FLOOR)
}

/// A message of this word and a number of ms tells the head when what it waits for is due.
pub(crate) const DUE: &str = "due";

/// The ranks at the front of the queue that poll often: the head, and the next one.
pub(crate) const FRONT: u64 = 2;

/// A waiter at the front polls at least this often, jitter included, whatever `poll_interval` says.
const FRONT_POLL_MS: u64 = 2_000;

/// A waiter anywhere in the queue polls at least this often, jitter included, whatever `queue_poll_interval` says.
const ANY_POLL_MS: u64 = 12_000;

/// A queue head is dropped after this much silence while the lock is free.
pub(crate) const HEAD_SILENCE_MS: u64 = 2_500;

/// Any entry is dropped after this much silence.
pub(crate) const SILENCE_MS: u64 = 15_000;

/// How long the keys of the queue outlive the last change.
pub(crate) const KEPT_MS: u64 = 60_000;

/// How long a waiter may go without renewing the time to live of the queue's keys.
pub(crate) const KEEP_MS: u64 = 20_000;

/// A head that was seen so recently, and was not found deaf since, is there: it is not asked.
pub(crate) const RECENT_MS: u64 = 100;

/// How many entries from the front of the queue one script scans: 2 ms of the server's time.
pub(crate) const REACH: usize = 500;

/// The delay of a poll from its timer to the server, on a busy machine or a slow network.
const SLACK_MS: u64 = 500;

const _: () = {
    assert!(FRONT_POLL_MS + SLACK_MS <= HEAD_SILENCE_MS, "a live head would be taken for dead");
    assert!(ANY_POLL_MS + SLACK_MS <= SILENCE_MS, "a live waiter would be taken for dead");
    assert!(HEAD_SILENCE_MS < SILENCE_MS && FRONT_POLL_MS < ANY_POLL_MS);
    assert!(2 * SILENCE_MS <= KEPT_MS, "the queue's keys would end before a dead entry is dropped");
    assert!(KEEP_MS + ANY_POLL_MS + SLACK_MS < KEPT_MS, "the queue's keys would end between two polls");
    // The scripts have the same numbers.
    let scripts = include_str!("queue.lua");
    assert!(contains(scripts, "HEAD_SILENCE_MS, SILENCE_MS, KEPT_MS = 2500, 15000, '60000'"));
    assert!(contains(scripts, "local REACH = 500\n") && REACH == 500);
    assert!(contains(scripts, "local RECENT_MS = 100\n") && RECENT_MS == 100);
    assert!(HEAD_SILENCE_MS == 2_500 && SILENCE_MS == 15_000 && KEPT_MS == 60_000);
};

/// How often a waiter polls, before jitter, at the front of the queue, or after it saw the lock free and another client's turn.
pub(crate) fn at_the_front(options: &Options) -> Duration {
    options.poll_interval.min(before_jitter(FRONT_POLL_MS))
}

/// How often a waiter at that rank polls, before jitter, while the lock is held.
pub(crate) fn at_rank(rank: u64, options: &Options) -> Duration {
    if rank < FRONT { at_the_front(options) } else { options.queue_poll_interval.min(before_jitter(ANY_POLL_MS)) }
}

/// The longest interval of a client that waits for very many locks. Leaves room for a little delay instead of jitter.
pub(crate) fn when_crowded(rank: u64) -> Duration {
    Duration::from_millis(if rank < FRONT { FRONT_POLL_MS } else { ANY_POLL_MS } * 95 / 100)
}

/// The longest interval that stays below `ms` with jitter.
const fn before_jitter(ms: u64) -> Duration {
    Duration::from_millis(ms * 100 / (100 + JITTER_PERCENT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_keep_their_floor_and_their_ceiling() {
        for _ in 0..1000 {
            assert_eq!(next_poll(0, Duration::from_secs(1)), FLOOR);
            assert_eq!(next_poll(300, Duration::from_secs(1)), Duration::from_millis(301));
            let polled = next_poll(60_000, Duration::from_secs(1));
            assert!((Duration::from_millis(800)..=Duration::from_millis(1200)).contains(&polled), "{polled:?}");
            // A foreign key without expiry: only the poll is left.
            assert!(next_poll(-1, Duration::from_secs(1)) >= Duration::from_millis(800));
        }
    }

    #[test]
    fn no_option_makes_a_waiter_poll_too_seldom() {
        let hour = Duration::from_secs(3_600);
        let lazy = Options { poll_interval: hour, queue_poll_interval: hour, ..Options::default() };
        for _ in 0..1_000 {
            assert!(next_poll(-1, at_the_front(&lazy)) <= Duration::from_millis(FRONT_POLL_MS));
            assert!(next_poll(-1, at_rank(1, &lazy)) <= Duration::from_millis(FRONT_POLL_MS));
            let behind = next_poll(-1, at_rank(2, &lazy));
            assert!(behind > Duration::from_secs(5) && behind <= Duration::from_millis(ANY_POLL_MS), "{behind:?}");
        }
    }

    #[test]
    fn a_shorter_option_is_kept() {
        let options = Options::default();
        assert_eq!(at_the_front(&options), options.poll_interval);
        assert_eq!(at_rank(2, &options), options.queue_poll_interval);
    }
}
