//! What operations bring: the answer of each, as a port carries it.

mod decision;
mod held;

use libdlock::lease::LossReason;
pub use libdlock::lock::Inspection;
pub use libdlock::semaphore::Inspection as SemaphoreInspection;

pub use self::decision::Decision;
pub use self::held::Held;
use crate::handle::Handle;

/// What a finished operation brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing but that it is done.
    Unit,
    // <api:scalars> written by `python3 api/write.py` from api/wire.json
    /// Yes or no.
    Bool(bool),
    /// A text: the string of a detached hold.
    Text(String),
    // </api:scalars>
    /// A hold.
    Held(Held),
    /// Why a hold was lost; none when it was released.
    Loss(Option<LossReason>),
    /// What the server says about a lock.
    Inspection(Inspection),
    /// What the server says about a semaphore.
    SemaphoreInspection(SemaphoreInspection),
    /// A limiter's answer.
    Decision(Decision),
    /// A new object.
    Handle(Handle),
}

impl Outcome {
    /// The handle that it brings, which has to be let go of when it reaches nobody.
    pub(crate) fn handle(&self) -> Option<Handle> {
        match self {
            Outcome::Held(Held { handle, .. }) | Outcome::Handle(handle) => Some(*handle),
            Outcome::Unit | Outcome::Loss(_) | Outcome::Decision(_) => None,
            Outcome::Inspection(_) | Outcome::SemaphoreInspection(_) => None,
            // <api:scalars-handle> written by `python3 api/write.py` from api/wire.json
            Outcome::Bool(_) => None,
            Outcome::Text(_) => None,
            // </api:scalars-handle>
        }
    }
}

/// What an operation answers with, as a port brings it.
macro_rules! outcomes {
    ($($answer:ty => $outcome:expr;)*) => {
        $(impl From<$answer> for Outcome {
            fn from(answer: $answer) -> Self {
                $outcome(answer)
            }
        })*
    };
}

outcomes! {
    () => |()| Outcome::Unit;
    // <api:scalars-from> written by `python3 api/write.py` from api/wire.json
    bool => Outcome::Bool;
    String => Outcome::Text;
    // </api:scalars-from>
    Held => Outcome::Held;
    Option<LossReason> => Outcome::Loss;
    Inspection => Outcome::Inspection;
    SemaphoreInspection => Outcome::SemaphoreInspection;
    Decision => Outcome::Decision;
    Handle => Outcome::Handle;
}
