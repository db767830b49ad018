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
    /// Whose inbox nobody listens to.
    pub not_heard: [bool; MAX],
    /// The processes that were dropped from the queue as dead.
    pub dropped: [bool; MAX],
    /// One of them because nobody listened to its inbox for long.
    pub by_deafness: bool,
    /// A release that the head did not hear was told to another.
    pub passed_on: bool,
    /// It was dropped by the one behind it.
    pub by_entry: bool,
    /// A process left the queue by a cancel.
    pub left: bool,
}

impl Outcome {
    /// What a script starts from: the server knows who listens.
    pub fn new(not_heard: [bool; MAX]) -> Outcome {
        Outcome { not_heard, ..Outcome::default() }
    }

    /// Whether anybody was dropped.
    pub fn drops(&self) -> bool {
        self.dropped.contains(&true)
    }

    /// Whether somebody listens.
    fn tell(&mut self, process: Option<usize>, what: u8) -> bool {
        let Some(process) = process else { return true };
        self.told[process] |= what;
        !self.not_heard[process]
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
        drop_gone(keys, config, Some(process), Some(process), out);
        if keys.queue.at(0).is_none_or(|head| head == process) {
            return take(keys, config, process, owner, out);
        }
    }
    let rank = enqueue(keys, config, process, out);
    if keys.lock.is_empty() {
        let head = keys.queue.at(0).expect("somebody else");
        Reply::NotYourTurn { silent: keys.silent[head], rank }
    } else {
        Reply::Busy { ttl: keys.ttl, foreign: keys.lock.has(Owner::FOREIGN), rank }
    }
}

/// Acquire by a non-blocking attempt: granted or not. It may jump the queue; a process that is in it keeps its place.
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
        let head = keys.queue.at(0);
        drop_gone(keys, config, process, None, out);
        if keys.queue.at(0) == head {
            return false;
        }
    }
    if behind(keys) {
        keys.barged = (keys.barged + 1).min(MAY_BARGE + 1);
    }
    grant(keys, config, owner, out);
    true
}

/// Joins the queue, or says again that it waits; the rank. Drops the entry in front if that has been silent for very long: its
/// process is gone, and would cost a head time-out when its turn comes. The caller hears from the reply that it moved up.
fn enqueue(keys: &mut Server, config: &Config, process: usize, out: &mut Outcome) -> u8 {
    let place = keys.queue.rank(process);
    keys.queue.join(process);
    keys.silent[process] = 0;
    keys.deaf[process] = 0;
    let front = place.and_then(|rank| rank.checked_sub(1)).and_then(|rank| keys.queue.at(rank));
    if let Some(front) = front.filter(|front| config.rules.prune_entries && keys.silent[*front] >= ENTRY_LIMIT) {
        let rank = leave(keys, front).expect("in front");
        stamp(keys, config, rank);
        out.dropped[front] = true;
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
    tell_free(keys, config, None, out);
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

/// Leave the queue, and let those know who move up by it: a new head looks at the lock at once, whoever holds it (if the holder
/// is foreign it has to subscribe).
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
                tell_free(keys, config, Some(process), out);
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
        if keys.deaf[process] > 0 {
            keys.deaf[process] = (keys.deaf[process] + 1).min(1 + HEAD_LIMIT);
        }
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
        if keys.deaf[process] > 0 {
            keys.deaf[process] = 1 + HEAD_LIMIT;
        }
    }
}

/// Drops everybody from the front who is gone, up to the first that is not known to be, and never `asks`: a head that was
/// silent for the short while, any entry that was for the long one, and one that nobody has listened for in the short while,
/// which is the time to connect anew. Those who move up are stamped and told; the caller, if it waits, hears it from the reply.
fn drop_gone(keys: &mut Server, config: &Config, asks: Option<usize>, caller: Option<usize>, out: &mut Outcome) {
    if !config.rules.prune {
        return;
    }
    let (front, mut first) = (keys.queue, None);
    // A head that was seen a moment ago, and was not found deaf since, is there.
    if front.at(0).is_some_and(|head| keys.silent[head] == 0 && keys.deaf[head] == 0) {
        return;
    }
    for (rank, entry) in (0..).map_while(|rank| Some((rank, front.at(rank)?))) {
        if Some(entry) == asks {
            break;
        }
        let limit = if rank == 0 { HEAD_LIMIT } else { ENTRY_LIMIT };
        if keys.silent[entry] < limit {
            if !config.rules.drops_deaf || !out.not_heard[entry] {
                keys.deaf[entry] = 0;
                break;
            }
            keys.deaf[entry] = keys.deaf[entry].max(1);
            if config.rules.deaf_have_time && keys.deaf[entry] <= HEAD_LIMIT {
                continue;
            }
            out.by_deafness = true;
        }
        leave(keys, entry);
        out.dropped[entry] = true;
        first = first.or(Some(rank));
    }
    if let Some(first @ (0 | 1)) = first {
        stamp(keys, config, first);
        if first == 0 && keys.queue.at(0) != caller {
            tell_free(keys, config, caller, out);
        }
        out.tell(keys.queue.at(1).filter(|p| Some(*p) != caller), message::NEXT);
    }
}

/// Tells the head that it should ask. If it does not listen, so does everybody behind it, up to the first that does: that one
/// asks in their place, and later drops them.
fn tell_free(keys: &mut Server, config: &Config, caller: Option<usize>, out: &mut Outcome) {
    let queue = keys.queue;
    for (rank, entry) in (0..).map_while(|rank| Some((rank, queue.at(rank)?))) {
        if rank > 0 && Some(entry) == caller || out.tell(Some(entry), message::FREE) || !config.rules.passes_on {
            out.passed_on |= rank > 0;
            break;
        }
        keys.deaf[entry] = keys.deaf[entry].max(1);
    }
}

/// Leaves `Q` and `S`. Tries are counted for one head.
fn leave(keys: &mut Server, process: usize) -> Option<usize> {
    let rank = keys.queue.leave(process)?;
    keys.silent[process] = 0;
    keys.deaf[process] = 0;
    if rank == 0 {
        keys.barged = 0;
    }
    Some(rank)
}

/// Who moved up to head or next, that is to `rank` or behind it, counts as seen now: it may not have known that it had to be.
/// Whoever did not move keeps its stamp, or a dead head would live for as long as others come and go.
fn stamp(keys: &mut Server, config: &Config, rank: usize) {
    if config.rules.stamps {
        for rank in rank..2 {
            if let Some(process) = keys.queue.at(rank) {
                keys.silent[process] = 0;
            }
        }
    }
}
