//! A generator's state on the server and its one transition.

mod fetch;

use std::mem::swap;

pub(crate) use fetch::{Fetch, Fetched};

use crate::name::ObjectName;
use crate::step::keys::expire_text;
use crate::step::{Expires, MainKey, SharedKeys, State, Text, WrongType};
use crate::time::ServerTime;

/// What stands behind the name in the key of the size of blocks, as Redisson has it.
pub(crate) const ALLOCATION: &str = "allocation";

/// The keys of a generator. Only others give them an end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IdGeneratorState {
    /// The first id of the next block.
    pub(crate) main: MainKey,
    /// How many ids a block has.
    pub(crate) allocation: Option<Text>,
}

impl IdGeneratorState {
    /// The first id of the next block; `None` before the first.
    fn next(&self) -> Result<Option<i64>, WrongType> {
        self.main.text()?.map(number).transpose()
    }

    /// How many ids a block has; `None` when nobody has said so.
    fn block(&self) -> Result<Option<u64>, WrongType> {
        let block = self.allocation.as_ref().map(|key| number(&key.value)).transpose()?;
        block.map(|block| u64::try_from(block).ok().filter(|block| *block > 0).ok_or(WrongType)).transpose()
    }
}

/// As Redis writes numbers: not +7, 007 or -0.
fn number(text: &str) -> Result<i64, WrongType> {
    text.parse::<i64>().ok().filter(|number| number.to_string() == text).ok_or(WrongType)
}

impl Expires for IdGeneratorState {
    fn expire(&mut self, now: ServerTime) -> bool {
        self.main.expire(now) & expire_text(&mut self.allocation, now)
    }
}

impl State for IdGeneratorState {
    const ACCESS: &'static str = "~<name> ~*:allocation +eval +evalsha +time +ping +info +get +set +del +incrby";

    fn main_key(name: &ObjectName) -> String {
        name.as_str().to_owned()
    }

    fn exchange(&mut self, keys: &mut SharedKeys) {
        swap(&mut self.main, &mut keys.main);
    }
}
