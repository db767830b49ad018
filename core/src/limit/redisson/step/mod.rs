//! The state of a limiter of Redisson on the server, and its transitions, one file each.

mod acquire;
mod reset;
mod state;

pub(crate) use acquire::{Acquire, Judged, Verdict};
pub(crate) use reset::Reset;
#[cfg(test)]
pub(crate) use state::Bucket;
pub(crate) use state::RedissonState;

use crate::name::ObjectName;
use crate::step::Call;

/// What stands behind the name in the keys of the available permits, and of the log.
const VALUE: &str = "value";
const PERMITS: &str = "permits";

/// The keys of all clients together and those of this one. Which of them count stands in the hash.
fn add_keys(name: &ObjectName, client: &str, call: &mut Call) {
    call.keys.push(name.as_str());
    for client in [None, Some(client)] {
        for what in [VALUE, PERMITS] {
            let behind = client.map_or(["", ""], |client| [":", client]);
            call.keys.join(name.suffixed_parts(what).into_iter().chain(behind));
        }
    }
}
