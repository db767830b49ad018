//! The end of a handle: given up by the host, or never got there.

use std::sync::Arc;

use libdlock::{Error, ErrorKind, Result};

use crate::client::ClientEntry;
use crate::handle::Handle;
use crate::kinds::{Entry, HandleKind, each_kind};
use crate::state::State;

/// What an object does when its handle ends.
pub(crate) trait HandleEnd: Entry {
    /// The host gave the handle up.
    fn freed(self: Arc<Self>, _state: &'static State, _handle: Handle) -> Result<()> {
        Ok(())
    }

    /// The client through which it was opened, which it keeps alive; none for what needs no client.
    fn client(self: &Arc<Self>) -> Option<Arc<ClientEntry>> {
        None
    }

    /// The handle reached nobody: its operation was cancelled when its completion was already on the way. There is nobody to
    /// tell of an error.
    fn undone(self: Arc<Self>, state: &'static State, handle: Handle) {
        let _ = self.freed(state, handle);
    }
}

macro_rules! end {
    ($($(#[$doc:meta])* $kind:ident = $number:literal $word:literal $table:ident: $entry:ty;)*) => {
        impl State {
            /// Gives a handle up, whatever its kind. What that does to its object stands with the function that made it.
            ///
            /// # Errors
            /// `Closed` when it was given up before; `InvalidArgument` for what is no handle; `Forked`.
            pub fn free_any(&'static self, handle: Handle) -> Result<()> {
                match HandleKind::of_handle(handle) {
                    $(Some(HandleKind::$kind) => self.take::<$entry>(handle, "free")?.freed(self, handle),)*
                    None => Err(Error::new(ErrorKind::InvalidArgument, "free", "this is no object of libdlock")),
                }
            }

            /// Lets go of an object whose handle reaches nobody, in the background. The caller can ask anew at once: a lock is
            /// not its own any more when this returns.
            pub fn undo(&'static self, handle: Handle) {
                match HandleKind::of_handle(handle) {
                    $(Some(HandleKind::$kind) => if let Ok(object) = self.take::<$entry>(handle, "undo") {
                        object.undone(self, handle);
                    },)*
                    None => {}
                }
            }

            /// Drops all objects but the clients of any of them, which are given, some perhaps several times. Nothing can be
            /// put into a table afterwards.
            pub(crate) fn close_tables(&self) -> Vec<Arc<ClientEntry>> {
                let mut clients = Vec::new();
                $(clients.extend(self.tables.$table.close().iter().filter_map(HandleEnd::client));)*
                clients
            }
        }
    };
}

each_kind!(end);

impl State {
    /// Gives up a handle of `kind`.
    ///
    /// # Errors
    /// As [`State::free_any`]; `InvalidArgument` for a handle of another kind.
    pub fn free(&'static self, kind: HandleKind, handle: Handle) -> Result<()> {
        self.check(kind, handle, "free")?;
        self.free_any(handle)
    }
}
