//! Handles: what a binding holds instead of an object. Never a pointer, so a wrong one is an error and not a crash.
//!
//! ```text
//!  63  62     56 55         48 47              24 23               0
//! +---+---------+-------------+------------------+------------------+
//! | 0 |  kind   |    life     | slot generation  |      index       |
//! +---+---------+-------------+------------------+------------------+
//! ```
//!
//! The library begins another life in a forked child, and when it is used again after `dlock_shutdown`.
//!
//! The kind is 1 to 126. So neither 0 nor an address of a program (the high bits of which are 0) is ever a handle, no handle is
//! negative where a host has signed numbers, and the double with the same bits is neither subnormal nor NaN: Node keeps that.

use crate::slab::{KEY_BITS, Key};

/// What a host language keeps of an object: opaque, never 0, never reused.
pub type Handle = u64;

const LIFE_BITS: u32 = 8;
const LIFE_SHIFT: u32 = 2 * KEY_BITS;
const KIND_SHIFT: u32 = LIFE_SHIFT + LIFE_BITS;
/// The number of the last kind that there can be.
pub(crate) const LAST_KIND: u8 = 126;

/// A handle taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The number of the kind, whether or not there is one.
    pub(crate) kind: u8,
    pub(crate) life: u32,
    pub(crate) key: Key,
}

/// The bits of a life's number that a handle carries. 256 lives later they start again: a handle that old is then looked up in
/// young tables, where it is almost surely not found.
pub(crate) fn life_bits(life: u32) -> u32 {
    life & ((1 << LIFE_BITS) - 1)
}

pub(crate) fn pack(kind: u8, life: u32, key: Key) -> Handle {
    u64::from(kind) << KIND_SHIFT
        | u64::from(life_bits(life)) << LIFE_SHIFT
        | u64::from(key.generation) << KEY_BITS
        | u64::from(key.index)
}

/// `None` for 0 and for anything else that is not made like a handle.
pub(crate) fn unpack(handle: Handle) -> Option<Parts> {
    let field = |shift: u32, bits: u32| (handle >> shift) & ((1 << bits) - 1);
    let kind = u8::try_from(field(KIND_SHIFT, 64 - KIND_SHIFT)).ok().filter(|kind| (1..=LAST_KIND).contains(kind))?;
    Some(Parts {
        kind,
        life: field(LIFE_SHIFT, LIFE_BITS) as u32,
        key: Key { index: field(0, KEY_BITS) as u32, generation: field(KEY_BITS, KEY_BITS) as u32 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_comes_apart_into_what_it_was_made_of() {
        let key = Key { index: 0xabcdef, generation: 0x123456 };
        for kind in 1..=LAST_KIND {
            let handle = pack(kind, 0xff, key);
            assert_eq!(unpack(handle), Some(Parts { kind, life: 0xff, key }));
            assert!(handle.cast_signed() > 0 && f64::from_bits(handle).is_normal());
        }
    }

    #[test]
    fn zero_addresses_and_all_ones_are_no_handles() {
        let local = 0;
        for wild in [0, 1, u64::MAX, std::ptr::from_ref(&local) as u64] {
            assert_eq!(unpack(wild), None, "{wild:#x}");
        }
    }

    #[test]
    fn the_number_of_a_life_wraps_without_touching_the_kind() {
        let key = Key { index: 1, generation: 1 };
        let parts = unpack(pack(2, 256 + 7, key)).unwrap();
        assert_eq!((parts.kind, parts.life), (2, 7));
    }
}
