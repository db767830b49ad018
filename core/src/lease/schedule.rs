//! What is due when: each tenure once, by the grant that holds it now.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::renewal::RenewedBy;
use super::tenure::Tenure;
use super::{Grant, LossReason, Watch};
use crate::time::Tick;

/// When, and the tenure by the address that its entry keeps alive. The tenure knows its time, so that it is found again.
pub(super) type DueAt = (Tick, usize);

#[derive(Default)]
pub(super) struct Schedule {
    due: BTreeMap<DueAt, Entry>,
    /// How many of each kind.
    kept: Vec<(&'static RenewedBy, u64)>,
    /// What the keeper sleeps until. It may be earlier than what is first now: then it wakes once in vain.
    armed: Option<Tick>,
    /// Set when the client has ended: nothing is kept any more.
    ended: Option<LossReason>,
}

pub(super) struct Entry {
    pub(super) grant: Grant,
    pub(super) progress: Progress,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing is under way.
    Resting,
    /// A renewal is on its way: only the loss is to be watched.
    Renewing,
    /// The entry's time is that of the next renewal, whenever it would be due otherwise: the last one failed, or the server may
    /// not know the hold. A hold that is not renewed is verified.
    Asked,
}

impl Schedule {
    /// How many of that kind are kept.
    pub(super) fn count(&self, by: &'static RenewedBy) -> u64 {
        self.kept.iter().find(|(kind, _)| *kind == by).map_or(0, |(_, count)| *count)
    }

    fn kept(&mut self, of: &Grant) -> &mut u64 {
        let by = of.renewed_by();
        let at = self.kept.iter().position(|(kind, _)| *kind == by).unwrap_or_else(|| {
            self.kept.push((by, 0));
            self.kept.len() - 1
        });
        &mut self.kept[at].1
    }

    pub(super) fn ended(&self) -> Option<LossReason> {
        self.ended
    }

    /// Keeps nothing any more, for the first reason ever given; what it had, and that reason.
    pub(super) fn end(&mut self, reason: LossReason) -> (Vec<Grant>, LossReason) {
        let reason = *self.ended.get_or_insert(reason);
        self.kept.clear();
        let all = std::mem::take(&mut self.due).into_values().map(|entry| entry.grant);
        (all.inspect(|grant| grant.tenure().set_scheduled_at(None)).collect(), reason)
    }

    /// The keeper goes to sleep: until when.
    pub(super) fn arm(&mut self) -> Tick {
        let first = self.due.first_key_value().map_or(Tick::NEVER, |((at, _), _)| *at);
        self.armed = Some(first);
        first
    }

    /// Enters a grant at its next event; true when the keeper sleeps for longer than that and has to be woken. One that was
    /// handed over since does not take its successor's place.
    pub(super) fn put(&mut self, grant: Grant, progress: Progress) -> bool {
        let (resting, at) = match grant.watch() {
            Watch::Over => {
                self.take(&grant);
                return false;
            }
            Watch::Renew { at, lose_at, .. } => (at.min(lose_at), lose_at),
            Watch::Expire { lose_at } => (lose_at, lose_at),
        };
        self.put_at(if progress == Progress::Renewing { at } else { resting }, Entry { grant, progress })
    }

    /// As [`Schedule::put`], at a time that is not the next event's own.
    pub(super) fn put_at(&mut self, at: Tick, mut entry: Entry) -> bool {
        // The keeper looks after the hold, whoever shares it.
        entry.grant = entry.grant.whole();
        if let Some(present) = self.take(&entry.grant) {
            entry.grant = entry.grant.later(present);
        }
        entry.grant.tenure().set_scheduled_at(Some(at));
        *self.kept(&entry.grant) += 1;
        self.due.insert((at, address(entry.grant.tenure())), entry);
        let late = self.armed.is_some_and(|armed| at < armed);
        if late {
            // One call is enough.
            self.armed = Some(at);
        }
        late
    }

    /// Makes those that rest due at `now`, of the next `limit` from there on those that `concerns` says; where to go on, if
    /// there is more.
    pub(super) fn hasten(
        &mut self,
        now: Tick,
        from: DueAt,
        limit: usize,
        concerns: impl Fn(&Grant) -> bool,
    ) -> Option<DueAt> {
        let from = from.max((Tick(now.0.saturating_add(1)), 0));
        let all: Vec<(DueAt, bool)> =
            self.due.range(from..).take(limit).map(|(due_at, entry)| (*due_at, concerns(&entry.grant))).collect();
        for (due_at, _) in all.iter().filter(|(_, concerned)| *concerned) {
            if let Some(entry) = self.due.remove(due_at) {
                let (at, entry) = match entry.progress {
                    Progress::Renewing => (due_at.0, entry),
                    Progress::Resting | Progress::Asked => (now, Entry { progress: Progress::Asked, ..entry }),
                };
                entry.grant.tenure().set_scheduled_at(Some(at));
                self.due.insert((at, due_at.1), entry);
            }
        }
        all.last().filter(|_| all.len() == limit).map(|((at, address), _)| (*at, address + 1))
    }

    /// Enters a tenure anew whose next event may have come nearer, unless a renewal is under way or has just failed: then that
    /// one or the next says what is to be done. True as in [`Schedule::put`].
    pub(super) fn hurry(&mut self, tenure: &Arc<Tenure>) -> bool {
        let entry = due_at(tenure).and_then(|due_at| self.due.get(&due_at));
        let resting = entry.filter(|entry| entry.progress == Progress::Resting).map(|entry| entry.grant.clone());
        resting.is_some_and(|grant| self.put(grant, Progress::Resting))
    }

    /// All that is kept.
    pub(super) fn tenures(&self) -> Vec<Arc<Tenure>> {
        self.due.values().map(|entry| entry.grant.tenure().clone()).collect()
    }

    /// Lets a grant take the place of the one that it follows; false when that is not kept.
    pub(super) fn replace(&mut self, by: &Grant) -> bool {
        let due_at = due_at(by.tenure());
        let entry = due_at.and_then(|due_at| self.due.get_mut(&due_at));
        entry.map(|entry| entry.grant = by.clone()).is_some()
    }

    /// Takes out the tenure of a grant; gives the grant that holds it now.
    pub(super) fn take(&mut self, grant: &Grant) -> Option<Grant> {
        let entry = self.due.remove(&due_at(grant.tenure())?)?;
        *self.kept(&entry.grant) -= 1;
        entry.grant.tenure().set_scheduled_at(None);
        Some(entry.grant)
    }

    /// The earliest entry, if it is due by then.
    pub(super) fn pop_until(&mut self, limit: Tick) -> Option<Entry> {
        let first = self.due.first_entry().filter(|first| first.key().0 <= limit)?;
        let entry = first.remove();
        *self.kept(&entry.grant) -= 1;
        entry.grant.tenure().set_scheduled_at(None);
        Some(entry)
    }

    /// What stands in that time, first to last.
    pub(super) fn between(&self, times: RangeInclusive<Tick>) -> impl Iterator<Item = (Tick, &Entry)> {
        self.due.range((*times.start(), 0)..=(*times.end(), usize::MAX)).map(|((at, _), entry)| (*at, entry))
    }
}

fn due_at(tenure: &Arc<Tenure>) -> Option<DueAt> {
    tenure.scheduled_at().map(|at| (at, address(tenure)))
}

fn address(tenure: &Arc<Tenure>) -> usize {
    Arc::as_ptr(tenure).addr()
}
