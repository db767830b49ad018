//! The objects that have been found, within a bound.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use libdlock::survey::Kind;

use super::Row;
use super::rate::Rate;

/// What is known of an object.
#[derive(Default)]
pub struct Object {
    /// The last round of the walk that found it.
    round: u64,
    /// Whether it is certainly of its kind: the key of a token may be that of a lock or a read-write lock.
    is_sure: bool,
    pub rate: Rate,
    /// What was read last.
    pub row: Option<Arc<Row>>,
}

impl Object {
    fn is_in_use(&self) -> bool {
        self.row.as_ref().is_some_and(|row| row.details.in_use)
    }
}

pub type Key = (String, Kind);

pub struct Known {
    objects: BTreeMap<Key, Object>,
    most: usize,
    round: u64,
    /// Whether the walk has been round once, and nothing was left out since.
    pub is_complete: bool,
    /// Whether something is left out in this round.
    is_full: bool,
}

impl Known {
    pub fn new(most: usize) -> Known {
        Known { objects: BTreeMap::new(), most, round: 1, is_complete: false, is_full: false }
    }

    /// Whether the kind of what is called so need not be asked for.
    pub fn is_sure(&self, name: &str) -> bool {
        let of_name = self.objects.range((name.to_owned(), Kind::Lock)..).take_while(|((other, _), _)| other == name);
        of_name.into_iter().any(|(_, object)| object.is_sure)
    }

    /// Takes up what a step of the walk has found.
    pub fn find(&mut self, found: impl IntoIterator<Item = Key>) {
        for (name, kind) in found {
            let lock = (name.clone(), Kind::Lock);
            match kind {
                Kind::RwLock => drop(self.objects.remove(&lock)),
                Kind::Lock if self.objects.contains_key(&(name.clone(), Kind::RwLock)) => continue,
                _ => {}
            }
            let key = (name, kind);
            if !self.objects.contains_key(&key) && self.objects.len() >= 2 * self.most {
                self.is_full = true;
                continue;
            }
            let object = self.objects.entry(key).or_default();
            object.round = self.round;
            object.is_sure |= kind == Kind::RwLock;
        }
    }

    /// The walk has been round: what it did not find and nobody uses is forgotten.
    pub fn end_round(&mut self) {
        let round = self.round;
        self.objects.retain(|_, object| object.round == round || object.is_in_use());
        self.round += 1;
        self.is_complete = !self.is_full;
        self.is_full = false;
    }

    /// After everything was read: keeps to the bound, and what is in use rather than what is not.
    pub fn trim(&mut self) {
        let mut over = self.objects.len().saturating_sub(self.most);
        if over == 0 {
            return;
        }
        for drop_used in [false, true] {
            self.objects.retain(|_, object| {
                let goes = over > 0 && (drop_used || !object.is_in_use());
                over -= usize::from(goes);
                if goes && drop_used {
                    self.is_full = true;
                }
                !goes
            });
        }
        self.is_complete &= !self.is_full;
    }

    /// The names of one kind, or of all others than that.
    pub fn keys(&self, is_wanted: impl Fn(Kind) -> bool) -> Vec<Key> {
        self.objects.keys().filter(|(_, kind)| is_wanted(*kind)).cloned().collect()
    }

    pub fn get_mut(&mut self, key: &Key) -> Option<&mut Object> {
        self.objects.get_mut(key)
    }

    /// Keeps what was read.
    pub fn put(&mut self, key: &Key, row: Row, is_sure: bool) {
        if let Some(object) = self.objects.get_mut(key) {
            object.is_sure |= is_sure;
            object.row = Some(Arc::new(row));
        }
    }

    /// It was no object of this kind.
    pub fn remove(&mut self, key: &Key) {
        self.objects.remove(key);
    }

    /// When it was read last.
    pub fn read_at(&self, key: &Key) -> Option<Instant> {
        self.objects.get(key)?.row.as_ref().map(|row| row.read)
    }

    /// Those in use by name, how many others there are, and how often locks are granted.
    pub fn told(&self) -> (Arc<[Arc<Row>]>, usize, f64) {
        let rows = || self.objects.values().filter_map(|object| object.row.as_ref());
        let used: Vec<_> = rows().filter(|row| row.details.in_use).take(self.most).cloned().collect();
        let grants = rows().map(|row| row.grants).sum();
        let idle = self.objects.len() - used.len();
        (used.into(), idle, grants)
    }

    /// Those in use for which somebody waits, most first.
    pub fn waited_for(&self, most: usize) -> Vec<Key> {
        let queued = |object: &Object| object.row.as_ref().map_or(0, |row| row.details.queued);
        let mut waited: Vec<_> = self.objects.iter().filter(|(_, object)| queued(object) > 0).collect();
        waited.sort_by_key(|(_, object)| std::cmp::Reverse(queued(object)));
        waited.into_iter().take(most).map(|(key, _)| key.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: std::ops::Range<usize>) -> impl Iterator<Item = Key> {
        names.map(|number| (format!("n{number:03}"), Kind::Lock))
    }

    #[test]
    fn no_more_is_kept_than_the_bound_and_that_is_said() {
        let mut known = Known::new(10);
        known.find(found(0..15));
        known.end_round();
        assert!(known.is_complete && known.keys(|_| true).len() == 15, "until they were read");
        known.trim();
        assert!(known.is_complete && known.keys(|_| true).len() == 10, "nobody uses them");
        known.find(found(0..100));
        assert_eq!(known.keys(|_| true).len(), 20);
        known.end_round();
        assert!(!known.is_complete);
    }

    #[test]
    fn what_a_round_does_not_find_is_forgotten() {
        let mut known = Known::new(10);
        known.find(found(0..5));
        known.end_round();
        known.find(found(2..5));
        known.end_round();
        assert_eq!(known.keys(|_| true).len(), 3);
        known.find([("n002".to_owned(), Kind::RwLock)]);
        known.find(found(2..3));
        assert_eq!(known.keys(|kind| kind == Kind::Lock).len(), 2, "its token's key is not a lock's");
        assert!(known.is_sure("n002") && !known.is_sure("n003") && !known.is_sure("n00"));
    }
}
