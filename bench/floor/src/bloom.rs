//! Batches of a Bloom filter, one after the other, over one socket: random bits, since what an item costs to hash is the library's.

use std::io;

use crate::Work;
use crate::resp::Connection;

/// So many items in a batch, in every language.
const BATCH: usize = 1000;

/// Of a filter for 10,000,000 items at 1 %: its bits, and how many of them an item has.
const SIZE: u64 = 95_850_583;
const HASHES: usize = 7;

const ADD: &str = concat!(
    include_str!("../../../core/src/bloom/step/config.lua"),
    include_str!("../../../core/src/bloom/step/add.lua")
);
const CONTAINS: &str = concat!(
    include_str!("../../../core/src/bloom/step/config.lua"),
    include_str!("../../../core/src/bloom/step/contains.lua")
);

/// One caller, who adds new items, or looks for the same ones again.
pub struct Bloom {
    connection: Connection,
    script: String,
    adds: bool,
    random: u64,
    bits: Vec<String>,
}

impl Bloom {
    pub fn new(mut connection: Connection, adds: bool) -> io::Result<Bloom> {
        let (add, contains) = (connection.load(ADD)?, connection.load(CONTAINS)?);
        let mut bloom = Bloom { connection, script: add, adds, random: 15, bits: Vec::new() };
        bloom.choose();
        bloom.ask(true)?;
        if !adds {
            bloom.script = contains;
        }
        Ok(bloom)
    }

    /// Other items.
    fn choose(&mut self) {
        self.bits.clear();
        for _ in 0..BATCH * HASHES {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            self.bits.push((self.random % SIZE).to_string());
        }
    }

    fn ask(&mut self, adds: bool) -> io::Result<()> {
        let size = SIZE.to_string();
        let mut words = vec!["EVALSHA", &self.script, "2", "bench", "{bench}:config", &size, "7"];
        if adds {
            words.extend(["10000000", "0.01", "0"]);
        }
        words.extend(self.bits.iter().map(String::as_str));
        self.connection.push(&words);
        self.connection.flush()?;
        let answers = self.connection.text()?;
        if answers.len() == BATCH { Ok(()) } else { Err(io::Error::other(format!("answered {answers:?}"))) }
    }
}

impl Work for Bloom {
    fn round(&mut self) -> io::Result<usize> {
        if self.adds {
            self.choose();
        }
        self.ask(self.adds)?;
        Ok(BATCH)
    }
}
