//! Object names: which are allowed, and the keys that stand beside them on the server.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};

/// The longest name in bytes, key prefix included.
pub const MAX_NAME_BYTES: usize = 512;

/// An object's name as it stands on the server, checked. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ObjectName {
    full: Arc<str>,
    /// Where what the user gave begins, behind the key prefix.
    given_at: usize,
}

impl ObjectName {
    /// Puts `prefix` before `name` (Redisson's NameMapper) and checks the result.
    ///
    /// One rule in every mode, so that a name that works on one server also works in a cluster: the name and its
    /// companion keys must hash to the same slot.
    pub(crate) fn new(prefix: &str, name: &str) -> Result<ObjectName> {
        let refuse = |what: &str, allowed: &str| {
            Err(Error::refused(ErrorKind::InvalidName, "check name", what, allowed).on(&shorten(name)))
        };
        let any = || format!("1 to {MAX_NAME_BYTES} bytes of UTF-8 without NUL, key prefix included");
        if name.is_empty() {
            return refuse("the name is empty", &any());
        }
        let raw = format!("{prefix}{name}");
        if raw.len() > MAX_NAME_BYTES {
            return refuse(&format!("the name is {} bytes long, key prefix included", raw.len()), &any());
        }
        if let Some(at) = raw.find('\0') {
            return refuse(&format!("the name holds a NUL at byte {at}"), &any());
        }
        if is_companion(&raw) {
            return refuse(
                "the name is a companion key of another object: `dlock_KIND:{NAME}` and `redisson_KIND:{NAME}` are kept for \
                 those",
                "names that do not begin so, such as `NAME:KIND`",
            );
        }
        let name = ObjectName { full: raw.into(), given_at: prefix.len() };
        if hash_tag(&name.companion("p")) != hash_tag(&name.full) {
            return refuse(
                "the braces in the name form no usable hash tag, so its companion keys would lie in another cluster slot",
                "no braces, or one tag that is not empty, such as `orders:{42}`",
            );
        }
        Ok(name)
    }

    /// The key on the server.
    pub(crate) fn as_str(&self) -> &str {
        &self.full
    }

    /// What the user gave, without the key prefix.
    pub(crate) fn as_given(&self) -> &str {
        &self.full[self.given_at..]
    }

    /// Redisson's rule for a helper key or channel: `kind:{name}`, or `kind:name` when the name brings its own braces.
    pub(crate) fn companion(&self, kind: &str) -> String {
        self.companion_parts(kind).concat()
    }

    /// The slot of a cluster in which it and its companions lie.
    pub(crate) fn slot(&self) -> u16 {
        slot_of(&self.full)
    }

    /// What [`ObjectName::companion`] is put together from.
    pub(crate) fn companion_parts<'a>(&'a self, kind: &'a str) -> [&'a str; 4] {
        let name = self.as_str();
        if name.contains('{') { [kind, ":", name, ""] } else { [kind, ":{", name, "}"] }
    }
}

impl ObjectName {
    /// Redisson's rule for a key that it puts behind the name: `{name}:what`, or `name:what` when the name brings its own
    /// braces.
    pub(crate) fn suffixed_parts<'a>(&'a self, what: &'a str) -> [&'a str; 4] {
        let name = self.as_str();
        if name.contains('{') { ["", name, ":", what] } else { ["{", name, "}:", what] }
    }
}

/// The key is what makes a name what it is, wherever its prefix ends: so it is found by the key alone.
impl Borrow<str> for ObjectName {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for ObjectName {
    fn eq(&self, other: &ObjectName) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for ObjectName {}

impl Hash for ObjectName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.full, f)
    }
}

/// Reads a name that a host language handed over as bytes.
///
/// # Errors
/// [`ErrorKind::InvalidName`] when the bytes are not UTF-8 (an encoded lone surrogate is not either).
pub fn name_from_utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let message =
            format!("the name is not UTF-8: byte {at} is {:#04x}; names are UTF-8 without lone surrogates", bytes[at]);
        Error::new(ErrorKind::InvalidName, "check name", message)
    })
}

