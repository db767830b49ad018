//! Every kind of object that a handle stands for, one row each. What a kind does at its end stands with its operations, in its
//! [`HandleEnd`](crate::ends::HandleEnd).

use std::hash::{BuildHasher, RandomState};

use crate::handle::{Handle, LAST_KIND, Parts, unpack};
use crate::slab::Slab;

/// An object with a kind and a table, which its row gives it.
pub(crate) trait Entry: Send + Sync + Sized + 'static {
    const KIND: HandleKind;

    fn table(tables: &Tables) -> &Slab<Self>;
}

/// Gives the rows to another macro.
macro_rules! each_kind {
    ($then:ident) => {
        $then! {
            /// A client: its connections, its options.
            Client = 1 "client" clients: crate::client::ClientEntry;
            /// A lock of a client, by name.
            Lock = 2 "lock" locks: crate::objects::LockEntry;
            /// A hold: token, validity, loss.
            Held = 3 "hold" helds: crate::objects::HeldEntry;
            /// A completion port.
            Port = 4 "port" ports: crate::port::PortEntry;
            /// An operation submitted to a port.
            Op = 5 "operation" ops: crate::port::OpEntry;
            /// A token that cancels blocking calls.
            Cancel = 6 "cancel token" cancels: crate::objects::CancelEntry;
            /// A rate limiter of a client, by name.
            Limiter = 7 "rate limiter" limiters: crate::objects::LimiterEntry;
            /// A generator of ids.
            Snowflake = 8 "snowflake" snowflakes: crate::objects::SnowflakeEntry;
            /// A semaphore of a client, by name.
            Semaphore = 9 "semaphore" semaphores: crate::objects::SemaphoreEntry;
            /// One side of a read-write lock of a client, by name.
            RwLockSide = 10 "side of a read-write lock" rw_lock_sides: crate::objects::RwLockSideEntry;
            /// Several locks of a client as one, by their names.
            LockAll = 11 "set of locks" lock_alls: crate::objects::LockAllEntry;
            /// A count-down latch of a client, by name.
            Latch = 12 "latch" latches: crate::objects::LatchEntry;
            /// A counting semaphore of a client, by name.
            CountingSemaphore = 13 "counting semaphore" counting_semaphores: crate::objects::CountingSemaphoreEntry;
            /// A generator of ids in blocks of a client, by name.
            IdGenerator = 14 "id generator" id_generators: crate::objects::IdGeneratorEntry;
            /// A Bloom filter of a client, by name.
            BloomFilter = 15 "bloom filter" bloom_filters: crate::objects::BloomFilterEntry;
            /// A delayed queue of a client, by name.
            Queue = 16 "queue" queues: crate::objects::QueueEntry;
            /// Jobs of a queue that were listed, for a host that reads them where they are.
            ListedJobs = 17 "list of jobs" listed_jobs: crate::outcome::ListedJobs;
            /// A clock that a test moves.
            Clock = 18 "clock" clocks: crate::objects::ClockEntry;
        }
    };
}
pub(crate) use each_kind;

macro_rules! declare {
    ($($(#[$doc:meta])* $kind:ident = $number:literal $word:literal $table:ident: $entry:ty;)*) => {
        /// What a handle stands for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum HandleKind {
            $($(#[$doc])* $kind = $number,)*
        }

        $(const _: () = assert!($number >= 1 && $number <= LAST_KIND);)*

        impl HandleKind {
            /// That of a handle; none when there is no such kind.
            pub(crate) fn of(parts: Parts) -> Option<Self> {
                match parts.kind {
                    $($number => Some(Self::$kind),)*
                    _ => None,
                }
            }

            /// That of a handle, whether its object is still there or not; none for what is no handle.
            #[must_use]
            pub fn of_handle(handle: Handle) -> Option<Self> {
                unpack(handle).and_then(Self::of)
            }

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
                let chance = RandomState::new();
                Self { $($table: Slab::new(chance.hash_one($number) as u32),)* }
            }
        }

        $(impl Entry for $entry {
            const KIND: HandleKind = HandleKind::$kind;

            fn table(tables: &Tables) -> &Slab<Self> {
                &tables.$table
            }
        })*
    };
}

each_kind!(declare);
