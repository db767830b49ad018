//! The queue, as the scripts use it.

use super::config::Config;
use super::keys::{Grant, MAX, Server};
use super::server::Acquire;
use crate::config::{ENTRY_LIMIT, HEAD_LIMIT};
use crate::state::message;

/// What a script published, and what the properties want to know of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// Messages to the inboxes of processes.
    pub told: [u8; MAX],
    /// The grant that was made.
    pub granted: Option<Grant>,
    /// Granted to an owner that had it already.
    pub repeated: bool,
    /// A non-blocking attempt was granted past the queue.
    pub jumped: bool,
    /// The rank behind others at which a waiter was granted.
    pub rank: usize,
    /// Permits came back, or the head left: all that fit now are told.
    pub made_room: bool,
    /// Expired permits that were reclaimed.
    pub reclaimed: u8,
    /// A grant was for less than the entry wanted.
    pub smaller: bool,
    /// Whose inbox has no listener.
    pub not_heard: [bool; MAX],
    /// The processes that were dropped from the queue as dead.
    pub dropped: [bool; MAX],
    /// One of them because its inbox had no listener for long.
    pub by_deafness: bool,
    /// One of them by the entry behind it.
    pub by_entry: bool,
    /// A `free` that an entry did not hear was told to another.
    pub passed_on: bool,
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
    pub fn tell(&mut self, process: usize, what: u8) -> bool {
        self.told[process] |= what;
        !self.not_heard[process]
    }
}

/// Joins the queue, or says again that it waits, and what it wants. Drops the entry in front if that has been silent for very
/// long. An entry that wants less than before, and is not granted, makes no room: those behind it do not fit either.
pub fn enqueue(keys: &mut Server, config: &Config, process: usize, want: u8, out: &mut Outcome) {
    let place = keys.queue.rank(process);
    keys.queue.join(process);
    keys.silent[process] = 0;
    keys.deaf[process] = 0;
    keys.told[process] &= !config.rules.asking_answers_telling;
    keys.wants[process] = want;
    let front = place.and_then(|rank| rank.checked_sub(1)).and_then(|rank| keys.queue.at(rank));
    if let Some(front) = front.filter(|front| config.rules.prune_entries && keys.silent[*front] >= ENTRY_LIMIT) {
        let rank = leave(keys, front).expect("in front");
        out.dropped[front] = true;
        out.by_entry = true;
        moved_up(keys, config, rank, config.rules.prune_tells, Some(process), out);
    }
}

/// Drops all entries from the front that are dead, up to the first that is not known to be, and never the caller: a head that
/// was silent for the short while, any entry that was for the long one, and one whose inbox had no listener for the short
/// while, which is the time to connect anew. The first rank that left.
pub fn drop_gone(keys: &mut Server, config: &Config, ask: &Acquire, out: &mut Outcome) -> Option<usize> {
    if !config.rules.prune {
        return None;
    }
    // A head that was seen a moment ago, and was not found deaf since, is there.
    if keys.queue.at(0).is_some_and(|head| keys.silent[head] == 0 && keys.deaf[head] == 0) {
        return None;
    }
    let mut first = None;
    for (rank, entry) in keys.entries().enumerate() {
        if Some(entry) == ask.process {
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
    if let Some(first) = first {
        moved_up(keys, config, first, true, ask.waiter(), out);
    }
    first
}

/// Tells `free` to all entries from rank `from` on that fit, together with those in front of them, into what is available. An
/// entry that does not hear is told in vain: what it wants is offered to those behind it, which later drop it. An entry that
/// wants more than the total learns that by asking. One that was told a moment ago, has not asked since, and has not been found
/// deaf, is on its way, and is not told again. The caller is not told: its reply says more.
pub fn wake(keys: &mut Server, config: &Config, from: usize, caller: Option<usize>, out: &mut Outcome) {
    let (mut left, mut told) = (keys.available, 0);
    for (rank, entry) in keys.entries().enumerate() {
        let want = keys.wants[entry] as i8;
        if Some(entry) == caller {
            break;
        }
        if want > keys.total() && config.rules.impossible_told {
            out.tell(entry, message::FREE);
            continue;
        }
        if want > left || told > 0 && !config.rules.tells_all_that_fit {
            break;
        }
        let on_its_way = config.rules.tells_once && keys.told[entry] && keys.deaf[entry] == 0;
        if rank < from || on_its_way {
            left -= want;
            continue;
        }
        keys.told[entry] = !out.not_heard[entry];
        if out.tell(entry, message::FREE) || !config.rules.passes_on {
            left -= want;
            told += 1;
        } else {
            keys.deaf[entry] = keys.deaf[entry].max(1);
            out.passed_on = true;
        }
    }
}

/// Leaves `Q` and `S`. Non-blocking attempts are counted for one head.
pub fn leave(keys: &mut Server, process: usize) -> Option<usize> {
    let rank = keys.queue.leave(process)?;
    keys.silent[process] = 0;
    keys.deaf[process] = 0;
    keys.told[process] = false;
    keys.wants[process] = 0;
    if rank == 0 {
        keys.barged = 0;
    }
    Some(rank)
}

/// The entries from `rank` on have moved up. A new head and a new next count as seen now: they may not have known that they had
/// to ask often. The new next is told.
pub fn moved_up(
    keys: &mut Server,
    config: &Config,
    rank: usize,
    tells: bool,
    caller: Option<usize>,
    out: &mut Outcome,
) {
    if config.rules.stamps {
        for process in (rank..2).filter_map(|rank| keys.queue.at(rank)) {
            keys.silent[process] = 0;
        }
    }
    let next = keys.queue.at(1).filter(|next| rank < 2 && Some(*next) != caller);
    if let Some(next) = next.filter(|_| tells) {
        out.tell(next, message::NEXT);
    }
}
