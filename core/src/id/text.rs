//! Ids as text, in the bases that people use for them.
//!
//! The digits of each base are in the order of ASCII, so that texts of one length sort as their ids do.

use super::layout::refuse;
use crate::error::{Error, Result};

struct Base {
    base: u32,
    digits: &'static [u8],
    /// Whether the other case of a letter is the same digit.
    any_case: bool,
    /// Characters that are read as a digit that they look like.
    alike: &'static [(u8, u8)],
    /// Digits of the largest id.
    longest: usize,
}

const BASES: [Base; 5] = [
    Base { base: 10, digits: b"0123456789", any_case: false, alike: &[], longest: 19 },
    // Crockford's: for people to read out and type in.
    Base {
        base: 32,
        digits: b"0123456789ABCDEFGHJKMNPQRSTVWXYZ",
        any_case: true,
        alike: &[(b'I', b'1'), (b'L', b'1'), (b'O', b'0')],
        longest: 13,
    },
    Base { base: 36, digits: b"0123456789abcdefghijklmnopqrstuvwxyz", any_case: true, alike: &[], longest: 13 },
    // Bitcoin's: no 0, O, I, l.
    Base {
        base: 58,
        digits: b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
        any_case: false,
        alike: &[],
        longest: 11,
    },
    Base {
        base: 62,
        digits: b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        any_case: false,
        alike: &[],
        longest: 11,
    },
];

/// `id` in base 10, 32 (Crockford's digits, upper case), 36 (lower case), 58 (Bitcoin's digits) or 62 (`0-9A-Za-z`), without
/// leading zeros: at most 19, 13, 13, 11 and 11 characters.
///
/// # Errors
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for another base, or a negative id.
///
/// ```
/// assert_eq!(libdlock::id::encode(1_795_200, 62)?, "7X0q");
/// # Ok::<(), libdlock::Error>(())
/// ```
pub fn encode(id: i64, base: u32) -> Result<String> {
    let base = Base::find(base, "encode")?;
    let mut rest =
        u64::try_from(id).map_err(|_| refuse("encode", format!("the id is {id}"), format!("0 to {}", i64::MAX)))?;
    let radix = u64::from(base.base);
    let mut text = Vec::with_capacity(base.longest);
    loop {
        text.push(base.digits[(rest % radix) as usize] as char);
        rest /= radix;
        if rest == 0 {
            return Ok(text.into_iter().rev().collect());
        }
    }
}

/// The id that `text` says in `base`: the inverse of [`encode`]. Leading zeros up to the length of the largest id are
/// allowed. In base 32 and 36 either case is, and in base 32 `I`, `L` and `O` are read as 1, 1 and 0.
///
/// # Errors
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for another base, and for a text that is empty, too long, has
/// another character, or says more than the largest id.
///
/// ```
/// use libdlock::id::{encode, parse};
///
/// assert_eq!(parse(&encode(1_795_200, 58)?, 58)?, 1_795_200);
/// # Ok::<(), libdlock::Error>(())
/// ```
pub fn parse(text: &str, base: u32) -> Result<i64> {
    let base = Base::find(base, "parse")?;
    if text.is_empty() || text.len() > base.longest {
        return Err(base.no_id(text, format!("it has {} bytes", text.len())));
    }
    let mut id = 0_i64;
    for (at, byte) in text.bytes().enumerate() {
        let Some(digit) = base.digit(byte) else {
            return Err(base.no_id(text, format!("byte {at} is no digit of it")));
        };
        id = id
            .checked_mul(i64::from(base.base))
            .and_then(|id| id.checked_add(digit))
            .ok_or_else(|| base.no_id(text, format!("it says more than {}, the largest id", i64::MAX)))?;
    }
    Ok(id)
}

impl Base {
    fn find(base: u32, op: &'static str) -> Result<&'static Base> {
        BASES.iter().find(|known| known.base == base).ok_or_else(|| {
            let known = BASES.map(|known| known.base.to_string()).join(", ");
            refuse(op, format!("the base is {base}"), known)
        })
    }

    fn digit(&self, byte: u8) -> Option<i64> {
        let same = |digit: u8| digit == byte || self.any_case && digit.eq_ignore_ascii_case(&byte);
        let meant = self.alike.iter().find(|(alike, _)| same(*alike)).map_or(byte, |(_, digit)| *digit);
        let place =
            self.digits.iter().position(|digit| *digit == meant || self.any_case && digit.eq_ignore_ascii_case(&meant));
        place.map(|place| place as i64)
    }

    fn no_id(&self, text: &str, why: String) -> Error {
        // Enough to recognise it by.
        let shown: String = text.chars().take(24).collect();
        let allowed = format!("1 to {} digits of base {}, at most {}", self.longest, self.base, i64::MAX);
        refuse("parse", format!("{shown:?} is no id in base {}: {why}", self.base), allowed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::ErrorKind;
    use crate::id::tests::{number, vectors};

    #[test]
    fn texts_are_those_of_every_language_both_ways() {
        for row in vectors("text") {
            for base in BASES {
                let text = row[format!("base{}", base.base)].as_str().unwrap();
                assert_eq!(encode(number(&row["id"]), base.base).unwrap(), text);
                assert_eq!(parse(text, base.base).unwrap(), number(&row["id"]), "{text}");
            }
        }
        for row in vectors("parse") {
            let (text, base) = (row["text"].as_str().unwrap(), row["base"].as_u64().unwrap() as u32);
            assert_eq!(parse(text, base).unwrap(), number(&row["id"]), "{row}");
        }
    }

    #[test]
    fn a_bad_text_or_base_is_refused_by_name() {
        for row in vectors("parse_refused") {
            let (text, base) = (row["text"].as_str().unwrap(), row["base"].as_u64().unwrap() as u32);
            let error = parse(text, base).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{row}");
            assert!(error.message().contains(&base.to_string()), "{error}");
        }
        let error = parse(&"\u{1f512}".repeat(1_000), 62).unwrap_err();
        assert!(error.message().len() < 300, "{error}");
        assert!(encode(-1, 62).unwrap_err().message().contains("-1"));
        assert!(encode(1, 63).unwrap_err().message().contains("63"));
    }

    proptest! {
        #[test]
        fn texts_are_read_back_and_padded_ones_sort_as_their_ids(a in 0..=i64::MAX, b in 0..=i64::MAX) {
            for base in BASES {
                let zero = base.digits[0] as char;
                let padded = |id| {
                    let text = encode(id, base.base).unwrap();
                    let zeros: String = std::iter::repeat_n(zero, base.longest - text.len()).collect();
                    zeros + &text
                };
                prop_assert_eq!(parse(&padded(a), base.base).unwrap(), a);
                prop_assert_eq!(padded(a).cmp(&padded(b)), a.cmp(&b));
            }
        }

        #[test]
        fn no_text_whatever_panics(text in ".{0,20}", base in 0_u32..70) {
            if let Ok(id) = parse(&text, base) {
                prop_assert!(id >= 0);
            }
        }
    }
}
