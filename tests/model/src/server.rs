//! The scripts, as pure functions of the keys. Each is atomic; what it publishes is handed back in an [`Outcome`].

use crate::config::{Config, ENTRY_LIMIT, HEAD_LIMIT, MAY_BARGE};
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
    /// It was dropped by the one behind it.
    pub by_entry: bool,
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
        drop_dead_head(keys, config, Some(process), out);
        if keys.queue.at(0).is_none_or(|head| head == process) {
            return take(keys, config, process, owner, out);
        }
    }
    let rank = line_up(keys, config, process, out);
    if keys.lock.is_empty() {
        let head = keys.queue.at(0).expect("somebody else");
        Reply::NotYourTurn { silent: keys.silent[head], rank }
    } else {
        Reply::Busy { ttl: keys.ttl, foreign: keys.lock.has(Owner::FOREIGN), rank }
    }
}

/// Acquire, for one that does not wait: granted or not. It may overtake the queue; a process that is in it keeps its place.
pub fn try_acquire(
    keys: &mut Server,
    config: &Config,
    process: Option<usize>,
    owner: Owner,
    out: &mut Outcome,
) -> bool {
    if !keys.lock.is_empty() {
        return false;
    }
    let behind = |keys: &Server| keys.queue.at(0).is_some_and(|head| Some(head) != process);
    if behind(keys) && keys.barged >= MAY_BARGE && config.rules.tries_respect {
        drop_dead_head(keys, config, None, out);
        if out.dropped.is_none() {
            return false;
        }
    }
    if behind(keys) {
        keys.barged = (keys.barged + 1).min(MAY_BARGE + 1);
    }
    grant(keys, config, owner, out);
    true
}

/// Joins the queue, or says again that it waits; the rank. Drops the entry in front if that has been silent for very long: its process
/// is gone, and would cost a head time-out when its turn comes. The caller hears from the reply that it moved up.
fn line_up(keys: &mut Server, config: &Config, process: usize, out: &mut Outcome) -> u8 {
    let place = keys.queue.rank(process);
    keys.queue.join(process);
    keys.silent[process] = 0;
    let front = place.and_then(|rank| rank.checked_sub(1)).and_then(|rank| keys.queue.at(rank));
    if let Some(front) = front.filter(|front| config.rules.prune_entries && keys.silent[*front] >= ENTRY_LIMIT) {
        let rank = leave(keys, front).expect("in front");
        stamp(keys, config, rank);
        out.dropped = Some(front);
        out.by_entry = true;
        if rank == 0 && config.rules.prune_tells {
            out.tell(keys.queue.at(1), message::NEXT);
        }
    }
    keys.queue.rank(process).expect("joined") as u8
}

/// The lock is free and the asker's: it leaves `Q` and `S`, and those behind it move up.
fn take(keys: &mut Server, config: &Config, process: usize, owner: Owner, out: &mut Outcome) -> Reply {
    if leave(keys, process).is_some() {
        stamp(keys, config, 0);
        if config.rules.take_tells_next {
            out.tell(keys.queue.at(1), message::NEXT);
        }
    }
    grant(keys, config, owner, out);
    Reply::Granted
}

/// HSET, PEXPIRE, make the token.
fn grant(keys: &mut Server, config: &Config, owner: Owner, out: &mut Outcome) {
    keys.lock.set(owner);
    keys.ttl = config.lease;
    // The clock reads 0: tokens are kept as their distance from it.
    keys.token = if config.rules.clock_tokens { (keys.token + 1).max(0) } else { keys.token + 1 };
    out.token = Some(keys.token);
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
    free(keys, config, out);
    if !rejoin {
        return Reply::Released { rank: None };
    }
    keys.queue.join(process);
    keys.silent[process] = 0;
    Reply::Released { rank: keys.queue.rank(process).map(|r| r as u8) }
}

/// The lock comes free, and the head is told.
pub fn free(keys: &mut Server, config: &Config, out: &mut Outcome) {
    out.freed = keys.lock;
    keys.lock.clear();
    keys.ttl = 0;
    out.channel = true;
    if config.rules.stamp_all {
        stamp(keys, config, 0);
    }
    if !config.rules.tries_counted_over_releases {
        keys.barged = 0;
    }
    out.tell(keys.queue.at(0), message::FREE);
    if !config.rules.take_tells_next {
        out.tell(keys.queue.at(1), message::NEXT);
    }
}

/// Force release: the same whoever holds it, and the holder is told if it is one of ours.
pub fn force_release(keys: &mut Server, config: &Config, out: &mut Outcome) {
    for (process, _) in keys.lock.iter().filter_map(Owner::attempt) {
        out.tell(Some(process), message::LOST);
    }
    free(keys, config, out);
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
            Some(_) => (keys.silent[process] + 1).min(most_silence(config)),
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

/// Silence beyond this makes no difference.
pub fn most_silence(config: &Config) -> u8 {
    if config.long_silence { ENTRY_LIMIT } else { HEAD_LIMIT }
}

/// The queue's keys are gone.
pub fn forget(keys: &mut Server) {
    *keys = Server { lock: keys.lock, ttl: keys.ttl, token: keys.token, ..Server::default() };
}

/// The clock jumps ahead, beyond the end of every lease.
pub fn jump(keys: &mut Server, config: &Config) {
    tick(keys, config);
    keys.lock.clear();
    keys.ttl = 0;
    let queue = keys.queue;
    for process in (0..).map_while(|rank| queue.at(rank)) {
        keys.silent[process] = most_silence(config);
    }
}

/// Drops the head if it has been silent for too long, but never the caller. Those who move up are stamped, so it is one a call; they
/// are told, the caller excepted if it waits, for whom the reply says it.
fn drop_dead_head(keys: &mut Server, config: &Config, caller: Option<usize>, out: &mut Outcome) {
    let Some(head) = keys.queue.at(0) else { return };
    if !config.rules.prune || Some(head) == caller || keys.silent[head] < HEAD_LIMIT {
        return;
    }
    leave(keys, head);
    stamp(keys, config, 0);
    out.dropped = Some(head);
    out.tell(keys.queue.at(0).filter(|p| Some(*p) != caller), message::FREE);
    out.tell(keys.queue.at(1).filter(|p| Some(*p) != caller), message::NEXT);
}

/// Leaves `Q` and `S`. Tries are counted for one head.
fn leave(keys: &mut Server, process: usize) -> Option<usize> {
    let rank = keys.queue.leave(process)?;
    keys.silent[process] = 0;
    if rank == 0 {
        keys.barged = 0;
    }
    Some(rank)
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
