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
pub(crate) use release::Release;
pub(crate) use renew::Renew;
pub(crate) use set_permits::SetPermits;
pub(crate) use state::SemaphoreState;

use crate::contended::QueueNames;
use crate::contended::available::TIMEOUT;
pub(crate) use crate::contended::available::Taker;
use crate::name::ObjectName;
use crate::step::Call;

/// The keys of the queue.
pub(crate) const QUEUE: QueueNames =
    QueueNames::new("semaphore", "dlock_semaphore_queue", "dlock_semaphore_seen").with_wants();

/// The most permits of one acquire: its ids count them in four hexadecimal digits, and a script must not hold the server up.
pub(crate) const MAX_ACQUIRED: u32 = 10_000;

/// What Redisson gives a permit without a lease as its expiry.
pub(crate) const NO_LEASE: u64 = 922_337_203_685_477;

/// The key of the permits that are taken.
#[cfg(test)]
pub(crate) fn taken_key(name: &ObjectName) -> String {
    name.suffixed_parts(TIMEOUT).concat()
}

impl Taker<'_> {
    /// What all ids of this acquire begin with: 72 bits of the hash of its owner, in 12 characters.
    pub(crate) fn base(self) -> String {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let hash = sha1_smol::Sha1::from(self.owner).digest().bytes();
        hash[..12].iter().map(|byte| char::from(LETTERS[usize::from(byte & 63)])).collect()
    }

    /// The ids on the server, 16 bytes each.
    pub(crate) fn ids(self) -> impl Iterator<Item = String> {
        let base = self.base();
        (0..self.permits).map(move |at| format!("{base}{at:04x}"))
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
        concat!(
            crate::contended::available::available_lua!("semaphore"),
            include_str!("permits.lua"),
            include_str!($file)
        )
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
