//! The end of libdlock in a process, for hosts whose tools want nothing left: valgrind, sanitizers.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::time::Duration;

use libdlock::Result;

use crate::client::ClientEntry;
use crate::ending::elsewhere;
use crate::park::Parker;
use crate::state::{State, known};

/// Closing takes a client 50 ms at most; a runtime that is stuck closes nothing.
const CLOSING: Duration = Duration::from_secs(2);

/// Ends libdlock in this process: every object, the runtime with its threads. Calls that wait return `Closed`, as does every
/// later [`enter`](crate::enter). Clients are closed as by [`client_close`](crate::ops::client_close) without a release: a
/// holder may still be at work. Called again it does nothing. A child that is forked afterwards starts afresh, and
/// [`enter_or_restart`](crate::enter_or_restart) starts libdlock again.
///
/// # Errors
/// `Busy` when a call of another thread has not ended after 5 s: then the runtime is still there, and the next call of this
/// tries again.
pub fn shutdown() -> Result<()> {
    if Parker::none_here() {
        return elsewhere(shutdown)?;
    }
    let state = known()?;
    state.engine.end();
    let _turn = state.engine.turn();
    if let Some(runtime) = state.engine.made() {
        // What is dropped here may start a last task.
        let _context = runtime.enter();
        state.end_ports();
        let (done, all_closed) = channel::<()>();
        for client in state.end_objects() {
            let done = done.clone();
            runtime.spawn(async move {
                client.client.close().await;
                drop(client);
                drop(done);
            });
        }
        drop(done);
        // An error is the answer: the last sender has gone.
        let _ = all_closed.recv_timeout(CLOSING);
    }
    state.engine.stop()?;
    // Without a runtime nothing was taken out before.
    state.end_ports();
    drop(state.end_objects());
    state.over.store(true, Ordering::Release);
    Ok(())
}

impl State {
    fn end_ports(&'static self) {
        let ports = self.tables.ports.close();
        ports.iter().for_each(|port| port.closed.store(true, Ordering::SeqCst));
        self.tables.ops.close().iter().for_each(|op| op.abandon());
        ports.iter().for_each(|port| self.close_port(port));
    }

    /// Drops all objects but the clients, which are given.
    fn end_objects(&self) -> Vec<Arc<ClientEntry>> {
        let mut clients = self.close_tables();
        clients.sort_unstable_by_key(|client| client.serial);
        clients.dedup_by_key(|client| client.serial);
        self.threads.close();
        clients
    }
}
