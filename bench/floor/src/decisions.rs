//! Decisions of one rate limiter, for some callers that share a socket.

use std::io;

use crate::Work;
use crate::resp::Connection;

macro_rules! parts {
    ($($part:literal),+) => {
        concat!($(include_str!(concat!("../../../core/src/limit/step/", $part, ".lua"))),+)
    };
}

/// The parts in core's order.
const JUDGE: &str = parts!(
    "begin",
    "algorithm/gcra",
    "algorithm/window",
    "algorithm/counter",
    "algorithm/log",
    "rated",
    "judge",
    "next",
    "charge",
    "algorithm/gcra_charge",
    "algorithm/window_charge",
    "algorithm/counter_charge",
    "algorithm/log_charge",
    "store",
    "algorithm/gcra_store",
    "algorithm/window_store",
    "algorithm/counter_store",
    "algorithm/log_store",
    "set",
    "say"
);

/// As the arguments of the script: one token, no wait; the algorithm, by its letter, and its numbers. So many tokens a second that
/// nobody is refused.
fn one(algorithm: &str) -> io::Result<[&'static str; 8]> {
    Ok(match algorithm {
        // Parts of a microsecond; what a token costs and how far ahead the bucket reaches, in microseconds and parts.
        "gcra" => ["1", "0", "g", "1000000", "1", "0", "1000000", "0"],
        "fixed_window" => ["1", "0", "w", "1000000", "1000000", "0", "0", "0"],
        "aligned_window" => ["1", "0", "a", "1000000", "1000000", "0", "0", "0"],
        "sliding_counter" => ["1", "0", "c", "1000000", "1000000", "0", "0", "0"],
        "sliding_log" => ["1", "0", "l", "100000", "1000000", "0", "0", "0"],
        other => return Err(io::Error::other(format!("there is no algorithm {other:?}"))),
    })
}

/// Callers that share a socket and the limiter that all callers share.
pub struct Decisions {
    connection: Connection,
    script: String,
    callers: usize,
    words: [&'static str; 8],
}

impl Decisions {
    /// That many callers.
    pub fn new(mut connection: Connection, callers: usize, algorithm: &str) -> io::Result<Decisions> {
        let script = connection.load(JUDGE)?;
        Ok(Decisions { connection, script, callers, words: one(algorithm)? })
    }
}

impl Work for Decisions {
    fn round(&mut self) -> io::Result<usize> {
        let mut words = vec!["EVALSHA", &self.script, "1", "dlock_limit:{bench}"];
        words.extend(self.words);
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
