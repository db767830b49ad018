//! What is due to be renewed: in chunks of one kind each, one script for a chunk.
//!
//! What was renewed together is due together. A chunk that is not full takes along what is due soon and not itself part of a
//! full one, so that from then on they are full.

use super::renewal::{RenewedBy, ToRenew};
use super::schedule::{Entry, Progress, Schedule};
use super::{Grant, Watch};
use crate::time::Tick;

/// What is due within this part of its renewal interval fills up a chunk: a tenth more renewals at most, in fewer scripts.
const AHEAD: u32 = 10;

/// How many entries are examined to fill up a chunk, at most: full chunks and leases that are not renewed stand in between.
const EXAMINED: usize = 10_000;

/// If there are more chunks than this, they are not filled up.
const MOST_FILLED: usize = 64;

/// How many renewals are taken out under one lock. When a process was stopped all of them are due at once.
pub(super) const TAKEN_AT_ONCE: usize = 1_000;

/// Holds of one kind and batch, as many as one script renews at most, by weight. Never empty.
pub(super) struct Chunk {
    pub(super) by: &'static RenewedBy,
    /// See [`Backend::batch_of`](crate::backend::Backend::batch_of).
    pub(super) batch: u16,
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
}

impl AllDue {
    fn add(&mut self, due: ToRenew, batch: u16) {
        let by = due.0.renewed_by();
        // All chunks of a kind and batch but their last are full, or had no room for the hold that came next.
        match self.chunks.iter_mut().rfind(|chunk| chunk.by == by && chunk.batch == batch) {
            Some(last) if last.missing() >= by.weight(&due) => last.holds.push(due),
            _ => self.chunks.push(Chunk { by, batch, holds: vec![due] }),
        }
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

    /// Has chunks that are not full take along what is due soon, as measured by the first hold of their kind.
    pub(super) fn fill_up(&mut self, chunks: &mut [Chunk], now: Tick, batch_of: impl Fn(&Grant) -> u16) {
        // Of many batches few have more that is due soon, and to find that takes as long as for few.
        if chunks.len() > MOST_FILLED {
            return;
        }
        for at in 0..chunks.len() {
            let (by, batch, missing) = (chunks[at].by, chunks[at].batch, chunks[at].missing());
            let first = chunks.iter().find(|chunk| chunk.by == by).and_then(|chunk| chunk.holds.first());
            let Some(horizon) = first.filter(|_| missing > 0).map(|(_, lease)| now.plus(*lease / 3 / AHEAD)) else {
                continue;
            };
            let soon = self.due_soon(by, now, horizon, missing, |grant| batch_of(grant) == batch);
            for (grant, _) in &soon {
                self.put(grant.clone(), Progress::Renewing);
            }
            chunks[at].holds.extend(soon);
        }
    }

    /// Holds of a kind that are due soon, of a weight of up to `missing`. Full chunks are left alone: each would want to be filled up in its
    /// turn, and all be renewed a little sooner, for ever.
    fn due_soon(
        &self,
        by: &'static RenewedBy,
        now: Tick,
        horizon: Tick,
        missing: usize,
        is_of_batch: impl Fn(&Grant) -> bool,
    ) -> Vec<ToRenew> {
        let entries = self.between(now..=horizon).take(EXAMINED);
        let fits = |grant: &Grant| grant.renewed_by() == by && is_of_batch(grant);
        let entries: Vec<_> = entries.filter(|(_, entry)| fits(&entry.grant)).collect();
        let (mut soon, mut room) = (Vec::new(), missing);
        for together in entries.chunk_by(|(at, _), (other, _)| at == other).filter(|together| together.len() < by.chunk)
        {
            let resting = together.iter().filter(|(_, entry)| entry.progress == Progress::Resting);
            soon.extend(resting.filter_map(|(_, Entry { grant, .. })| match grant.watch() {
                // Its own lease may be shorter, and its horizon nearer.
                Watch::Renew { at, lease, .. } if at <= now.plus(lease / 3 / AHEAD) => Some((grant.clone(), lease)),
                _ => None,
            }));
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
