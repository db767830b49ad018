//! The state of a pool of worker numbers on the server, and its transitions, one file each.

mod acquire;
mod release;
mod renew;
mod state;

pub(crate) use acquire::{Acquire, Leased};
pub(crate) use release::Release;
pub(crate) use renew::Renew;
pub(crate) use state::WorkerState;

use crate::name::ObjectName;
use crate::step::Call;

/// The kind of key that says who has which number, and how far its time has come.
const POOL: &str = "dlock_id_pool";
/// The kind of key of the leases.
pub(super) const LEASES: &str = "dlock_id_leases";
/// The kind of key of the numbers that are free again.
pub(super) const FREE: &str = "dlock_id_free";

/// A script of this file, behind what all scripts of a pool have in front.
macro_rules! with_pool {
    ($file:literal) => {
        concat!(include_str!("pool.lua"), include_str!($file))
    };
}
use with_pool;

/// Adds the keys of a pool.
fn add_keys(name: &ObjectName, call: &mut Call) {
    [POOL, LEASES, FREE].iter().for_each(|kind| call.keys.join(name.companion_parts(kind)));
}
