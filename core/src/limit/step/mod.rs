//! The limiter's state on the server and its transitions, one file each.

mod gcra;
mod give_back;
mod reset;
mod scale;

pub(crate) use gcra::{Gcra, Judged};
pub(crate) use give_back::GiveBack;
pub(crate) use reset::Reset;

use super::tat::{Span, Stored};
use crate::name::ObjectName;
use crate::step::{Expires, State, WrongType};
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

/// The limiter's one key. The deadline is in ms of the server's clock; the key is gone when now > deadline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LimitState {
    pub(crate) tat: Option<String>,
    pub(crate) deadline: Option<u64>,
}

impl LimitState {
    fn stored(&self, unit: u64) -> Result<Option<Stored>, WrongType> {
        self.tat.as_ref().map(|text| Stored::parse(text, unit).ok_or(WrongType)).transpose()
    }

    /// Kept just long enough: a key that is gone means a full bucket, and so does an instant that has passed.
    fn store(&mut self, stored: Stored, unit: u64, now: ServerTime) {
        let ahead = stored.tat.us + u64::from(stored.tat.part > 0) - Span::at(now).us;
        self.deadline = Some(now.millis() + ahead.div_ceil(1_000) + 1);
        self.tat = Some(stored.text(unit));
    }
}

impl Expires for LimitState {
    fn expire(&mut self, now: ServerTime) -> bool {
        if self.deadline.is_some_and(|deadline| now.millis() > deadline) {
            *self = LimitState::default();
        }
        self.tat.is_none()
    }
}

impl State for LimitState {
    const ACCESS: &'static str = "~dlock_limit:* +eval +evalsha +time +ping +info +get +set +del +type";

    fn main_key(name: &ObjectName) -> String {
        name.companion(KIND)
    }
}
