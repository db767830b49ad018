//! What every binding of libdlock needs, written once: C, Python, Node and Java call it.
//!
//! A binding marshals: it turns its language's values into plain ones, calls [`guard`] around [`enter`] and an operation of
//! [`ops`], and turns the answer back.
//!
//! ```text
//! guard("dlock_lock_release", || {
//!     let state = enter()?;
//!     state.wait(ops::lock_release(state, lock, this_thread(), None), None)
//! })
//! ```
//!
//! * **[`enter`]** gives the [`State`] of this process: runtime and tables of handles, made on first use and made anew
//!   after a fork (crate `libdlock-fork`), and by [`enter_or_restart`] after [`shutdown`].
//! * **[`Handle`]s** are numbers, never pointers. A freed one is `Closed`, one from before a fork `Forked`, any other number
//!   `InvalidArgument`.
//! * **[`ops`]** are `async fn`s over handles: [`State::wait`] runs one on the calling thread, [`State::submit`] on the
//!   runtime with its result in a completion port ([`State::port_new`]).
//! * **Holders**: [`this_thread`] for synchronous calls; [`Holding::ByHandle`](ops::Holding::ByHandle) where a hold is a
//!   handle's own.
//!
//! The slab and the port are also tested under shuttle, by `tests/shuttle.rs`, as part of the ordinary `cargo test -p
//! libdlock-bridge`.
#![forbid(unsafe_code)]

mod cancel;
mod client;
mod ending;
mod ends;
mod engine;
mod guard;
mod handle;
mod hold;
mod holder;
mod kinds;
mod leased;
#[cfg(test)]
mod leased_tests;
mod near;
mod nearby;
mod objects;
pub mod ops;
mod outcome;
mod park;
mod port;
mod ports;
mod refused;
mod shutdown;
mod slab;
#[cfg(test)]
mod slab_tests;
mod state;
mod submit;
mod sync;
mod thread_end;

pub use self::guard::guard;
pub use self::handle::Handle;
pub use self::holder::this_thread;
pub use self::kinds::HandleKind;
pub use self::outcome::{
    CountingSemaphoreInspection, Granted, Held, Inspection, Outcome, RwLockInspection, SemaphoreInspection,
};
pub use self::port::{Completion, What};
pub use self::shutdown::shutdown;
pub use self::state::{Interrupt, Process, State, enter, enter_or_restart};
