//! The limiter's state on the server and its transitions, one file each.

mod fetch;
mod gcra;
mod give_back;
mod put_back;
mod reset;
mod scale;

use std::mem::swap;

pub(crate) use fetch::{Fetch, Fetched, Wanted};
pub(crate) use gcra::{Gcra, Judged};
pub(crate) use give_back::GiveBack;
pub(crate) use put_back::PutBack;
pub(crate) use reset::Reset;

use super::tat::{Span, Stored};
use crate::name::ObjectName;
use crate::step::{Expires, MainKey, SharedKeys, State, WrongType};
use crate::time::ServerTime;

/// The kind of key of a GCRA limiter: its theoretical arrival time.
const KIND: &str = "dlock_limit";

/// A script of these parts, what they share of the theoretical arrival time among them.
macro_rules! lua {
    ($($part:literal),+) => {
        concat!($(include_str!(concat!($part, ".lua"))),+)
    };
}
use lua;

/// The limiter's one key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LimitState {
    /// The theoretical arrival time.
    pub(crate) main: MainKey,
}

impl LimitState {
    fn stored(&self, unit: u64) -> Result<Option<Stored>, WrongType> {
        self.main.text()?.map(|text| Stored::parse(text, unit).ok_or(WrongType)).transpose()
    }

    /// Kept just long enough: a key that is gone means a full bucket, and so does an instant that has passed.
    fn store(&mut self, stored: Stored, unit: u64, now: ServerTime) {
        let ahead = stored.tat.us + u64::from(stored.tat.part > 0) - Span::at(now).us;
        let deadline = now.millis() + ahead.div_ceil(1_000) + 1;
        self.main = MainKey::of_text(stored.text(unit), Some(deadline));
    }
}

impl Expires for LimitState {
    fn expire(&mut self, now: ServerTime) -> bool {
        self.main.expire(now)
    }
}

impl State for LimitState {
    const ACCESS: &'static str = "~dlock_limit:* +eval +evalsha +time +ping +info +get +set +del +type";

    fn main_key(name: &ObjectName) -> String {
        name.companion(KIND)
    }

    fn exchange(&mut self, keys: &mut SharedKeys) {
        swap(&mut self.main, &mut keys.main);
    }
}
