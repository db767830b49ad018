//! Handles: what a binding holds instead of an object. Never a pointer, so a wrong one is an error and not a crash.
//!
//! ```text
//!  63    60 59         48 47              24 23               0
//! +--------+-------------+------------------+------------------+
//! |  kind  |  fork gen.  | slot generation  |      index       |
//! +--------+-------------+------------------+------------------+
//! ```
//!
//! The kind is never 0, so neither 0 nor an address of a program (the high bits of which are 0) is ever a handle.

use crate::slab::{KEY_BITS, Key};

/// What a host language keeps of an object: opaque, never 0, never reused.
pub type Handle = u64;

const FORK_BITS: u32 = 12;
const FORK_SHIFT: u32 = 2 * KEY_BITS;
const KIND_SHIFT: u32 = FORK_SHIFT + FORK_BITS;

/// What a handle stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A client: its connections, its options.
    Client = 1,
    /// A lock of a client, by name.
    Lock = 2,
    /// A hold of a lock: token, validity, loss.
    Held = 3,
    /// A completion port.
    Port = 4,
    /// An operation submitted to a port.
    Op = 5,
    /// A token that cancels blocking calls.
    Cancel = 6,
    /// A rate limiter of a client, by name.
    Limiter = 7,
    /// A generator of ids.
    Snowflake = 8,
}

impl Kind {
    const ALL: [Self; 8] =
        [Self::Client, Self::Lock, Self::Held, Self::Port, Self::Op, Self::Cancel, Self::Limiter, Self::Snowflake];

    fn from_bits(bits: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u64 == bits)
    }

    /// The word for messages: "client", "lock".
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Lock => "lock",
            Self::Held => "held lock",
            Self::Port => "port",
            Self::Op => "operation",
            Self::Cancel => "cancel token",
            Self::Limiter => "rate limiter",
            Self::Snowflake => "snowflake",
        }
    }
}

/// A handle taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) kind: Kind,
    pub(crate) fork: u32,
    pub(crate) key: Key,
}

/// The bits of a fork generation that a handle carries. 4,096 forks deep they start again: a handle that old is then
/// looked up in a young process's tables, where it is almost surely not found.
pub(crate) fn fork_bits(generation: u32) -> u32 {
    generation & ((1 << FORK_BITS) - 1)
}

pub(crate) fn pack(kind: Kind, fork: u32, key: Key) -> Handle {
    (kind as u64) << KIND_SHIFT
        | u64::from(fork_bits(fork)) << FORK_SHIFT
        | u64::from(key.generation) << KEY_BITS
        | u64::from(key.index)
}

/// `None` for 0 and for anything whose kind does not exist.
pub(crate) fn unpack(handle: Handle) -> Option<Parts> {
    let field = |shift: u32, bits: u32| (handle >> shift) & ((1 << bits) - 1);
    let kind = Kind::from_bits(field(KIND_SHIFT, 64 - KIND_SHIFT))?;
    Some(Parts {
        kind,
        fork: field(FORK_SHIFT, FORK_BITS) as u32,
        key: Key { index: field(0, KEY_BITS) as u32, generation: field(KEY_BITS, KEY_BITS) as u32 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_comes_apart_into_what_it_was_made_of() {
        let key = Key { index: 0xabcdef, generation: 0x123456 };
        for kind in Kind::ALL {
            let handle = pack(kind, 0xfff, key);
            assert_eq!(unpack(handle), Some(Parts { kind, fork: 0xfff, key }));
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
    fn a_fork_generation_wraps_without_touching_the_kind() {
        let key = Key { index: 1, generation: 1 };
        let parts = unpack(pack(Kind::Lock, 4096 + 7, key)).unwrap();
        assert_eq!((parts.kind, parts.fork), (Kind::Lock, 7));
    }
}
