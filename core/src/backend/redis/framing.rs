//! Where a reply ends, and that it ends in time: a bound on what one reply may take.
//!
//! The parser buffers a reply until it is complete and believes every length that a server declares. This reads the same bytes
//! first, keeps nothing of them, and refuses the reply as soon as it declares or is more than [`LONGEST_REPLY`].

use std::fmt;
use std::io;

/// The longest reply or message in bytes, framing included. The longest that libdlock asks for is that of a take of jobs: up to
/// 1 MiB of payload, and one job more of up to 2 MiB.
pub(super) const LONGEST_REPLY: usize = 4 << 20;

/// The most values in one reply, nested ones and those that were only announced included: the parser reserves room for them.
const MOST_VALUES: usize = 1 << 16;

/// How deep arrays, maps and the like may be nested. A script's reply has 2 levels, `HELLO`'s has 4.
const DEEPEST: usize = 16;

/// Why a connection cannot be used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Absurd {
    /// A reply is longer, has more values or is nested deeper than any that libdlock asks for.
    TooLong,
    /// The bytes are no reply.
    Garbled,
    /// They are a message of TLS.
    Encrypted,
}

impl Absurd {
    /// What the server did, to stand behind its name.
    pub(super) fn how(self) -> &'static str {
        match self {
            Absurd::TooLong => {
                "sent a reply that is longer than 4 MiB or nested too deeply; the connection was dropped. \
                 Check what listens there, and whether the key of this name holds something absurd"
            }
            Absurd::Garbled => "answered something that is no Redis reply",
            Absurd::Encrypted => "answered in TLS; use rediss:// (or valkeys://) for it",
        }
    }
}

impl fmt::Display for Absurd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.how())
    }
}

impl std::error::Error for Absurd {}

impl From<Absurd> for io::Error {
    fn from(absurd: Absurd) -> io::Error {
        // A kind that the redis crate takes for the end of the connection.
        io::Error::new(io::ErrorKind::ConnectionAborted, absurd)
    }
}

/// Follows the framing of RESP2 and RESP3 over any split of the bytes.
#[derive(Debug, Default)]
pub(super) struct Framing {
    at: At,
    /// Bytes of the present reply so far.
    bytes: usize,
    /// Values of the present reply, begun or announced.
    values: usize,
    /// How many values each open aggregate still lacks, the outermost first.
    open: [usize; DEEPEST],
    depth: usize,
}

#[derive(Clone, Copy, Debug, Default)]
enum At {
    /// Before a value.
    #[default]
    Kind,
    /// In the line that begins a value.
    Line { kind: u8, number: Number, cr: bool },
    /// In a bulk of which so much is left, CR and LF included.
    Bulk(usize),
}

/// A decimal number as it is read.
#[derive(Clone, Copy, Debug, Default)]
struct Number {
    digits: u64,
    length: u8,
    negative: bool,
}

