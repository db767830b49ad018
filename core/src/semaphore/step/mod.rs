//! The semaphore's state on the server and its transitions, one file each.

mod acquire;
mod cancel;
mod inspect;
mod look;
mod release;
mod renew;
mod set_permits;
mod state;

pub(crate) use acquire::Acquire;
pub(crate) use cancel::Cancel;
pub(crate) use inspect::{Inspect, Inspected};
pub(crate) use look::Look;
pub(crate) use release::Release;
pub(crate) use renew::Renew;
pub(crate) use set_permits::SetPermits;
#[cfg(test)]
pub(crate) use state::Available;
pub(crate) use state::SemaphoreState;

use crate::contended::QueueNames;
use crate::name::ObjectName;
use crate::step::Call;

/// The keys of the queue.
pub(crate) const QUEUE: QueueNames =
    QueueNames::new("semaphore", "dlock_semaphore_queue", "dlock_semaphore_seen").with_wants();

/// The kind of channel where the number of available permits is announced (Redisson's RSemaphore and
/// RPermitExpirableSemaphore).
const CHANNEL: &str = "redisson_sc";

/// What follows the name in the key of the permits that are taken (RPermitExpirableSemaphore).
const TIMEOUT: &str = "timeout";

/// The most permits of one acquire: its ids count them in four hexadecimal digits, and a script must not hold the server up.
pub(crate) const MAX_ACQUIRED: u32 = 10_000;

/// What Redisson gives a permit without a lease as its expiry.
pub(crate) const NO_LEASE: u64 = 922_337_203_685_477;

/// Where the number of available permits is announced.
pub(crate) fn channel(name: &ObjectName) -> String {
    name.companion(CHANNEL)
}

/// The key of the permits that are taken.
#[cfg(test)]
pub(crate) fn taken_key(name: &ObjectName) -> String {
    name.suffixed_parts(TIMEOUT).concat()
}

/// Whose permits: one acquire of one client, and how many it takes. Written `<client>:<number>/<permits>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Taker<'a> {
    pub(crate) client: &'a str,
    pub(crate) permits: u32,
    /// What all ids of this acquire begin with: 72 bits of the hash of its owner.
    base: [u8; 12],
}

impl Taker<'_> {
    pub(crate) fn of(owner: &str) -> Taker<'_> {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let client = owner.rsplit_once(':').map_or("", |(client, _)| client);
        let permits = owner.rsplit_once('/').and_then(|(_, permits)| permits.parse().ok()).unwrap_or(1);
        let hash = sha1_smol::Sha1::from(owner).digest().bytes();
        let base = std::array::from_fn(|at| LETTERS[usize::from(hash[at] & 63)]);
        Taker { client, permits, base }
    }

    pub(crate) fn base(&self) -> &str {
        std::str::from_utf8(&self.base).unwrap_or_default()
    }

    /// The ids on the server, 16 bytes each.
    pub(crate) fn ids(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.permits).map(|at| self.id(at))
    }

    fn id(&self, at: u32) -> String {
        format!("{}{at:04x}", self.base())
    }
}

/// Adds L and P.
fn add_permit_keys(name: &ObjectName, call: &mut Call) {
    call.keys.push(name.as_str());
    call.keys.join(name.suffixed_parts(TIMEOUT));
}

/// Adds L, P, Q and S.
fn add_keys(name: &ObjectName, call: &mut Call) {
    add_permit_keys(name, call);
    QUEUE.add_keys(name, &mut call.keys);
}

/// A script with what it needs of the queue and the permits in front.
macro_rules! with_permits {
    ($file:literal) => {
        concat!(crate::contended::queue_lua!(), include_str!("permits.lua"), include_str!($file))
    };
}
use with_permits;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acquire_has_ids_of_16_bytes_that_no_other_has() {
        let (one, other) = (Taker::of("11111111-2222-8333-8444-555555555555:7/3"), Taker::of("x:8/1"));
        assert_eq!((one.client, one.permits, other.permits), ("11111111-2222-8333-8444-555555555555", 3, 1));
        let ids: Vec<String> = one.ids().chain(other.ids()).collect();
        assert!(ids.iter().all(|id| id.len() == 16));
        assert_eq!(ids.len(), 4);
        assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
        assert_eq!(one.ids().last().unwrap(), format!("{}0002", one.base()));
    }
}
