//! The slab's own tests. Beside `slab.rs`, not in it: `tests/shuttle.rs` includes that file with other primitives.

use std::sync::Arc;

use crate::slab::{KEY_BITS, Key, Missing, Slab};

const CHANCE: u32 = 0x1234_5678;

#[test]
fn a_key_finds_its_object_until_it_is_removed() {
    let slab = Slab::new(CHANCE);
    let key = slab.insert(Arc::new("a")).unwrap();
    assert_eq!(*slab.get(key).unwrap(), "a");
    assert_eq!(*slab.remove(key).unwrap(), "a");
    assert_eq!(slab.get(key).unwrap_err(), Missing::Removed);
    assert_eq!(slab.remove(key).unwrap_err(), Missing::Removed);
}

#[test]
fn a_stale_key_does_not_find_the_slots_next_object() {
    let slab = Slab::new(CHANCE);
    let old = slab.insert(Arc::new(1)).unwrap();
    slab.remove(old).unwrap();
    let new = slab.insert(Arc::new(2)).unwrap();
    assert_eq!(old.index, new.index, "the slot is used again");
    assert_eq!(slab.get(old).unwrap_err(), Missing::Removed);
    assert_eq!(slab.remove(old).unwrap_err(), Missing::Removed);
    assert_eq!(*slab.get(new).unwrap(), 2);
}

#[test]
fn keys_that_were_never_given_out_find_nothing() {
    let slab = Slab::new(CHANCE);
    let key = slab.insert(Arc::new(())).unwrap();
    let Key { index, generation } = key;
    for (index, generation) in [(index + 1, generation), (index, generation + 1), (index, generation - 1), (index, 0)] {
        assert_eq!(slab.get(Key { index, generation }).unwrap_err(), Missing::NeverThere);
        assert_eq!(slab.remove(Key { index, generation }).unwrap_err(), Missing::NeverThere);
    }
}

#[test]
fn generations_begin_in_the_lower_half_by_chance() {
    let first = |chance| Slab::new(chance).insert(Arc::new(())).unwrap().generation;
    assert_eq!((first(0), first(CHANCE), first(u32::MAX)), (0, 0x34_5678, (1 << (KEY_BITS - 1)) - 1));
}

#[test]
fn a_slot_is_retired_rather_than_its_generations_used_twice() {
    let slab = Slab::with_generations(0, 1);
    let mut seen = std::collections::HashSet::new();
    for _ in 0..10 {
        let key = slab.insert(Arc::new(())).unwrap();
        assert!(seen.insert(key), "{key:?} came back");
        slab.remove(key).unwrap();
    }
    assert_eq!(seen.iter().map(|key| key.index).max(), Some(4), "two uses a slot");
}

#[test]
fn a_closed_slab_takes_nothing_in() {
    let slab = Slab::new(CHANCE);
    let key = slab.insert(Arc::new(1)).unwrap();
    assert_eq!(slab.close().len(), 1);
    let late = Arc::new(2);
    assert_eq!(slab.insert(late.clone()), None, "its key would be that of the first");
    assert_eq!(Arc::strong_count(&late), 1);
    assert_eq!(slab.get(key).unwrap_err(), Missing::NeverThere);
    assert!(slab.close().is_empty());
}

#[test]
fn a_removed_object_lives_as_long_as_somebody_uses_it() {
    let slab = Slab::new(CHANCE);
    let key = slab.insert(Arc::new(7)).unwrap();
    let in_use = slab.get(key).unwrap();
    let removed = slab.remove(key).unwrap();
    drop(removed);
    assert_eq!(*in_use, 7);
}
