//! What a thread leaves when it ends.

use std::sync::Arc;

use libdlock::lease::HolderId;

use crate::client::ClientEntry;
use crate::guard::guard;
use crate::holder::remember_no_more;
use crate::state::{State, current};

impl State {
    /// Notes that the calling thread may hold something of `client`; see `Threads::remember`.
    pub(crate) fn remember(&self, holder: HolderId, client: &Arc<ClientEntry>) {
        self.threads.remember(holder, client, ended);
    }
}

/// The end of a holding thread stops renewal and warns, without talking to the server: the lease then runs out. At the end of
/// the process this is not called. A destructor that runs after it may acquire again, and is noted again.
fn ended() {
    remember_no_more();
    let abandon = || {
        // In a forked child nothing of the parent's is known.
        let Some((holder, clients)) = current().and_then(|state| state.threads.take_this()) else { return Ok(()) };
        for client in clients {
            if let Some(client) = client.upgrade() {
                libdlock::embed::abandon_all(&client.client, holder);
            }
        }
        Ok(())
    };
    // A panic in here would end the process.
    let _ = guard("the end of a thread", abandon);
}
