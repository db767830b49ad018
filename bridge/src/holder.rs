//! The holder of a thread: who a synchronous call acts for.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use libdlock::HolderId;

use crate::objects::ClientEntry;
use crate::state;

thread_local! {
    static THREAD: Thread = Thread {
        id: HolderId::fresh(),
        clients: RefCell::new(Vec::new()),
    };
}

/// What a thread leaves when it ends.
struct Thread {
    id: HolderId,
    /// The clients through which this thread may hold something. Weak: a thread keeps no client alive.
    clients: RefCell<Vec<Weak<ClientEntry>>>,
}

/// The calling thread's holder id, made on first use and never reused.
///
/// # Errors
/// None on a thread that lives; a thread whose thread-local values are being destroyed gets a fresh id.
pub fn this_thread() -> HolderId {
    THREAD.try_with(|thread| thread.id).unwrap_or_else(|_| HolderId::fresh())
}

/// Notes that the calling thread may hold locks of `client`, so that its end can stop their renewal.
pub(crate) fn remember(holder: HolderId, client: &Arc<ClientEntry>) {
    // On a thread that is ending there is nobody left to note it for.
    let _ = THREAD.try_with(|thread| {
        if thread.id != holder {
            return;
        }
        let mut clients = thread.clients.borrow_mut();
        if !clients.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(client))) {
            clients.retain(|known| known.strong_count() > 0);
            clients.push(Arc::downgrade(client));
        }
    });
}

impl Drop for Thread {
    /// The end of the holding thread stops renewal and warns, without talking to the server: the lease then runs out.
    fn drop(&mut self) {
        let Some(state) = state::current() else {
            return;
        };
        for client in self.clients.get_mut().drain(..) {
            // A client of the process that forked this one may be locked by a thread that is not here: hands off.
            if let Some(client) = client.upgrade().filter(|client| client.generation == state.generation()) {
                client.client.abandon(self.id);
            }
        }
    }
}
