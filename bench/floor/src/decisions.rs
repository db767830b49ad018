//! Decisions of one rate limiter, for some callers that share a socket.

use std::io;

use crate::Work;
use crate::resp::Connection;

macro_rules! parts {
    ($($part:literal),+) => {
        concat!($(include_str!(concat!("../../../core/src/limit/step/", $part, ".lua"))),+)
    };
}

/// The parts in core's order, of GCRA alone.
const JUDGE: &str = parts!(
    "begin",
    "algorithm/gcra",
    "rated",
    "judge",
    "next",
    "charge",
    "algorithm/gcra_charge",
    "store",
    "algorithm/gcra_store",
    "set",
    "say"
);

/// 1,000,000 tokens a second, all of which may come at once: nobody is refused, and nobody would wait. As the arguments of the
/// script: one token, no wait, the algorithm; parts of a microsecond, what one token costs and how far ahead the bucket reaches, in
/// microseconds and parts.
const ONE: [&str; 8] = ["1", "0", "g", "1000000", "1", "0", "1000000", "0"];

/// Callers that share a socket and the limiter that all callers share.
pub struct Decisions {
    connection: Connection,
    script: String,
    callers: usize,
}

impl Decisions {
    /// That many callers.
    pub fn new(mut connection: Connection, callers: usize) -> io::Result<Decisions> {
        let script = connection.load(JUDGE)?;
        Ok(Decisions { connection, script, callers })
    }
}

impl Work for Decisions {
    fn round(&mut self) -> io::Result<usize> {
        let mut words = vec!["EVALSHA", &self.script, "1", "dlock_limit:{bench}"];
        words.extend(ONE);
        for _ in 0..self.callers {
            self.connection.push(&words);
        }
        self.connection.flush()?;
        for _ in 0..self.callers {
            match self.connection.integers()?[..] {
                [1, _now, _at, _which, _tat, _part, _] => {}
                ref reply => return Err(io::Error::other(format!("refused: {reply:?}"))),
            }
        }
        Ok(self.callers)
    }
}
