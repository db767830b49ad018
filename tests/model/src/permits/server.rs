//! The scripts, as pure functions of the keys. Each is atomic; what it publishes is handed back in an [`Outcome`].
//!
//! Every script that makes room ends with one [`wake`]: when permits came back, when an entry left the queue without a grant,
//! or when an entry wants less than before. A grant of what an entry wanted makes no room for those behind it: as much as is no
//! longer wanted in front of them is no longer available.

use super::config::Config;
use super::keys::{Grant, MAX, Owner, Server};
use super::queue::{Outcome, drop_gone, enqueue, leave, moved_up, wake};
use super::state::Reply;
use crate::config::{ENTRY_LIMIT, HEAD_LIMIT, MAY_BARGE};

/// An acquire.
#[derive(Clone, Copy, Debug)]
pub struct Acquire {
    /// The process that sent it, if it has a place in the queue or may get one.
    pub process: Option<usize>,
    /// The attempt.
    pub owner: Owner,
    /// How many permits it wants.
    pub want: u8,
    /// It lines up if it is not granted.
    pub waits: bool,
    /// `not_after` has passed.
    pub too_late: bool,
}

impl Acquire {
    /// The process, if it waits.
    pub fn waiter(&self) -> Option<usize> {
        self.process.filter(|_| self.waits)
    }
}

/// Whether an acquire is admitted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Admitted,
    Jumps,
    Waits,
}

/// Acquire.
pub fn acquire(keys: &mut Server, config: &Config, ask: &Acquire, out: &mut Outcome) -> Reply {
    let rules = &config.rules;
    if ask.too_late && rules.not_after {
        return Reply::TooLate;
    }
    if rules.idempotent
        && let Some(grant) = keys.grants.find(ask.owner)
    {
        grant.ttl = grant.ttl.max(config.lease);
        out.repeated = true;
        return Reply::Granted;
    }
    if rules.too_many && (ask.want as i8) > keys.total() {
        return Reply::TooMany;
    }
    // The first rank whose entry may now fit and does not know it.
    let mut room = None;
    let mut verdict = judge(keys, config, ask);
    if verdict == Verdict::Waits && rules.reclaims && reclaim(keys, config, out) {
        if rules.reclaim_wakes {
            room = Some(0);
        }
        verdict = judge(keys, config, ask);
    }
    if verdict == Verdict::Waits && probes(keys, config, ask) {
        room = least(room, drop_gone(keys, config, ask, out));
        verdict = judge(keys, config, ask);
    }
    let reply = if verdict == Verdict::Waits {
        if let Some(process) = ask.waiter() {
            enqueue(keys, config, process, ask.want, out);
        }
        busy(keys, ask)
    } else {
        room = least(room, grant(keys, config, ask, verdict, out));
        Reply::Granted
    };
    if let Some(from) = room {
        wake(keys, config, from, ask.waiter(), out);
    }
    reply
}

fn least(one: Option<usize>, other: Option<usize>) -> Option<usize> {
    one.into_iter().chain(other).min()
}

/// Whether what is available suffices for the caller and for all in front of it; a non-blocking attempt may jump them.
fn judge(keys: &Server, config: &Config, ask: &Acquire) -> Verdict {
    let place = ask.waiter().and_then(|p| keys.queue.rank(p));
    let front = keys.entries().take(place.unwrap_or(MAX));
    let in_front: i8 = front.clone().map(|p| keys.wants[p] as i8).sum();
    let need = if config.rules.counts_front { in_front + ask.want as i8 } else { ask.want as i8 };
    let alone = config.rules.admits_neighbours || front.count() == 0;
    if need <= keys.available && alone {
        return Verdict::Admitted;
    }
    let may_jump = keys.barged < MAY_BARGE || !config.rules.tries_respect;
    if !ask.waits && ask.want as i8 <= keys.available && may_jump { Verdict::Jumps } else { Verdict::Waits }
}

/// Whether the caller lacks nothing but its turn.
fn probes(keys: &Server, config: &Config, ask: &Acquire) -> bool {
    if config.rules.probes_for_own_want { ask.want as i8 <= keys.available } else { head_fits(keys) }
}

fn head_fits(keys: &Server) -> bool {
    keys.queue.at(0).is_some_and(|head| keys.wants[head] as i8 <= keys.available)
}

/// Expired permits come back.
fn reclaim(keys: &mut Server, config: &Config, out: &mut Outcome) -> bool {
    let mut may = config.reclaims_at_once;
    let expired = keys.grants.remove(|g| {
        let takes = g.ttl == 0 && may > 0;
        may -= u8::from(takes);
        takes
    });
    keys.available += expired as i8;
    out.reclaimed += expired;
    expired > 0
}