/// Whether a key is one that this library or Redisson keeps beside another object: `kind:{name}`, or `kind:name` for a name
/// with braces of its own. The kinds are not listed, so that those of later versions are refused today.
fn is_companion(key: &str) -> bool {
    let is_kind = |kind: &str| {
        (kind.starts_with("dlock_") || kind.starts_with("redisson_"))
            && kind.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
    };
    let named = key.split_once(':').is_some_and(|(kind, name)| is_kind(kind) && name.contains('{'));
    // Redisson's read-write lock alone: `{name}:<owner>:rwlock_timeout:<n>`.
    named || key.contains(":rwlock_timeout:")
}

/// What Redis Cluster hashes: between the first `{` and the first `}` after it, unless that is empty; else everything.
fn hash_tag(key: &str) -> &str {
    let Some(open) = key.find('{') else { return key };
    match key[open + 1..].find('}') {
        Some(length) if length > 0 => &key[open + 1..open + 1 + length],
        _ => key,
    }
}

/// The slot of a cluster in which a key or channel of this name lies.
pub(crate) fn slot_of(key: &str) -> u16 {
    // CRC-16 as XMODEM has it: polynomial 0x1021, from 0, no bit reversed.
    const TABLE: [u16; 256] = {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            let (mut crc, mut bit) = ((byte as u16) << 8, 0);
            while bit < 8 {
                crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
                bit += 1;
            }
            table[byte] = crc;
            byte += 1;
        }
        table
    };
    let step = |crc: u16, byte: u8| (crc << 8) ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)];
    hash_tag(key).bytes().fold(0, step) % 16_384
}

/// Enough of a refused name to recognise it by.
fn shorten(name: &str) -> String {
    const SHOWN: usize = 60;
    if name.chars().count() <= SHOWN {
        name.to_owned()
    } else {
        name.chars().take(SHOWN).chain("...".chars()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    #[test]
    fn the_vectors_hold() {
        let vectors: serde_json::Value = serde_json::from_str(include_str!("../../tests/vectors/names.json")).unwrap();
        for row in vectors["names"].as_array().unwrap() {
            let raw = bytes(row["hex"].as_str().unwrap());
            let checked = name_from_utf8(&raw).and_then(|name| ObjectName::new("", name));
            assert_eq!(checked.is_ok(), row["ok"].as_bool().unwrap(), "{row}: {checked:?}");
            if let Err(error) = checked {
                assert_eq!(error.kind(), ErrorKind::InvalidName);
            }
        }
    }

    #[test]
    fn companions_follow_redissons_rule() {
        let plain = ObjectName::new("", "jobs").unwrap();
        assert_eq!(plain.companion("redisson_lock_token"), "redisson_lock_token:{jobs}");
        let tagged = ObjectName::new("", "a{b}c").unwrap();
        assert_eq!(tagged.companion("redisson_lock_token"), "redisson_lock_token:a{b}c");
    }

    /// The first is the check value of the checksum; CLUSTER KEYSLOT says the same of all of them.
    #[test]
    fn a_name_and_its_companions_lie_in_one_slot() {
        for (name, slot) in [("123456789", 12_739), ("foo", 12_182), ("{user1000}.following", 3_443), ("a{b}c", 3_300)]
        {
            let name = ObjectName::new("", name).unwrap();
            assert_eq!((name.slot(), slot_of(&name.companion("dlock_queue"))), (slot, slot), "{name:?}");
        }
    }

    #[test]
    fn the_prefix_counts_before_the_rule() {
        assert_eq!(ObjectName::new("app:", "jobs").unwrap().as_str(), "app:jobs");
        assert!(ObjectName::new("{", "jobs").is_err());
        assert!(ObjectName::new("{x}", "a{").is_ok());
        assert!(ObjectName::new("app:", "dlock_seen:{jobs}").is_ok());
        assert!(ObjectName::new("dlock_seen:", "{jobs}").is_err());
        assert!(ObjectName::new("p", &"n".repeat(512)).is_err());
    }
}
