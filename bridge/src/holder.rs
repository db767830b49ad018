//! The holder of a thread: who a synchronous call acts for, and through which clients it may hold something.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

use libdlock::lease::HolderId;

use crate::client::ClientEntry;
use crate::park::Parker;
use crate::sync::{Mutex, lock};

// Nothing to drop in either, so that they are there until the thread's very end: a guard that is destroyed at the end of the
// process or of the thread releases what the thread holds.
thread_local! {
    static HOLDER: Cell<Option<HolderId>> = const { Cell::new(None) };
    /// The serial number of the client that was remembered last; 0 is none.
    static REMEMBERED: Cell<u64> = const { Cell::new(0) };
}

/// The calling thread's holder id, made on first use and never reused.
pub fn this_thread() -> HolderId {
    HOLDER.get().unwrap_or_else(|| {
        let fresh = HolderId::fresh();
        HOLDER.set(Some(fresh));
        fresh
    })
}

/// The calling thread has to be noted again when it acquires again.
pub(crate) fn remember_no_more() {
    REMEMBERED.set(0);
}

/// The clients through which each thread may hold something. Weak: a thread keeps no client alive.
#[derive(Default)]
pub(crate) struct Threads(Mutex<Known>);

#[derive(Default)]
struct Known {
    clients: HashMap<HolderId, Vec<Weak<ClientEntry>>>,
    /// The end of a thread is not noticed any more.
    closed: bool,
}

impl Threads {
    /// Notes that the calling thread may hold locks of `client`, so that its end, which `ended` is called at, can stop their
    /// renewal. On the thread that calls the library, which need not be the one that carries the call out.
    pub(crate) fn remember(&self, holder: HolderId, client: &Arc<ClientEntry>, ended: fn()) {
        if REMEMBERED.get() == client.serial || HOLDER.get() != Some(holder) {
            return;
        }
        let ending = Parker::none_here();
        let mut known = lock(&self.0);
        if known.closed {
            return;
        }
        // Without a hook for its end a thread can hold all the same: then its lease is renewed until the client closes.
        let _ = libdlock_fork::at_thread_end(ended, ending);
        let clients = known.clients.entry(holder).or_default();
        if !clients.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(client))) {
            clients.retain(|known| known.strong_count() > 0);
            clients.push(Arc::downgrade(client));
        }
        drop(known);
        REMEMBERED.set(client.serial);
    }

    /// Forgets everything; the end of a thread is no longer noticed, so that a plugin with this library in it may be unloaded.
    pub(crate) fn close(&self) {
        let mut known = lock(&self.0);
        known.clients = HashMap::new();
        // Once: the key that a forked child makes meanwhile is the child's.
        if !std::mem::replace(&mut known.closed, true) {
            libdlock_fork::no_thread_ends();
        }
    }

    /// Forgets the calling thread, which is ending: gives its holder id, if it has one, and the clients.
    pub(crate) fn take_this(&self) -> Option<(HolderId, Vec<Weak<ClientEntry>>)> {
        let holder = HOLDER.get()?;
        Some((holder, lock(&self.0).clients.remove(&holder).unwrap_or_default()))
    }
}
