//! The native half of the jar: carries values between `org.libdlock.internal.Native` and the bridge, and decides nothing.
//!
//! * Java keeps handles and numbers, as `long`. Texts cross as UTF-8 bytes, never in Java's modified UTF-8.
//! * An operation that may wait is submitted under a number that Java chose, and comes back with it through the completion
//!   port, which one thread of Java's own drains (`port.rs`). No thread of libdlock ever enters the JVM.
//! * A platform thread acquires and releases locks, their sides and permits, and asks rate limiters, in here by itself, and waits in here.
//! * An error becomes an exception that `org.libdlock.Errors` makes from its number (`call.rs`).
//!
//! What the functions mean stands in `Native.java`.

mod bloom_filter;
mod call;
mod client;
mod counting_semaphore;
mod held;
mod id_generator;
mod latch;
mod library;
mod limiter;
mod lock;
mod lock_all;
mod natives;
mod port;
mod queue;
mod rw_lock;
mod semaphore;
mod snowflake;
mod wire;
mod worker;
