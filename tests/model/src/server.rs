//! The scripts, as pure functions of the keys. Each is atomic; what it publishes is handed back in an [`Outcome`].

use crate::config::{Config, HEAD_LIMIT};
use crate::state::{Fields, MAX, Owner, Reply, Server, message};

/// What a script published, and what the properties want to know of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Messages to the inboxes of processes.
    pub told: [u8; MAX],
    /// Whether `0` was published on the lock's own channel.
    pub channel: bool,
    /// A token that was made.
    pub token: Option<i8>,
    /// Granted to an owner that had it already.
    pub repeated: bool,
    /// The owners that a release freed.
    pub freed: Fields,
    /// The process that was dropped from the queue as dead.
    pub dropped: Option<usize>,
    /// A process left the queue by a cancel.
    pub left: bool,
}

impl Outcome {
    fn tell(&mut self, process: Option<usize>, what: u8) {
        if let Some(process) = process {
            self.told[process] |= what;
        }
    }
}

/// Acquire, for a caller that waits. `too_late`: `not_after` has passed.
pub fn acquire(
    keys: &mut Server,
    config: &Config,
    process: usize,
    attempt: u8,
    too_late: bool,
    out: &mut Outcome,
) -> Reply {
    if too_late && config.rules.not_after {
        return Reply::TooLate;
    }
    let owner = Owner::ours(process, attempt);
    if config.rules.idempotent && keys.lock.has(owner) {
        keys.ttl = keys.ttl.max(config.lease);
        out.repeated = true;
        return Reply::Granted;
    }
    if keys.lock.is_empty() {
        drop_dead_head(keys, config, process, out);
        if keys.queue.at(0).is_none_or(|head| head == process) {
            return take(keys, config, process, owner, out);
        }
    }
    keys.queue.join(process);
    keys.silent[process] = 0;
    let rank = keys.queue.rank(process).expect("joined") as u8;
    if keys.lock.is_empty() {
        let head = keys.queue.at(0).expect("somebody else");
        Reply::NotYourTurn { silent: keys.silent[head], rank }
    } else {
        Reply::Busy { ttl: keys.ttl, foreign: keys.lock.has(Owner::FOREIGN), rank }
    }
}

/// The lock is free and the asker's: HSET, PEXPIRE, leave `Q` and `S`, stamp those who move up, make the token.
fn take(keys: &mut Server, config: &Config, process: usize, owner: Owner, out: &mut Outcome) -> Reply {
    keys.lock.set(owner);
    keys.ttl = config.lease;
    if leave(keys, process).is_some() {
        stamp(keys, config, 0);
        if config.rules.take_tells_next {
            out.tell(keys.queue.at(1), message::NEXT);
        }
    }
    // The clock reads 0: tokens are kept as their distance from it.
    keys.token = if config.rules.clock_tokens { (keys.token + 1).max(0) } else { keys.token + 1 };
    out.token = Some(keys.token);
    Reply::Granted
}

/// Release, and perhaps join the queue at its end.
pub fn release(
    keys: &mut Server,
    config: &Config,
    process: usize,
    attempt: u8,
    rejoin: bool,
    out: &mut Outcome,
) -> Reply {
    let held = keys.lock.has(Owner::ours(process, attempt));
    if !held && (config.rules.release_by_owner || keys.lock.is_empty()) {
        return Reply::Released { rank: None };
    }
    out.freed = keys.lock;
    keys.lock.clear();
    keys.ttl = 0;
    out.channel = true;
    if config.rules.stamp_all {
        stamp(keys, config, 0);
    }
    out.tell(keys.queue.at(0), message::FREE);
    if !config.rules.take_tells_next {
        out.tell(keys.queue.at(1), message::NEXT);
    }
    if !rejoin {
        return Reply::Released { rank: None };
    }
    keys.queue.join(process);
    keys.silent[process] = 0;
    Reply::Released { rank: keys.queue.rank(process).map(|r| r as u8) }
}

/// Leave the queue, and let those know who move up by it: a new head looks at the lock at once, whoever holds it (if the holder is
/// foreign it has to subscribe).
pub fn cancel(keys: &mut Server, config: &Config, process: usize, too_late: bool, out: &mut Outcome) -> Reply {
    if too_late && config.rules.not_after {
        return Reply::TooLate;
    }
    let rank = leave(keys, process);
    out.left = rank.is_some();
    if let Some(rank @ (0 | 1)) = rank {
        stamp(keys, config, if config.rules.stamp_all { 0 } else { rank });
        if config.rules.cancel_tells {
            if rank == 0 {
                out.tell(keys.queue.at(0), message::FREE);
            }
            out.tell(keys.queue.at(1), message::NEXT);
        }
    }
    Reply::Cancelled
}

/// The foreign client takes a free lock, whoever waits. It knows nothing of `Q`, `S` and `T`.
pub fn foreign_take(keys: &mut Server, config: &Config) {
    keys.lock.set(Owner::FOREIGN);
    keys.ttl = config.lease;
}

/// The foreign client releases what it holds, and publishes where Redisson does.
pub fn foreign_release(keys: &mut Server, out: &mut Outcome) {
    out.freed = keys.lock;
    keys.lock.clear();
    keys.ttl = 0;
    out.channel = true;
}

/// A tick of the server's clock. Whether the lock expired.
pub fn tick(keys: &mut Server, config: &Config) -> bool {
    if config.rules.clock_tokens {
        keys.token = -1;
    }
    for process in 0..MAX {
        keys.silent[process] = match keys.queue.rank(process) {
            Some(_) => (keys.silent[process] + 1).min(HEAD_LIMIT),
            None => 0,
        };
    }
    if keys.lock.is_empty() {
        return false;
    }
    keys.ttl -= 1;
    if keys.ttl == 0 {
        keys.lock.clear();
    }
    keys.ttl == 0
}

/// Drops the head if it has been silent for too long, but never the caller. Those who move up are stamped, so it is one a call; they
/// are told, the caller excepted, for whom the reply says it.
fn drop_dead_head(keys: &mut Server, config: &Config, caller: usize, out: &mut Outcome) {
    let Some(head) = keys.queue.at(0) else { return };
    if !config.rules.prune || head == caller || keys.silent[head] < HEAD_LIMIT {
        return;
    }
    leave(keys, head);
    stamp(keys, config, 0);
    out.dropped = Some(head);
    out.tell(keys.queue.at(0).filter(|p| *p != caller), message::FREE);
    out.tell(keys.queue.at(1).filter(|p| *p != caller), message::NEXT);
}

/// Leaves `Q` and `S`.
fn leave(keys: &mut Server, process: usize) -> Option<usize> {
    keys.silent[process] = 0;
    keys.queue.leave(process)
}

/// Who moved up to head or next, that is to `rank` or behind it, counts as seen now: it may not have known that it had to be. Whoever did
/// not move keeps its stamp, or a dead head would live for as long as others come and go.
fn stamp(keys: &mut Server, config: &Config, rank: usize) {
    if config.rules.stamps {
        for rank in rank..2 {
            if let Some(process) = keys.queue.at(rank) {
                keys.silent[process] = 0;
            }
        }
    }
}
