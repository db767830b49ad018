//! The read-write lock's state on the server and its transitions, one file each.

mod acquire;
mod cancel;
mod force_release;
mod inspect;
mod look;
mod release;
mod renew;
mod state;

pub(crate) use acquire::Acquire;
pub(crate) use cancel::Cancel;
pub(crate) use force_release::ForceRelease;
pub(crate) use inspect::{Inspect, Inspected};
pub(crate) use release::Release;
pub(crate) use renew::Renew;
pub(crate) use state::RwLockState;

use super::Side;
use crate::contended::QueueNames;
use crate::name::ObjectName;
use crate::step::Call;

/// The keys of the queue.
pub(crate) const QUEUE: QueueNames = QueueNames::new("rw", "dlock_rw_queue", "dlock_rw_seen").with_wants();

/// The kind of channel where it is announced that the writer or the last reader has gone (Redisson's RReadWriteLock).
const CHANNEL: &str = "redisson_rwlock";

/// What a writer wants: more than readers come, each of which wants 1.
pub(crate) const ALL: u32 = 1_000_000_000;

/// What follows the owner in the field of a writer.
const WRITES: &str = ":write";

/// Where it is announced that the writer or the last reader has gone.
pub(crate) fn channel(name: &ObjectName) -> String {
    name.companion(CHANNEL)
}

/// The field of a hold: the owner that names the acquire, and for a writer what says so.
pub(crate) fn field_of(owner: String, side: Side) -> String {
    match side {
        Side::Read => owner,
        Side::Write => owner + WRITES,
    }
}

/// Which side a hold with this field is of.
pub(crate) fn side_of(field: &str) -> Side {
    if writes(field) { Side::Write } else { Side::Read }
}

fn writes(field: &str) -> bool {
    field.ends_with(WRITES)
}

/// The client of a field, which is `<client>:<n>` or `<client>:<n>:write`.
fn client_of(field: &str) -> &str {
    let owner = field.strip_suffix(WRITES).unwrap_or(field);
    owner.rsplit_once(':').map_or("", |(client, _)| client)
}

/// Adds Q and S.
fn add_queue_keys(name: &ObjectName, call: &mut Call) {
    QUEUE.add_keys(name, &mut call.keys);
}

/// What follows the name in a key that ends with the hold of `field`.
pub(crate) fn timeout_of(field: &str, n: u64) -> String {
    format!("{field}:rwlock_timeout:{n}")
}

/// Adds K, the key that ends with the hold of `field`.
fn add_timeout_key(name: &ObjectName, field: &str, call: &mut Call) {
    call.keys.join(name.suffixed_parts(&timeout_of(field, 1)));
}

/// A script with what it needs of the queue and the holds in front.
macro_rules! with_holds {
    ($file:literal) => {
        concat!(crate::contended::wants_lua!("rw"), include_str!("holds.lua"), include_str!($file))
    };
}
use with_holds;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_says_whose_it_is_and_of_which_side() {
        let client = "11111111-2222-8333-8444-555555555555";
        for side in [Side::Read, Side::Write] {
            let field = field_of(format!("{client}:7"), side);
            assert_eq!((client_of(&field), side_of(&field)), (client, side));
        }
        assert_eq!(field_of(format!("{client}:7"), Side::Write), format!("{client}:7:write"));
    }
}