impl Framing {
    /// Reads on. After an error the connection has to be dropped.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) -> Result<(), Absurd> {
        while let Some(&first) = bytes.first() {
            // Nearly every line comes in one piece.
            if let At::Kind = self.at
                && let Some(end) = bytes.iter().position(|byte| *byte == b'\r')
                && bytes.get(end + 1) == Some(&b'\n')
            {
                self.begin_value(first)?;
                let mut number = Number::default();
                number.read(first, &bytes[1..end])?;
                self.took(end + 2)?;
                bytes = &bytes[end + 2..];
                self.line_ends(first, number)?;
                continue;
            }
            let taken = match self.at {
                At::Kind => self.begin_value(first)?,
                At::Line { kind, number, cr: true } if first == b'\n' => {
                    self.bytes += 1;
                    bytes = &bytes[1..];
                    self.line_ends(kind, number)?;
                    continue;
                }
                At::Line { kind, mut number, .. } => {
                    let end = bytes.iter().position(|byte| *byte == b'\r');
                    let text = &bytes[..end.unwrap_or(bytes.len())];
                    number.read(kind, text)?;
                    self.at = At::Line { kind, number, cr: end.is_some() };
                    text.len() + usize::from(end.is_some())
                }
                At::Bulk(left) if left <= bytes.len() => {
                    self.bytes += left;
                    bytes = &bytes[left..];
                    self.value_ends();
                    continue;
                }
                At::Bulk(left) => {
                    self.at = At::Bulk(left - bytes.len());
                    bytes.len()
                }
            };
            self.took(taken)?;
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    /// So many more bytes belong to the present reply.
    fn took(&mut self, bytes: usize) -> Result<(), Absurd> {
        self.bytes += bytes;
        if self.bytes > LONGEST_REPLY { Err(Absurd::TooLong) } else { Ok(()) }
    }

    /// The first byte of a value says what it is.
    fn begin_value(&mut self, kind: u8) -> Result<usize, Absurd> {
        match kind {
            b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' => {}
            kind if has_length(kind) => {}
            // An alert, which is how TLS answers a request without it, or a handshake.
            0x15 | 0x16 if self.depth == 0 => return Err(Absurd::Encrypted),
            _ => return Err(Absurd::Garbled),
        }
        self.at = At::Line { kind, number: Number::default(), cr: false };
        Ok(1)
    }

    fn line_ends(&mut self, kind: u8, number: Number) -> Result<(), Absurd> {
        if !has_length(kind) {
            self.value_ends();
            return Ok(());
        }
        if number.length == 0 {
            return Err(Absurd::Garbled);
        }
        if number.negative {
            // The nil of RESP2. The parser reads a negative length of anything else as a huge one.
            if !matches!(kind, b'$' | b'*') {
                return Err(Absurd::Garbled);
            }
            self.value_ends();
            return Ok(());
        }
        let length = usize::try_from(number.digits).map_err(|_| Absurd::TooLong)?;
        match kind {
            b'$' | b'!' | b'=' => {
                if length > LONGEST_REPLY - self.bytes.min(LONGEST_REPLY) {
                    return Err(Absurd::TooLong);
                }
                self.at = At::Bulk(length + 2);
            }
            _ => {
                if length > MOST_VALUES {
                    return Err(Absurd::TooLong);
                }
                let items = match kind {
                    b'%' => 2 * length,
                    // The attributes, and the value that they belong to.
                    b'|' => 2 * length + 1,
                    _ => length,
                };
                self.begin(items)?;
            }
        }
        Ok(())
    }

    /// An aggregate of so many values begins.
    fn begin(&mut self, items: usize) -> Result<(), Absurd> {
        if items == 0 {
            self.value_ends();
            return Ok(());
        }
        self.values += items;
        if self.values > MOST_VALUES || self.depth == DEEPEST {
            return Err(Absurd::TooLong);
        }
        self.open[self.depth] = items;
        self.depth += 1;
        self.at = At::Kind;
        Ok(())
    }

    fn value_ends(&mut self) {
        self.at = At::Kind;
        while self.depth > 0 {
            let lacks = &mut self.open[self.depth - 1];
            *lacks -= 1;
            if *lacks > 0 {
                return;
            }
            self.depth -= 1;
        }
        (self.bytes, self.values) = (0, 0);
    }
}

/// Whether the line of such a value is a length.
fn has_length(kind: u8) -> bool {
    matches!(kind, b'$' | b'*' | b'!' | b'=' | b'%' | b'~' | b'>' | b'|')
}

impl Number {
    /// Reads on in the line of a value of this kind, if that is a length.
    fn read(&mut self, kind: u8, text: &[u8]) -> Result<(), Absurd> {
        if has_length(kind) { text.iter().try_for_each(|byte| self.push(*byte)) } else { Ok(()) }
    }

