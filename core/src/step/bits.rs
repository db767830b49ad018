//! A string of bits, as a server keeps it under a key, which takes memory only where it has ones.

/// So many bytes are allocated at a time.
const PAGE: usize = 4096;

/// Bits from 0 on, the highest of a byte first, as SETBIT counts them. None is ever cleared, so a page that is there has a one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits {
    /// Up to the last one that has a one.
    pages: Vec<Option<Box<[u8; PAGE]>>>,
    /// How many are ones.
    ones: u64,
}

impl Bits {
    pub(crate) fn of_bytes(bytes: &[u8]) -> Bits {
        let mut bits = Bits::default();
        for (at, byte) in (0_u32..).zip(bytes) {
            for bit in (0..8).filter(|bit| byte & (0x80 >> bit) != 0) {
                bits.set(at * 8 + bit);
            }
        }
        bits
    }

    /// Sets a bit; what it was before.
    pub(crate) fn set(&mut self, at: u32) -> bool {
        let (page, byte, mask) = place(at);
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        let byte = &mut self.pages[page].get_or_insert_with(|| Box::new([0; PAGE]))[byte];
        let was = *byte & mask != 0;
        *byte |= mask;
        self.ones += u64::from(!was);
        was
    }

    pub(crate) fn has(&self, at: u32) -> bool {
        let (page, byte, mask) = place(at);
        self.pages.get(page).and_then(Option::as_ref).is_some_and(|page| page[byte] & mask != 0)
    }

    /// How many are ones.
    pub(crate) fn ones(&self) -> u64 {
        self.ones
    }
}

/// Page, byte of the page, and bit of the byte.
fn place(at: u32) -> (usize, usize, u8) {
    let byte = at as usize / 8;
    (byte / PAGE, byte % PAGE, 0x80 >> (at % 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_from_the_highest_of_the_first_byte() {
        let mut bits = Bits::of_bytes(b"a");
        assert_eq!(Vec::from_iter((0..9).map(|at| u8::from(bits.has(at)))), [0, 1, 1, 0, 0, 0, 0, 1, 0]);
        assert_eq!([bits.set(7), bits.set(8), bits.set(8)], [true, false, true]);
        assert_eq!((bits.ones(), &bits), (4, &Bits::of_bytes(b"a\x80")));
    }

    #[test]
    fn the_last_bit_of_all_takes_one_page() {
        let mut bits = Bits::default();
        assert!(!bits.set(u32::MAX) && bits.has(u32::MAX) && !bits.has(u32::MAX - 1));
        assert_eq!(bits.pages.iter().flatten().count(), 1);
        assert_eq!(bits.ones(), 1);
    }
}
