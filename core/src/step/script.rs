//! Scripts and what they are called with.

use libdlock_fork::PerProcess;

/// Which messages of a server a client uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PubSub {
    /// Those that every server has: PUBLISH, which reaches all nodes of a cluster.
    #[default]
    Plain,
    /// Those of a cluster whose nodes know SPUBLISH: they reach the nodes of one slot.
    Sharded,
}

impl PubSub {
    /// What stands in front of each script.
    fn prelude(self) -> &'static str {
        match self {
            PubSub::Plain => "local PUBLISH = 'PUBLISH'\n",
            PubSub::Sharded => "local PUBLISH = 'SPUBLISH'\n",
        }
    }
}

/// A script: its text, from the `.lua` file beside the step, and its SHA-1, by which the server knows it.
pub(crate) struct Script {
    text: &'static str,
    /// In hexadecimal digits, by [`PubSub`]. Made without a lock: a process may fork while another thread makes them, and its
    /// child would wait for a thread that is not there.
    sha1: [PerProcess<[u8; 40]>; 2],
}

impl Script {
    pub(crate) const fn new(text: &'static str) -> Script {
        Script { text, sha1: [const { PerProcess::new() }; 2] }
    }

    /// As the server takes it, for EVAL: put together each time, because that is rare.
    pub(crate) fn text(&self, pubsub: PubSub) -> String {
        [pubsub.prelude(), self.text].concat()
    }

    pub(crate) fn sha1(&self, pubsub: PubSub) -> &str {
        let digits = self.sha1[pubsub as usize].get_or_init(|| {
            let mut digits = [0; 40];
            let digest = sha1_smol::Sha1::from(self.text(pubsub)).digest();
            for (two, byte) in digits.chunks_exact_mut(2).zip(digest.bytes()) {
                two.copy_from_slice(&[byte >> 4, byte & 0xf].map(|digit| b"0123456789abcdef"[usize::from(digit)]));
            }
            digits
        });
        std::str::from_utf8(digits).unwrap_or_default()
    }
}

/// Keys and arguments of one script call.
#[derive(Default, Debug)]
pub(crate) struct Call {
    pub(crate) keys: Words,
    pub(crate) args: Words,
}

/// Words end to end in one buffer: a request has a dozen, and an allocation for each would cost more than the rest of it. Any
/// bytes: most are text.
#[derive(Default, Debug)]
pub(crate) struct Words {
    text: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
}

impl Words {
    pub(crate) fn push(&mut self, word: &str) {
        self.join([word]);
    }

    /// One word, of parts.
    pub(crate) fn join<'a>(&mut self, parts: impl IntoIterator<Item = &'a str>) {
        if self.ends.is_empty() {
            // As much as any single step needs, as a rule.
            self.text.reserve(160);
            self.ends.reserve(8);
        }
        parts.into_iter().for_each(|part| self.text.extend_from_slice(part.as_bytes()));
        self.ends.push(self.text.len());
    }

    /// One word, of any bytes.
    pub(crate) fn bytes_of(&mut self, word: &[u8]) {
        self.text.extend_from_slice(word);
        self.ends.push(self.text.len());
    }

    /// A number, in decimal.
    pub(crate) fn number(&mut self, number: u64) {
        self.push(itoa::Buffer::new().format(number));
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// All of them together, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut from = 0;
        self.ends.iter().map(move |&end| &self.text[std::mem::replace(&mut from, end)..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_known_by_its_sha1_in_hexadecimal_digits() {
        // By `printf ... | sha1sum`.
        let script = Script::new("return 1");
        assert_eq!(script.sha1(PubSub::Plain), "2378b2e31e6aac2bbdd39ae944e44dcfc08f8455");
        assert_eq!(script.sha1(PubSub::Sharded), "a03ca69a1188899d96f68225ddfd90e0e9c1ed10");
    }

    #[test]
    fn words_come_out_as_they_went_in() {
        let mut words = Words::default();
        words.push("");
        words.join(["a", "", "bc"]);
        for number in [0, 9, 10, 4_294_967_296, u64::MAX] {
            words.number(number);
        }
        words.push("");
        let expected = ["", "abc", "0", "9", "10", "4294967296", "18446744073709551615", ""];
        assert_eq!(words.iter().collect::<Vec<_>>(), expected.map(str::as_bytes));
        assert_eq!((words.len(), words.bytes()), (8, expected.concat().len()));
    }
}