/// Takes the permits. A waiter leaves the queue, and those behind it move up; the rank from which there is room that an entry
/// does not know of.
fn grant(keys: &mut Server, config: &Config, ask: &Acquire, verdict: Verdict, out: &mut Outcome) -> Option<usize> {
    let grant = Grant { owner: ask.owner, permits: ask.want, ttl: config.lease };
    keys.available -= ask.want as i8;
    keys.grants.add(grant);
    out.granted = Some(grant);
    if verdict == Verdict::Jumps {
        keys.barged += 1;
        out.jumped = true;
    }
    let mut room = None;
    if let Some(process) = ask.waiter() {
        let wanted = keys.wants[process];
        if let Some(rank) = leave(keys, process) {
            out.rank = rank;
            moved_up(keys, config, rank, config.rules.take_tells_next, None, out);
            if wanted > ask.want && config.rules.smaller_grant_wakes {
                out.smaller = true;
                room = Some(rank);
            }
        }
    }
    room
}

fn busy(keys: &Server, ask: &Acquire) -> Reply {
    let rank = ask.waiter().and_then(|p| keys.queue.rank(p)).unwrap_or(MAX) as u8;
    Reply::Busy { more: keys.grants.expired() > 0, free: head_fits(keys), rank }
}

/// Release: the permits of an owner come back, if they are there. `permits`: how many it was granted.
pub fn release(keys: &mut Server, config: &Config, owner: Owner, permits: u8, out: &mut Outcome) {
    let removed = keys.grants.remove(|g| g.owner == owner);
    let back = if config.rules.release_counts_removed { removed } else { permits };
    if back > 0 {
        keys.available += back as i8;
        out.made_room = true;
        wake(keys, config, 0, None, out);
    }
}

/// An owner keeps only one of its permits.
pub fn downgrade(keys: &mut Server, config: &Config, owner: Owner, out: &mut Outcome) {
    if let Some(grant) = keys.grants.find(owner) {
        let freed = std::mem::replace(&mut grant.permits, 1) - 1;
        keys.available += freed as i8;
        out.made_room = freed > 0;
        if config.rules.downgrade_tells {
            wake(keys, config, 0, None, out);
        }
    }
}

/// Sets the total.
pub fn set_total(keys: &mut Server, config: &Config, total: u8, out: &mut Outcome) {
    let by = total as i8 - keys.total();
    keys.available += by;
    if !config.rules.lowering_is_owed {
        keys.available = keys.available.max(0);
    }
    out.made_room = true;
    if by < 0 || config.rules.raise_tells {
        wake(keys, config, 0, None, out);
    }
}

/// Leaves the queue. Those behind may fit now.
pub fn cancel(keys: &mut Server, config: &Config, process: usize, too_late: bool, out: &mut Outcome) -> Reply {
    if too_late && config.rules.not_after {
        return Reply::TooLate;
    }
    if let Some(rank) = leave(keys, process) {
        out.left = true;
        out.made_room = rank == 0;
        moved_up(keys, config, rank, config.rules.cancel_tells, None, out);
        if config.rules.cancel_tells {
            wake(keys, config, rank, None, out);
        }
    }
    Reply::Cancelled
}

/// The foreign client takes a permit, past the queue.
pub fn foreign_take(keys: &mut Server, config: &Config, owner: Owner) {
    keys.available -= 1;
    keys.grants.add(Grant { owner, permits: 1, ttl: config.lease });
}

/// The foreign client gives it back, and publishes where Redisson does.
pub fn foreign_release(keys: &mut Server, owner: Owner) {
    keys.available += keys.grants.remove(|g| g.owner == owner) as i8;
}

/// A tick of the server's clock. Whether permits expired.
pub fn tick(keys: &mut Server, config: &Config) -> bool {
    for process in 0..MAX {
        keys.silent[process] = match keys.queue.rank(process) {
            Some(_) => (keys.silent[process] + 1).min(most_silence(config)),
            None => 0,
        };
        keys.told[process] = false;
        if keys.deaf[process] > 0 {
            keys.deaf[process] = (keys.deaf[process] + 1).min(1 + HEAD_LIMIT);
        }
    }
    let mut expired = false;
    for grant in keys.grants.all_mut() {
        expired |= grant.ttl == 1;
        grant.ttl = grant.ttl.saturating_sub(1);
    }
    expired
}

/// Silence beyond this makes no difference.
fn most_silence(config: &Config) -> u8 {
    if config.long_silence { ENTRY_LIMIT } else { HEAD_LIMIT }
}

/// The queue's keys are gone.
pub fn forget(keys: &mut Server) {
    *keys = Server { available: keys.available, grants: keys.grants, ..Server::default() };
}

/// The clock jumps ahead, beyond the end of every lease.
pub fn jump(keys: &mut Server, config: &Config) {
    tick(keys, config);
    keys.grants.all_mut().iter_mut().for_each(|g| g.ttl = 0);
    for process in keys.entries() {
        keys.silent[process] = most_silence(config);
        if keys.deaf[process] > 0 {
            keys.deaf[process] = 1 + HEAD_LIMIT;
        }
    }
}
