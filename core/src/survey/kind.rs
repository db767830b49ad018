//! The kinds of objects, and how their keys tell them.

use std::fmt;
use std::str::FromStr;

use crate::bloom::BloomState;
use crate::counting_semaphore::CountingState;
use crate::error::{Error, ErrorKind, Result};
use crate::id::worker::WorkerState;
use crate::id_generator::IdGeneratorState;
use crate::latch::LatchState;
use crate::limit::{LimitState, RedissonState};
use crate::lock::LockState;
use crate::queue::QueueState;
use crate::rw_lock::RwLockState;
use crate::semaphore::SemaphoreState;
use crate::step::State;

/// A kind of object on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// [`Lock`](crate::Lock).
    Lock,
    /// [`RwLock`](crate::RwLock).
    RwLock,
    /// [`Semaphore`](crate::Semaphore).
    Semaphore,
    /// [`CountingSemaphore`](crate::CountingSemaphore).
    CountingSemaphore,
    /// [`Latch`](crate::Latch).
    Latch,
    /// [`Queue`](crate::Queue).
    Queue,
    /// [`RateLimiter`](crate::RateLimiter), counted by an algorithm with keys of its own.
    RateLimiter,
    /// [`RateLimiter`](crate::RateLimiter), by [`Algorithm::Redisson`](crate::limit::Algorithm::Redisson).
    RedissonRateLimiter,
    /// [`IdGenerator`](crate::IdGenerator).
    IdGenerator,
    /// [`BloomFilter`](crate::BloomFilter).
    BloomFilter,
    /// A pool of [`Worker`](crate::Worker) numbers.
    Worker,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 11] = [
        Kind::Lock,
        Kind::RwLock,
        Kind::Semaphore,
        Kind::CountingSemaphore,
        Kind::Latch,
        Kind::Queue,
        Kind::RateLimiter,
        Kind::RedissonRateLimiter,
        Kind::IdGenerator,
        Kind::BloomFilter,
        Kind::Worker,
    ];

    /// Its word: `lock`, `rw-lock`, `semaphore`, `counting-semaphore`, `latch`, `queue`, `rate-limiter`, `redisson-rate-limiter`,
    /// `id-generator`, `bloom-filter` or `worker`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Lock => "lock",
            Kind::RwLock => "rw-lock",
            Kind::Semaphore => "semaphore",
            Kind::CountingSemaphore => "counting-semaphore",
            Kind::Latch => "latch",
            Kind::Queue => "queue",
            Kind::RateLimiter => "rate-limiter",
            Kind::RedissonRateLimiter => "redisson-rate-limiter",
            Kind::IdGenerator => "id-generator",
            Kind::BloomFilter => "bloom-filter",
            Kind::Worker => "worker",
        }
    }

    /// The rules of its [`State`].
    pub(super) fn access(self) -> &'static str {
        match self {
            Kind::Lock => LockState::ACCESS,
            Kind::RwLock => RwLockState::ACCESS,
            Kind::Semaphore => SemaphoreState::ACCESS,
            Kind::CountingSemaphore => CountingState::ACCESS,
            Kind::Latch => LatchState::ACCESS,
            Kind::Queue => QueueState::ACCESS,
            Kind::RateLimiter => LimitState::ACCESS,
            Kind::RedissonRateLimiter => RedissonState::ACCESS,
            Kind::IdGenerator => IdGeneratorState::ACCESS,
            Kind::BloomFilter => BloomState::ACCESS,
            Kind::Worker => WorkerState::ACCESS,
        }
    }

    /// The key of those that wait for it: one of its companions.
    pub(super) fn queue(self) -> Option<&'static str> {
        self.access().split_whitespace().find_map(|rule| {
            let kind = rule.strip_prefix('~')?.strip_suffix(":*")?;
            kind.ends_with("_queue").then_some(kind)
        })
    }

    /// The kind and the name that a key belongs to, if the key alone tells: a companion `KIND:{NAME}`, or `KIND:NAME` of a name
    /// with braces. The key of a token, which locks and read-write locks share, is a lock's.
    pub(super) fn of_companion(key: &str) -> Option<(Kind, &str)> {
        let (word, rest) = key.split_once(':')?;
        // A limiter has keys for each algorithm.
        let is_of = |kind: &&Kind| {
            kind.access().split_whitespace().filter_map(|rule| rule.strip_prefix('~')).any(|pattern| {
                match pattern.strip_suffix("*:*") {
                    Some(begins) => word.starts_with(begins) && begins.len() > 1,
                    None => pattern.strip_suffix(":*") == Some(word),
                }
            })
        };
        let kind = Kind::ALL.iter().find(is_of)?;
        Some((*kind, name_of(rest)?))
    }
}

/// What stands behind the kind in a companion key: `{NAME}`, or a name with braces of its own. `{NAME}` could also be a name that
/// is its own hash tag, which cannot be told apart and is seldom.
fn name_of(rest: &str) -> Option<&str> {
    let inside = rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    match inside {
        Some(name) if !name.contains(['{', '}']) => Some(name),
        _ => rest.contains('{').then_some(rest),
    }
    .filter(|name| !name.is_empty())
}

/// The name of a key `{NAME}:what`, or `NAME:what` of a name with braces.
pub(super) fn of_suffixed<'a>(key: &'a str, what: &str) -> Option<&'a str> {
    name_of(key.strip_suffix(what)?.strip_suffix(':')?)
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// From its word, as [`Kind::as_str`] gives it.
impl FromStr for Kind {
    type Err = Error;

    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) for any other word.
    fn from_str(word: &str) -> Result<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == word).ok_or_else(|| {
            let known = Kind::ALL.map(Kind::as_str).join(", ");
            Error::refused(ErrorKind::InvalidArgument, "survey", format!("there is no kind {word:?}"), known)
        })
    }
}
