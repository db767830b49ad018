//! What is to be looked at when: each tenure once, by the grant that holds it now.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::tenure::Tenure;
use super::{Grant, LossReason, Watch};
use crate::time::Tick;

/// When, and the tenure by the address that its entry keeps alive. The tenure knows its time, so that it is found again.
type Place = (Tick, usize);

#[derive(Default)]
pub(super) struct Schedule {
    due: BTreeMap<Place, Entry>,
    /// What the keeper sleeps until. It may be earlier than what is first now: then it wakes once in vain.
    armed: Option<Tick>,
    /// Set when the client has ended: nothing is kept any more.
    ended: Option<LossReason>,
}

pub(super) struct Entry {
    pub(super) grant: Grant,
    pub(super) phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing is under way.
    Resting,
    /// A renewal is on its way: only the loss is to be watched.
    Renewing,
    /// A renewal failed: the entry's time is that of the next one.
    Retrying,
}

impl Schedule {
    pub(super) fn len(&self) -> usize {
        self.due.len()
    }

    pub(super) fn ended(&self) -> Option<LossReason> {
        self.ended
    }

    /// Keeps nothing any more, for the first reason ever given; what it had, and that reason.
    pub(super) fn end(&mut self, reason: LossReason) -> (Vec<Grant>, LossReason) {
        let reason = *self.ended.get_or_insert(reason);
        let all = std::mem::take(&mut self.due).into_values().map(|entry| entry.grant);
        (all.inspect(|grant| grant.tenure().set_place(None)).collect(), reason)
    }

    /// The keeper goes to sleep: until when.
    pub(super) fn arm(&mut self) -> Tick {
        let first = self.due.first_key_value().map_or(Tick::NEVER, |((at, _), _)| *at);
        self.armed = Some(first);
        first
    }

    /// Enters a grant at its next event; true when the keeper sleeps for longer than that and has to be woken. One that was
    /// handed over since does not take its successor's place.
    pub(super) fn put(&mut self, grant: Grant, phase: Phase) -> bool {
        let (resting, at) = match grant.watch() {
            Watch::Over => {
                self.take(&grant);
                return false;
            }
            Watch::Renew { at, lose_at, .. } => (at.min(lose_at), lose_at),
            Watch::Expire { lose_at } => (lose_at, lose_at),
        };
        self.put_at(if phase == Phase::Renewing { at } else { resting }, Entry { grant, phase })
    }

    /// As [`Schedule::put`], at a time that is not the next event's own.
    pub(super) fn put_at(&mut self, at: Tick, mut entry: Entry) -> bool {
        if let Some(present) = self.take(&entry.grant) {
            entry.grant = entry.grant.later(present);
        }
        entry.grant.tenure().set_place(Some(at));
        self.due.insert((at, address(entry.grant.tenure())), entry);
        let late = self.armed.is_some_and(|armed| at < armed);
        if late {
            // One call is enough.
            self.armed = Some(at);
        }
        late
    }

    /// Lets a grant take the place of the one that it follows; false when that is not kept.
    pub(super) fn replace(&mut self, by: &Grant) -> bool {
        let place = place(by.tenure());
        let entry = place.and_then(|place| self.due.get_mut(&place));
        entry.map(|entry| entry.grant = by.clone()).is_some()
    }

    /// Takes out the tenure of a grant; gives the grant that holds it now.
    pub(super) fn take(&mut self, grant: &Grant) -> Option<Grant> {
        let entry = self.due.remove(&place(grant.tenure())?)?;
        entry.grant.tenure().set_place(None);
        Some(entry.grant)
    }

    /// The earliest entry, if it is due by then.
    pub(super) fn pop_until(&mut self, limit: Tick) -> Option<Entry> {
        let first = self.due.first_entry().filter(|first| first.key().0 <= limit)?;
        let entry = first.remove();
        entry.grant.tenure().set_place(None);
        Some(entry)
    }

    /// What stands in that time, first to last.
    pub(super) fn between(&self, times: RangeInclusive<Tick>) -> impl Iterator<Item = (Tick, &Entry)> {
        self.due.range((*times.start(), 0)..=(*times.end(), usize::MAX)).map(|((at, _), entry)| (*at, entry))
    }
}

fn place(tenure: &Arc<Tenure>) -> Option<Place> {
    tenure.place().map(|at| (at, address(tenure)))
}

fn address(tenure: &Arc<Tenure>) -> usize {
    Arc::as_ptr(tenure).addr()
}
