//! What is due to be renewed: in chunks of one kind each, one script for a chunk.
//!
//! What was renewed together is due together. A chunk that is not full takes along what is due soon and not itself part of a
//! full one, so that from then on they are full. Where holds cannot stand in one script because they are of many slots, all that
//! is due soon is renewed together.

use std::any::TypeId;
use std::collections::HashMap;

use super::renewal::{RenewedBy, ToRenew};
use super::schedule::{Entry, Progress, Schedule};
use super::{Grant, Watch};
use crate::time::Tick;

/// What is due within this part of its renewal interval fills up a chunk: a tenth more renewals at most, in fewer scripts.
const AHEAD: u32 = 10;

/// How many entries are examined to fill up a chunk, at most: full chunks and leases that are not renewed stand in between.
const EXAMINED: usize = 10_000;

/// How many renewals are taken out under one lock. When a process was stopped all of them are due at once.
pub(super) const TAKEN_AT_ONCE: usize = 1_000;

/// Holds of one kind and batch, as many as one script renews at most, by weight. Never empty.
pub(super) struct Chunk {
    pub(super) by: &'static RenewedBy,
    pub(super) holds: Vec<ToRenew>,
}

impl Chunk {
    fn weight(&self) -> usize {
        self.holds.iter().map(|hold| self.by.weight(hold)).sum()
    }

    /// What finds room yet, by weight.
    fn missing(&self) -> usize {
        self.by.chunk.saturating_sub(self.weight())
    }

    /// How many full chunks it weighs as much as, one at least.
    pub(super) fn size(&self) -> usize {
        self.weight().div_ceil(self.by.chunk).max(1)
    }
}

/// What is due, and out of the schedule, except that a hold whose renewal is under way stands there for its loss.
#[derive(Default)]
pub(super) struct AllDue {
    /// To be renewed, the earliest first.
    pub(super) chunks: Vec<Chunk>,
    /// Too late to be renewed.
    pub(super) lost: Vec<Grant>,
    /// Where the last chunk of each kind and batch is: there may be thousands.
    last: HashMap<(TypeId, u16), usize>,
}

impl AllDue {
    fn add(&mut self, due: ToRenew, batch: u16) {
        let by = due.0.renewed_by();
        // All chunks of a kind and batch but their last are full, or had no room for the hold that came next.
        let last = self.last.entry((by.step_type(), batch)).or_insert(usize::MAX);
        match self.chunks.get_mut(*last) {
            Some(last) if last.missing() >= by.weight(&due) => last.holds.push(due),
            _ => {
                *last = self.chunks.len();
                self.chunks.push(Chunk { by, holds: vec![due] });
            }
        }
    }
}

/// The hold, if its renewal is due within the part of its interval that may be taken along.
fn is_due_soon(entry: &Entry, now: Tick) -> Option<ToRenew> {
    match entry.grant.watch() {
        Watch::Renew { at, lease, .. } if entry.progress == Progress::Resting && at <= now.plus(lease / 3 / AHEAD) => {
            Some((entry.grant.clone(), lease))
        }
        _ => None,
    }
}

impl Schedule {
    /// Takes out what is due. `batch_of` says which holds may be renewed together.
    pub(super) fn take_due(&mut self, now: Tick, batch_of: impl Fn(&Grant) -> u16) -> AllDue {
        let mut due = AllDue::default();
        let mut taken = 0;
        while taken < TAKEN_AT_ONCE
            && let Some(Entry { grant, progress }) = self.pop_until(now)
        {
            let lease = match grant.watch() {
                Watch::Over => continue,
                Watch::Renew { lose_at, .. } | Watch::Expire { lose_at } if lose_at <= now => {
                    due.lost.push(grant);
                    continue;
                }
                Watch::Renew { at, lease, .. }
                    if progress == Progress::Asked || (at <= now && progress == Progress::Resting) =>
                {
                    lease
                }
                // For no longer than it lasts anyway.
                Watch::Expire { .. } if progress == Progress::Asked => grant.remaining(),
                // Its time has moved on.
                _ => {
                    self.put(grant, progress);
                    continue;
                }
            };
            self.put(grant.clone(), Progress::Renewing);
            let batch = batch_of(&grant);
            due.add((grant, lease), batch);
            taken += 1;
        }
        due
    }

    /// Takes along whatever is due soon, for where there are many batches of a few holds: scripts that are on their way together
    /// cost less than each by itself, and what was renewed together is due together.
    pub(super) fn take_along(&mut self, due: &mut AllDue, now: Tick, batch_of: impl Fn(&Grant) -> u16) {
        let leases = due.chunks.iter().flat_map(|chunk| &chunk.holds).map(|(_, lease)| *lease);
        let Some(longest) = leases.max() else { return };
        let soon: Vec<ToRenew> = self
            .between(now..=now.plus(longest / 3 / AHEAD))
            .take(TAKEN_AT_ONCE)
            .filter_map(|(_, entry)| is_due_soon(entry, now))
            .collect();
        for (grant, lease) in soon {
            self.put(grant.clone(), Progress::Renewing);
            let batch = batch_of(&grant);
            due.add((grant, lease), batch);
        }
    }

    /// Has chunks that are not full take along what is due soon, as measured by the first hold of their kind. For holds of one
    /// batch.
    pub(super) fn fill_up(&mut self, chunks: &mut [Chunk], now: Tick) {
        for at in 0..chunks.len() {
            let (by, missing) = (chunks[at].by, chunks[at].missing());
            let first = chunks.iter().find(|chunk| chunk.by == by).and_then(|chunk| chunk.holds.first());
            let Some(horizon) = first.filter(|_| missing > 0).map(|(_, lease)| now.plus(*lease / 3 / AHEAD)) else {
                continue;
            };
            let soon = self.due_soon(by, now, horizon, missing);
            for (grant, _) in &soon {
                self.put(grant.clone(), Progress::Renewing);
            }
            chunks[at].holds.extend(soon);
        }
    }

    /// Holds of a kind that are due soon, of a weight of up to `missing`. Full chunks are left alone: each would want to be filled up in its
    /// turn, and all be renewed a little sooner, for ever.
    fn due_soon(&self, by: &'static RenewedBy, now: Tick, horizon: Tick, missing: usize) -> Vec<ToRenew> {
        let entries = self.between(now..=horizon).take(EXAMINED);
        let entries: Vec<_> = entries.filter(|(_, entry)| entry.grant.renewed_by() == by).collect();
        let (mut soon, mut room) = (Vec::new(), missing);
        for together in entries.chunk_by(|(at, _), (other, _)| at == other).filter(|together| together.len() < by.chunk)
        {
            soon.extend(together.iter().filter_map(|(_, entry)| is_due_soon(entry, now)));
            if soon.len() >= missing {
                break;
            }
        }
        soon.retain(|hold| {
            let weight = by.weight(hold);
            let fits = weight <= room;
            room -= if fits { weight } else { 0 };
            fits
        });
        soon
    }
}
