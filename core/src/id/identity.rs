//! Who has used which slots in this process: generators of one identity share them, one after another and side by side.
//!
//! Two identities are one when layout and place in it are the same, since then their ids could be. The map is bounded:
//! identities without a generator are kept, up to [`MAX_IDLE`], because a new generator may have to know what they used; of
//! those that are dropped the latest time is kept, and a start of any identity that is not in the map has to be past it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use libdlock_fork::{PerProcess, generation};

use super::layout::{Fields, Layout};
use super::slots::Slots;
use super::timeline::{Machine, Timeline};
use super::watch::Watch;
use crate::error::{Error, ErrorKind, Result};
use crate::task::watch_forks;

/// Identities that no generator has any more, and that are remembered one by one.
pub(super) const MAX_IDLE: usize = 1_024;

static OF_THIS_PROCESS: PerProcess<Identities> = PerProcess::new();

/// Layout, datacenter and worker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity {
    pub(super) fields: Fields,
    pub(super) place: u64,
}

type Key = (Layout, u64);

/// What all generators of an identity share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) timeline: Timeline,
    pub(super) slots: Slots,
    pub(super) watch: Watch,
    /// When this process first took part in the identity, in ms since 1970: a predecessor made no id after that, but may have
    /// borrowed from the time after it.
    first_ms: u64,
}

impl Shared {
    /// Of a number that nobody else has, whose time is not the wall clock's.
    pub(super) fn apart(timeline: Timeline, sequence_bits: u32) -> Shared {
        Shared { timeline, slots: Slots::starting_at(0, sequence_bits), watch: Watch::never(), first_ms: 0 }
    }
}

/// The identities of one process.
#[derive(Default)]
pub(super) struct Identities(Mutex<Known>);

#[derive(Default)]
struct Known {
    live: HashMap<Key, Live>,
    /// Those that have no generator.
    idle: HashMap<Key, Idle>,
    /// No identity that is in neither map has made an id after this time, in ms since 1970.
    forgotten_ms: u64,
}

struct Idle {
    /// The first free slot.
    next: u64,
    /// See [`Shared::first_ms`].
    first_ms: u64,
}

struct Live {
    shared: Arc<Shared>,
    members: usize,
}

impl Identities {
    pub(super) fn of_this_process() -> Result<&'static Identities> {
        watch_forks("snowflake")?;
        OF_THIS_PROCESS.get_or_try_init(|_| Ok(Identities::default()))
    }

    /// Makes a member of `identity`. Waits, at most `start_wait`, until the wall clock is past what was used before. One that
    /// may borrow also waits for the time that its predecessor in another process may have borrowed: once, `borrow_ms` from
    /// when this process first took part.
    ///
    /// Under this name in every build: suppressions of leak checkers find by it what is kept for good.
    #[inline(never)]
    pub(super) fn join(
        &'static self,
        identity: Identity,
        machine: Machine,
        start_wait: Duration,
        borrow_ms: u64,
    ) -> Result<Member> {
        let key = (identity.fields.layout, identity.place);
        let begun = machine.now();
        let (mut first_ms, mut waited) = (None, false);
        loop {
            let mut known = self.known();
            if let Some(live) = known.live.get_mut(&key) {
                let shared = live.shared.clone();
                let borrowed_ms = borrowed_ms(borrow_ms, shared.first_ms, shared.timeline.now_ms());
                if waited || borrowed_ms == 0 {
                    live.members += 1;
                    return Ok(Member::new(self, key, shared));
                }
                drop(known);
                machine.sleep(Duration::from_millis(borrowed_ms));
                waited = true;
                continue;
            }
            let timeline = Timeline::start(machine.clone());
            let now_ms = timeline.now_ms();
            identity.fields.since_epoch(now_ms)?;
            let (next, ready_ms) = known.resume(&key);
            if now_ms >= ready_ms {
                let first_ms = known.idle.get(&key).map_or(*first_ms.get_or_insert(now_ms), |idle| idle.first_ms);
                let borrowed_ms = borrowed_ms(borrow_ms, first_ms, now_ms);
                if !waited && borrowed_ms > 0 {
                    drop(known);
                    machine.sleep(Duration::from_millis(borrowed_ms));
                    waited = true;
                    continue;
                }
                known.idle.remove(&key);
                let slots = Slots::starting_at(next, key.0.sequence_bits);
                let shared = Arc::new(Shared { timeline, slots, watch: Watch::start(now_ms), first_ms });
                known.live.insert(key, Live { shared: shared.clone(), members: 1 });
                return Ok(Member::new(self, key, shared));
            }
            drop(known);
            let behind = Duration::from_millis(ready_ms - now_ms);
            let left = start_wait.saturating_sub(machine.now().since(begun));
            if behind > left {
                return Err(behind_by(behind, start_wait));
            }
            machine.sleep(behind);
        }
    }

    /// See [`Identities::join`].
    #[inline(never)]
    fn leave(&self, key: &Key) {
        let mut known = self.known();
        let Some(live) = known.live.get_mut(key) else { return };
        live.members -= 1;
        if live.members == 0 {
            let (next, first_ms) = (live.shared.slots.next(), live.shared.first_ms);
            known.live.remove(key);
            known.retire(key, Idle { next, first_ms });
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        let known = self.known();
        (known.live.len(), known.idle.len())
    }
}