    fn push(&mut self, byte: u8) -> Result<(), Absurd> {
        match byte {
            b'-' if self.length == 0 && !self.negative => self.negative = true,
            // 19 digits fit into 64 bits.
            b'0'..=b'9' if self.length < 19 => {
                self.digits = self.digits * 10 + u64::from(byte - b'0');
                self.length += 1;
            }
            b'0'..=b'9' => return Err(Absurd::TooLong),
            _ => return Err(Absurd::Garbled),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fed(bytes: &[u8], piece: usize) -> Result<Framing, Absurd> {
        let mut framing = Framing::default();
        bytes.chunks(piece).try_for_each(|piece| framing.feed(piece)).map(|()| framing)
    }

    fn is_between_replies(framing: &Framing) -> bool {
        matches!(framing.at, At::Kind) && framing.depth == 0 && framing.bytes == 0 && framing.values == 0
    }

    /// Every kind of reply that the parser reads, one after the other.
    const REPLIES: &[&str] = &[
        "+OK\r\n",
        "+a\rb\nc\r\n",
        "-ERR no\r\n",
        ":-12\r\n",
        "$0\r\n\r\n",
        "$5\r\na\r\nb\n\r\n",
        "$-1\r\n",
        "*-1\r\n",
        "*0\r\n",
        "*3\r\n:1\r\n*1\r\n$1\r\nx\r\n_\r\n",
        "%1\r\n+k\r\n#t\r\n",
        "~2\r\n,1.5\r\n(123456789012345678901234567890\r\n",
        "|1\r\n+ttl\r\n:3\r\n*1\r\n:1\r\n",
        "!5\r\nERR x\r\n",
        "=5\r\ntxt:y\r\n",
        ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n",
    ];

    #[test]
    fn every_reply_ends_where_the_parser_ends_it() {
        for reply in REPLIES {
            redis::parse_redis_value(reply.as_bytes()).unwrap_or_else(|error| panic!("{reply:?}: {error}"));
            for end in 1..reply.len() {
                let cut = fed(&reply.as_bytes()[..end], 1).unwrap();
                assert!(!is_between_replies(&cut), "{:?} is no whole reply", &reply[..end]);
            }
            assert!(is_between_replies(&fed(reply.as_bytes(), reply.len()).unwrap()), "{reply:?}");
        }
    }

    #[test]
    fn absurd_replies_are_refused_at_their_first_bytes() {
        use Absurd::{Encrypted, Garbled, TooLong};
        for (reply, expected) in [
            ("$9223372036854775807\r\n", TooLong),
            ("$18446744073709551617\r\n", TooLong),
            ("$4194304\r\n", TooLong),
            ("=4194305\r\n", TooLong),
            ("*9223372036854775807\r\n", TooLong),
            ("*65537\r\n", TooLong),
            ("%40000\r\n", TooLong),
            ("*40000\r\n*40000\r\n", TooLong),
            ("|9223372036854775807\r\n", TooLong),
            ("%-1\r\n", Garbled),
            ("!-1\r\n", Garbled),
            ("*\r\n", Garbled),
            ("$-\r\n", Garbled),
            ("$5x\r\n", Garbled),
            ("HTTP/1.1 400 Bad Request\r\n", Garbled),
            ("\u{15}\u{3}\u{1}\0\u{2}\u{2}F", Encrypted),
            ("*1\r\n\u{15}\u{3}", Garbled),
        ] {
            assert_eq!(fed(reply.as_bytes(), 3).unwrap_err(), expected, "{reply}");
        }
        assert_eq!(fed(&b"*1\r\n".repeat(DEEPEST + 1), 7).unwrap_err(), TooLong);
        assert!(fed(&b"*1\r\n".repeat(DEEPEST), 7).is_ok());
    }

    #[test]
    fn a_reply_that_never_ends_is_refused_at_one_mebibyte() {
        for start in ["+", "-", ":1", "*2\r\n+"] {
            let mut framing = Framing::default();
            framing.feed(start.as_bytes()).unwrap();
            let mut fed = start.len();
            let refused = loop {
                match framing.feed(&[b'1'; 1024]) {
                    Ok(()) => fed += 1024,
                    Err(absurd) => break absurd,
                }
            };
            assert_eq!(refused, Absurd::TooLong);
            assert!((LONGEST_REPLY - 1024..=LONGEST_REPLY).contains(&fed), "after {fed} bytes");
        }
    }

    #[test]
    fn the_longest_reply_passes_and_the_next_starts_from_zero() {
        let bulk = LONGEST_REPLY - 16;
        let reply = [format!("${bulk}\r\n").into_bytes(), vec![b'x'; bulk], b"\r\n".to_vec()].concat();
        let mut framing = Framing::default();
        for _ in 0..3 {
            framing.feed(&reply).unwrap();
            assert!(is_between_replies(&framing));
        }
    }

    proptest! {
        #[test]
        fn replies_pass_however_they_are_cut(
            picks in proptest::collection::vec(0..REPLIES.len(), 1..20),
            piece in 1..40usize,
        ) {
            let stream: String = picks.iter().map(|pick| REPLIES[*pick]).collect();
            prop_assert!(is_between_replies(&fed(stream.as_bytes(), piece).unwrap()));
        }

        #[test]
        fn whatever_comes_it_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), piece in 1..9usize) {
            let _ = fed(&bytes, piece);
        }
    }
}
