//! How a port tells its host to come and drain. A port has one of three ways, chosen for what the host can wait on.

mod descriptor;

use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

pub(crate) use self::descriptor::Descriptor;
use crate::sync::lock;

/// Rung by the queue when it gets its first item, cleared when its last one is taken: at most one wake-up is under way.
pub(crate) enum Wake {
    /// A descriptor to poll: event loops (asyncio) and C.
    Descriptor(Descriptor),
    /// A thread of the host sleeps in the port: Java.
    Parked(Parked),
    /// A function that signals the host's loop: Node. It is called with the queue locked, by whatever thread completed an
    /// operation, so it may do nothing but signal.
    Calling(Box<dyn Fn() + Send + Sync>),
}

impl Wake {
    pub(crate) fn ring(&self) {
        match self {
            Self::Descriptor(descriptor) => descriptor.ring(),
            Self::Parked(parked) => parked.ring(),
            Self::Calling(call) => call(),
        }
    }

    pub(crate) fn clear(&self) {
        match self {
            Self::Descriptor(descriptor) => descriptor.clear(),
            Self::Parked(parked) => parked.clear(),
            // A host that comes and finds nothing goes again.
            Self::Calling(_) => {}
        }
    }
}

/// What a host's thread sleeps on: a futex, half the price of a socket.
#[derive(Default)]
pub(crate) struct Parked {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Parked {
    fn ring(&self) {
        *lock(&self.rung) = true;
        self.changed.notify_all();
    }

    fn clear(&self) {
        *lock(&self.rung) = false;
    }

    /// Sleeps until rung, at most until `deadline`; says whether it was.
    pub(crate) fn sleep(&self, deadline: Option<Instant>) -> bool {
        let mut rung = lock(&self.rung);
        while !*rung {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            rung = match left {
                None => self.changed.wait(rung).unwrap_or_else(std::sync::PoisonError::into_inner),
                Some(Duration::ZERO) => return false,
                Some(left) => {
                    self.changed.wait_timeout(rung, left).unwrap_or_else(std::sync::PoisonError::into_inner).0
                }
            };
        }
        true
    }
}
