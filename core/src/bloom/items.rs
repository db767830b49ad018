//! Items, as a filter knows them: by their hashes.

use std::sync::Arc;

use highway::{HighwayHash, HighwayHasher, Key};

use super::Sizing;

/// The key of the hash, as Redisson has it.
const KEY: Key = Key([0x9e37_79b9_7f4a_7c15, 0xf39c_c060_5ced_c834, 0x1082_276b_f3a2_7251, 0xf86c_6a11_d0c1_8e95]);

/// Items for a [`BloomFilter`](crate::BloomFilter), of which only their hashes are kept, 16 bytes each: bytes, or the UTF-8 of
/// texts.
///
/// ```
/// use libdlock::bloom::Items;
///
/// let mut items: Items = ["user:1", "user:2"].into_iter().collect();
/// items.push([0xff, 0x00]);
/// assert_eq!(items.len(), 3);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Items(Vec<[u64; 2]>);

impl Items {
    /// None.
    pub fn new() -> Items {
        Items::default()
    }

    /// One more. An item may be empty, and as long as it likes.
    pub fn push(&mut self, item: impl AsRef<[u8]>) {
        self.0.push(HighwayHasher::new(KEY).hash128(item.as_ref()));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bits of so many items at a time, as many of each as the filter has hashes.
    pub(super) fn bits(&self, sizing: Sizing, at_once: usize) -> impl Iterator<Item = Arc<[u32]>> {
        self.0.chunks(at_once).map(move |items| items.iter().flat_map(|item| bits(*item, sizing)).collect())
    }
}

impl<I: AsRef<[u8]>> FromIterator<I> for Items {
    fn from_iter<T: IntoIterator<Item = I>>(items: T) -> Items {
        let mut all = Items::new();
        items.into_iter().for_each(|item| all.push(item));
        all
    }
}

/// The bits of an item, as Redisson finds them: the two hashes are added in turns.
fn bits([first, second]: [u64; 2], sizing: Sizing) -> impl Iterator<Item = u32> {
    let mut hash = first;
    (0..sizing.hashes()).map(move |at| {
        let bit = (hash & (u64::MAX >> 1)) % sizing.size();
        hash = hash.wrapping_add(if at % 2 == 0 { second } else { first });
        // A size is less than 2^32.
        bit as u32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_redissons_class() {
        let known: [(&str, u64, u64); 6] = [
            ("", 0xb7aa_d9c2_26c6_a36b, 0xb2d4_e4a6_3557_bca6),
            ("a", 0xab0b_c04b_5da9_4740, 0xa046_2b5a_ca91_2353),
            ("hello", 0x7fd1_d0bc_d0c0_85e1, 0x70f5_d2de_26f6_a7d9),
            ("user:1", 0x2ae0_7ecd_be95_09ca, 0x05c6_e130_7822_5e5c),
            ("The quick brown fox jumps over the lazy dog", 0x17d8_1754_fbb5_8a62, 0xc44a_3d2c_615d_b388),
            ("0123456789abcdef0123456789abcdef", 0xd3c8_6bd0_1f22_69fd, 0xcfa1_2b16_012f_2c58),
        ];
        for (item, first, second) in known {
            assert_eq!(Items::from_iter([item]).0, [[first, second]], "{item:?}");
        }
    }

    #[test]
    fn bits_are_those_of_redissons_class() {
        let sizing = Sizing::new("test", 1_000, 0.01).unwrap();
        let known: [(&str, [u32; 7]); 3] = [
            ("a", [2938, 1673, 4611, 998, 3936, 2671, 3261]),
            ("hello", [8060, 4649, 776, 6950, 3077, 9251, 5378]),
            ("user:1", [2737, 3748, 6485, 7496, 7885, 8896, 2048]),
        ];
        for (item, expected) in known {
            let items = Items::from_iter([item]);
            assert_eq!(*items.bits(sizing, 10).next().unwrap(), expected, "{item}");
        }
    }
}