impl Known {
    /// Where an identity without generator goes on: its first free slot, and the time from which it may.
    fn resume(&self, key: &Key) -> (u64, u64) {
        match self.idle.get(key) {
            // The rest of that millisecond is still free.
            Some(idle) => (idle.next, used_until_ms(key, idle.next)),
            None if self.forgotten_ms == 0 => (0, 0),
            None => (0, self.forgotten_ms + 1),
        }
    }

    fn retire(&mut self, key: &Key, idle: Idle) {
        if idle.next == 0 {
            return;
        }
        if self.idle.len() >= MAX_IDLE {
            let latest = self.idle.iter().map(|(key, idle)| used_until_ms(key, idle.next)).max();
            self.forgotten_ms = self.forgotten_ms.max(latest.unwrap_or(0));
            self.idle.clear();
        }
        self.idle.insert(*key, idle);
    }
}

/// For how long what a predecessor may have borrowed still lies ahead.
fn borrowed_ms(borrow_ms: u64, first_ms: u64, now_ms: u64) -> u64 {
    if borrow_ms == 0 { 0 } else { (first_ms + borrow_ms + 1).saturating_sub(now_ms).min(borrow_ms + 1) }
}

/// The millisecond since 1970 of the last slot that was taken.
fn used_until_ms((layout, _): &Key, next: u64) -> u64 {
    layout.epoch_ms as u64 + ((next - 1) >> layout.sequence_bits)
}

#[cold]
fn behind_by(behind: Duration, start_wait: Duration) -> Error {
    let message = format!(
        "the wall clock is {behind:?} behind the last id that this process made for this worker; it was set back, and a \
         start waits at most {start_wait:?}"
    );
    // Then the start waits for the rest.
    Error::new(ErrorKind::Clock, "snowflake", message).retry_in(Some(behind.saturating_sub(start_wait)))
}

/// A generator's part in its identity; leaves it when dropped.
pub(super) struct Member {
    identities: &'static Identities,
    key: Key,
    shared: Arc<Shared>,
    /// The fork generation that it belongs to.
    born: u32,
}

impl Member {
    fn new(identities: &'static Identities, key: Key, shared: Arc<Shared>) -> Member {
        Member { identities, key, shared, born: generation() }
    }

    /// What to take slots from.
    ///
    /// # Errors
    /// `Forked` in a child of the process that it belongs to.
    pub(super) fn shared(&self) -> Result<&Shared> {
        if self.born == generation() { Ok(&self.shared) } else { Err(forked()) }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // In a forked child the map may be locked by a thread that is not there.
        if self.born == generation() {
            self.identities.leave(&self.key);
        }
    }
}

#[cold]
fn forked() -> Error {
    let message = "this generator belongs to the process that forked this one; make a new one here, with a worker number \
                   that no other process has";
    Error::new(ErrorKind::Forked, "next id", message)
}
