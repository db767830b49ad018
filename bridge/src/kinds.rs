//! Every kind of object that a handle stands for, one row each. What a kind does at its end stands beside its type, in its
//! [`Object`].

use std::sync::Arc;

use libdlock::{Error, ErrorKind, Result};

use crate::cancel::CancelEntry;
use crate::handle::{Handle, unpack};
use crate::objects::{ClientEntry, HeldEntry, LimiterEntry, LockEntry, SnowflakeEntry};
use crate::port::{OpEntry, PortEntry};
use crate::slab::Slab;
use crate::state::State;

/// What an object does when its handle ends.
pub(crate) trait Object: Send + Sync + Sized + 'static {
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

/// An object with a kind and a table, which its row gives it.
pub(crate) trait Entry: Object {
    const KIND: Kind;

    fn table(tables: &Tables) -> &Slab<Self>;
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $number:literal $word:literal $table:ident: $entry:ty;)*) => {
        /// What a handle stands for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[$doc])* $kind = $number,)*
        }

        impl Kind {
            pub(crate) const ALL: &[Self] = &[$(Self::$kind),*];

            /// The word for messages: "client", "lock".
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $word,)*
                }
            }
        }

        /// The objects of each kind.
        pub(crate) struct Tables {
            $(pub(crate) $table: Slab<$entry>,)*
        }

        impl Tables {
            pub(crate) fn new() -> Self {
                Self { $($table: Slab::new(),)* }
            }

            /// Drops all objects but the clients of any of them, which are given, some perhaps several times. Nothing can be put
            /// into a table afterwards.
            pub(crate) fn close(&self) -> Vec<Arc<ClientEntry>> {
                let mut clients = Vec::new();
                $(clients.extend(self.$table.close().iter().filter_map(Object::client));)*
                clients
            }
        }

        $(impl Entry for $entry {
            const KIND: Kind = Kind::$kind;

            fn table(tables: &Tables) -> &Slab<Self> {
                &tables.$table
            }
        })*

        impl State {
            /// Gives a handle up, whatever its kind. What that does to its object stands with the function that made it.
            ///
            /// # Errors
            /// `Closed` when it was given up before; `InvalidArgument` for what is no handle; `Forked`.
            pub fn free_any(&'static self, handle: Handle) -> Result<()> {
                match unpack(handle).map(|parts| parts.kind) {
                    $(Some(Kind::$kind) => self.take::<$entry>(handle, "free")?.freed(self, handle),)*
                    None => Err(Error::new(ErrorKind::InvalidArgument, "free", "this is no object of libdlock")),
                }
            }

            /// Lets go of an object whose handle reaches nobody, in the background. The caller can ask anew at once: a lock is
            /// not its own any more when this returns.
            pub fn undo(&'static self, handle: Handle) {
                match unpack(handle).map(|parts| parts.kind) {
                    $(Some(Kind::$kind) => if let Ok(object) = self.take::<$entry>(handle, "undo") {
                        object.undone(self, handle);
                    },)*
                    None => {}
                }
            }
        }
    };
}

impl State {
    /// Gives up a handle of `kind`.
    ///
    /// # Errors
    /// As [`State::free_any`]; `InvalidArgument` for a handle of another kind.
    pub fn free(&'static self, kind: Kind, handle: Handle) -> Result<()> {
        self.check(kind, handle, "free")?;
        self.free_any(handle)
    }
}

kinds! {
    /// A client: its connections, its options.
    Client = 1 "client" clients: ClientEntry;
    /// A lock of a client, by name.
    Lock = 2 "lock" locks: LockEntry;
    /// A hold: token, validity, loss.
    Held = 3 "hold" helds: HeldEntry;
    /// A completion port.
    Port = 4 "port" ports: PortEntry;
    /// An operation submitted to a port.
    Op = 5 "operation" ops: OpEntry;
    /// A token that cancels blocking calls.
    Cancel = 6 "cancel token" cancels: CancelEntry;
    /// A rate limiter of a client, by name.
    Limiter = 7 "rate limiter" limiters: LimiterEntry;
    /// A generator of ids.
    Snowflake = 8 "snowflake" snowflakes: SnowflakeEntry;
}
