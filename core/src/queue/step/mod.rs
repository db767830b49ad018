//! The delayed queue's state on the server and its transitions, one file each.

mod ack;
mod cancel;
mod inspect;
mod list;
mod look;
mod nack;
mod put;
mod remove;
mod renew;
mod requeue;
mod state;
mod take;

pub(crate) use ack::{Ack, AckMany};
pub(crate) use cancel::Cancel;
pub(crate) use inspect::{Inspect, Inspected};
pub(crate) use list::{List, Listed};
pub(crate) use nack::{Nack, Seen};
pub(crate) use put::{Due, JobSpec, Put, PutOnce, PutOutcome};
pub(crate) use remove::{Remove, Removed};
pub(crate) use renew::Renew;
pub(crate) use requeue::Requeue;
pub(crate) use state::QueueState;
#[cfg(test)]
pub(crate) use state::{Job, Ranked};
pub(crate) use take::Take;

use crate::contended::QueueNames;
use crate::name::ObjectName;
use crate::step::Call;

/// The keys of the waiters.
pub(crate) const QUEUE: QueueNames = QueueNames::new("queue", "dlock_queue_queue", "dlock_queue_seen").with_wants();

/// The kinds of the other keys: see `jobs.lua`.
pub(crate) const JOBS: &str = "dlock_queue_all";
pub(crate) const DONE: &str = "dlock_queue_done";
pub(crate) const DUE: &str = "dlock_queue_due";
pub(crate) const LEASES: &str = "dlock_queue_leases";
pub(crate) const HELD: &str = "dlock_queue_held";
pub(crate) const DEAD: &str = "dlock_queue_dead";
pub(crate) const LAST: &str = "dlock_queue_last";

/// The most deliveries that one script begins, and ends.
pub(crate) const MAX_TAKEN: usize = 100;

/// The client in an owner `<client>:<number>`.
fn client_of(owner: &str) -> &str {
    owner.rsplit_once(':').map_or("", |(client, _)| client)
}

/// Adds all keys, and the name.
fn add_keys(name: &ObjectName, call: &mut Call) {
    for kind in [JOBS, DONE, DUE, LEASES, HELD, DEAD, LAST] {
        call.keys.join(name.companion_parts(kind));
    }
    QUEUE.add_keys(name, &mut call.keys);
    call.args.push(name.as_str());
}

/// A script with what it needs of the waiters and the jobs in front.
macro_rules! with_jobs {
    ($($file:literal),+) => {
        concat!(
            $crate::contended::wants_lua!("queue"),
            include_str!("jobs.lua"),
            $(include_str!($file)),+
        )
    };
}
use with_jobs;
