//! A table of live objects, addressed by keys that are never mistaken for one another.
//!
//! A key is an index and the generation of the slot when the object was put there. Removing an object raises the slot's
//! generation, so that a key kept for too long finds nothing rather than somebody else's object. A slot whose generations
//! are used up is retired: 2^23 uses of each slot or more cost 24 bytes once, and no key ever comes back.
//!
//! The generations of a table begin by chance, so that its keys find nothing in another table, that of a second copy of the
//! library in the process.

use crate::sync::{Arc, Mutex, lock};

/// Generations and indices are 24 bits wide each, because a handle packs both (see `handle.rs`).
pub(crate) const KEY_BITS: u32 = 24;
const LAST: u32 = (1 << KEY_BITS) - 1;

/// Where an object stands in its slab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

/// Why a key finds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// There was such an object; it has been removed.
    Removed,
    /// This slab never gave out such a key.
    NeverThere,
}

/// The table. Objects are shared: one that is removed while a call uses it lives until that call ends.
pub(crate) struct Slab<T> {
    inner: Mutex<Inner<T>>,
}

struct Inner<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    /// That of the first object of each slot.
    first_generation: u32,
    last_generation: u32,
    /// Takes nothing in any more: its keys would begin anew.
    closed: bool,
}

struct Slot<T> {
    generation: u32,
    value: Option<Arc<T>>,
}

impl<T> Slab<T> {
    /// A slab whose generations begin in the lower half, where `chance` says.
    pub(crate) fn new(chance: u32) -> Self {
        Self::with_generations(chance & (LAST >> 1), LAST)
    }

    /// A slab whose slots begin with `first` and are retired after `last` (tests make it small).
    pub(crate) fn with_generations(first: u32, last: u32) -> Self {
        let (slots, free) = (Vec::new(), Vec::new());
        let inner = Inner { slots, free, first_generation: first, last_generation: last, closed: false };
        Self { inner: Mutex::new(inner) }
    }

    /// Puts `value` into a free slot; `None` when 2^24 objects are alive, or the table was closed.
    pub(crate) fn insert(&self, value: Arc<T>) -> Option<Key> {
        let mut inner = lock(&self.inner);
        if inner.closed {
            return None;
        }
        if let Some(index) = inner.free.pop() {
            let slot = &mut inner.slots[index as usize];
            slot.value = Some(value);
            let generation = slot.generation;
            return Some(Key { index, generation });
        }
        let index = u32::try_from(inner.slots.len()).ok().filter(|index| *index <= LAST)?;
        let generation = inner.first_generation;
        inner.slots.push(Slot { generation, value: Some(value) });
        Some(Key { index, generation })
    }

    /// The object under `key`.
    pub(crate) fn get(&self, key: Key) -> Result<Arc<T>, Missing> {
        let inner = lock(&self.inner);
        let slot = inner.slots.get(key.index as usize).ok_or(Missing::NeverThere)?;
        match &slot.value {
            Some(value) if slot.generation == key.generation => Ok(value.clone()),
            _ => Err(slot.missing(key, inner.first_generation)),
        }
    }

    /// The objects for which `which` holds.
    pub(crate) fn all(&self, which: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let inner = lock(&self.inner);
        inner.slots.iter().filter_map(|slot| slot.value.as_ref().filter(|value| which(value)).cloned()).collect()
    }

    /// Takes every object out, gives the table's memory back and closes it: nothing is found in it any more, nor put there.
    pub(crate) fn close(&self) -> Vec<Arc<T>> {
        let mut inner = lock(&self.inner);
        inner.closed = true;
        inner.free = Vec::new();
        std::mem::take(&mut inner.slots).into_iter().filter_map(|slot| slot.value).collect()
    }

    /// Takes the object under `key` out: of several callers exactly one gets it.
    pub(crate) fn remove(&self, key: Key) -> Result<Arc<T>, Missing> {
        let mut inner = lock(&self.inner);
        let (first, last) = (inner.first_generation, inner.last_generation);
        let slot = inner.slots.get_mut(key.index as usize).ok_or(Missing::NeverThere)?;
        if slot.generation != key.generation {
            return Err(slot.missing(key, first));
        }
        let Some(value) = slot.value.take() else {
            return Err(slot.missing(key, first));
        };
        slot.generation += 1;
        if slot.generation <= last {
            inner.free.push(key.index);
        }
        // The lock is let go before the caller can drop what it got: an object's end may call back into a slab.
        Ok(value)
    }
}

impl<T> Slot<T> {
    fn missing(&self, key: Key, first: u32) -> Missing {
        if (first..self.generation).contains(&key.generation) { Missing::Removed } else { Missing::NeverThere }
    }
}
