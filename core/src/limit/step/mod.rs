//! The limiter's state on the server and its transitions, one file each.

mod gcra;
mod reset;

pub(crate) use gcra::{Gcra, Judged};
pub(crate) use reset::Reset;

use crate::backend::Cell;
use crate::name::ObjectName;
use crate::step::State;
use crate::time::ServerTime;

/// The kind of key of a GCRA limiter: its theoretical arrival time.
const KIND: &str = "dlock_limit";

/// The limiter's one key. The deadline is in ms of the server's clock; the key is gone when now > deadline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LimitState {
    pub(crate) tat: Option<String>,
    pub(crate) deadline: Option<u64>,
}

impl State for LimitState {
    const ACCESS: &'static str = "~dlock_limit:* +@read +@write +@scripting +time +ping";

    fn expire(&mut self, now: ServerTime) -> bool {
        if self.deadline.is_some_and(|deadline| now.millis() > deadline) {
            *self = LimitState::default();
        }
        self.tat.is_none()
    }

    fn main_key(name: &ObjectName) -> String {
        name.companion(KIND)
    }

    fn of(cell: &mut Cell) -> Option<&mut LimitState> {
        match cell {
            Cell::Limit(state) => Some(state),
            _ => None,
        }
    }

    fn into_cell(self) -> Cell {
        Cell::Limit(self)
    }
}
