//! The operations of the library over handles: what a binding calls, once it has its arguments.
//!
//! Each is an `async fn` that owns its arguments, so that it can be waited for ([`State::wait`]) or submitted to a port
//! ([`State::submit`]). Looking a handle up is part of the operation.

mod args;
mod client;
mod held;
mod limiter;
mod lock;
mod snowflake;
mod stats;

use libdlock::lease::LossReason;
pub use libdlock::lock::Inspection;

pub use self::args::given;
pub use self::client::{LogTo, client_abandon, client_close, client_is_closed, client_open};
#[cfg(test)]
pub(crate) use self::held::keep;
pub use self::held::{
    Held, Holding, held_detach, held_extend, held_hold_count, held_loss, held_owner, held_reenter, held_release,
    held_remaining, held_token, held_valid, held_wait_lost,
};
pub use self::limiter::{
    Decision, RateArgs, absent, limiter_acquire, limiter_key, limiter_name, limiter_open, limiter_reset,
};
pub use self::lock::{
    lock_acquire, lock_attach, lock_check_wait, lock_detach, lock_extend, lock_force_release, lock_held,
    lock_hold_count, lock_inspect, lock_leave, lock_name, lock_open, lock_reenter, lock_release,
};
pub use self::snowflake::{
    SnowflakeArgs, id_encode, id_parse, layout, layout_named, snowflake_decode, snowflake_fill, snowflake_layout,
    snowflake_next_id, snowflake_next_ids, snowflake_open,
};
pub use self::stats::{Histogram, client_stats, counters, histograms};
use crate::handle::Handle;
use crate::state::State;

/// What a finished operation brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing but that it is done.
    Unit,
    /// Yes or no.
    Bool(bool),
    /// A hold.
    Held(Held),
    /// A text: the string of a detached hold.
    Text(String),
    /// Why a hold was lost; none when it was released.
    Loss(Option<LossReason>),
    /// What the server says about a lock.
    Inspection(Inspection),
    /// A limiter's answer.
    Decision(Decision),
    /// A new object.
    Handle(Handle),
}

/// Lets go of an outcome that reaches nobody, in the background.
pub(crate) fn undo(state: &'static State, outcome: &Outcome) {
    match outcome {
        Outcome::Held(Held { handle, .. }) | Outcome::Handle(handle) => state.undo(*handle),
        Outcome::Unit
        | Outcome::Bool(_)
        | Outcome::Text(_)
        | Outcome::Loss(_)
        | Outcome::Inspection(_)
        | Outcome::Decision(_) => {}
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
    bool => Outcome::Bool;
    Held => Outcome::Held;
    String => Outcome::Text;
    Option<LossReason> => Outcome::Loss;
    Inspection => Outcome::Inspection;
    Decision => Outcome::Decision;
    Handle => Outcome::Handle;
}
