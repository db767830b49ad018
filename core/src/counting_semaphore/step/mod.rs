//! The counting semaphore's state on the server and its transitions, one file each.

mod acquire;
mod add;
mod cancel;
mod drain;
mod inspect;
mod look;
mod set_permits;
mod state;
mod undo;

pub(crate) use acquire::Acquire;
pub(crate) use add::{Add, Added};
pub(crate) use cancel::Cancel;
pub(crate) use drain::Drain;
pub(crate) use inspect::{Inspect, Inspected};
pub(crate) use set_permits::SetPermits;
pub(crate) use state::CountingState;
pub(crate) use undo::Undo;

use crate::contended::QueueNames;
use crate::contended::available::TIMEOUT;
use crate::name::ObjectName;
use crate::step::{Call, Remembered};

/// The keys of the queue.
pub(crate) const QUEUE: QueueNames =
    QueueNames::new("counting", "dlock_counting_queue", "dlock_counting_seen").with_wants();

/// The kind of key of the requests that were carried out.
pub(crate) const DONE: &str = "dlock_counting_done";

/// The key of permits that are taken under leases.
#[cfg(test)]
pub(crate) fn leased_key(name: &ObjectName) -> String {
    name.suffixed_parts(TIMEOUT).concat()
}

/// Adds L, D, T, Q and S.
fn add_keys(name: &ObjectName, call: &mut Call) {
    Remembered::add_keys(name, DONE, call);
    call.keys.join(name.suffixed_parts(TIMEOUT));
    QUEUE.add_keys(name, &mut call.keys);
}

/// A script with what it needs of the queue, the permits and the requests that were carried out in front.
macro_rules! with_counting {
    ($file:literal) => {
        concat!(
            crate::contended::available::available_lua!("counting"),
            crate::step::once_lua!(),
            include_str!("counting.lua"),
            include_str!($file)
        )
    };
}
use with_counting;
