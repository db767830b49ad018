//! The kinds whose objects a thread finds without the table's lock when it used them last; see `near.rs`.

use std::sync::Arc;
use std::thread::LocalKey;

use libdlock::Result;

use crate::handle::Handle;
use crate::kinds::Entry;
use crate::near::{Freed, Near};
use crate::objects::{LimiterEntry, LockEntry, SnowflakeEntry};
use crate::state::State;

/// An object that has short calls.
pub(crate) trait Nearby: Entry {
    fn freed_flag(&self) -> &Freed;

    /// The one that each thread used last.
    fn near() -> &'static LocalKey<Near<Self>>;
}

macro_rules! nearby {
    ($entry:ty) => {
        impl Nearby for $entry {
            fn freed_flag(&self) -> &Freed {
                &self.freed
            }

            fn near() -> &'static LocalKey<Near<Self>> {
                thread_local! {
                    static NEAR: Near<$entry> = const { Near::new() };
                }
                &NEAR
            }
        }
    };
}

nearby!(LimiterEntry);
nearby!(LockEntry);
nearby!(SnowflakeEntry);

impl State {
    /// As [`State::get`], for calls that are over so soon that the table's lock would be most of them.
    #[inline]
    pub(crate) fn near<E: Nearby>(&self, handle: Handle, op: &'static str) -> Result<Arc<E>> {
        let find = || self.get(handle, op);
        let known = |near: &Near<E>| near.get(handle, self.life(), |entry| !entry.freed_flag().get(), find);
        // A thread that is ending has nothing near.
        E::near().try_with(known).unwrap_or_else(|_| find())
    }
}
