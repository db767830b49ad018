//! The C ABI of libdlock: `libdlock.so`, `libdlock.a`, and `include/dlock.h`, which cbindgen makes from this crate.
//!
//! A function here marshals and nothing else: it checks its pointers, calls the bridge inside `call::call` (panic guard,
//! state of the process, error buffer), and writes its out parameters. The conventions stand at the head of the header
//! (`header/preamble.h`) and in docs/c/README.md.
#![allow(non_camel_case_types, reason = "these are the names of the header")]
#![allow(
    clippy::missing_safety_doc,
    reason = "what a caller owes is the same for every function and stands once, in the header"
)]

// Handles are 64-bit numbers that travel as pointers.
#[cfg(not(target_pointer_width = "64"))]
compile_error!("the C ABI of libdlock needs a 64-bit platform");

mod acquire;
mod bloom_filter;
mod call;
mod cancel;
mod client;
mod completion;
mod counting_semaphore;
mod decision;
mod decisions;
mod delivery;
mod error;
mod held;
mod held_all;
mod id_generator;
mod latch;
mod limiter_adjust;
mod lock;
mod lock_all;
mod out;
mod port;
mod queue;
mod queue_jobs;
mod rate;
mod rate_limiter;
mod rw_lock;
mod semaphore;
mod shutdown;
mod snowflake;
mod stats;
mod submit;
mod text;
mod types;
mod version;
mod worker;

pub use self::bloom_filter::*;
pub use self::cancel::*;
pub use self::client::*;
pub use self::completion::*;
pub use self::counting_semaphore::*;
pub use self::decision::*;
pub use self::delivery::*;
pub use self::error::*;
pub use self::held::*;
pub use self::held_all::*;
pub use self::id_generator::*;
pub use self::latch::*;
pub use self::lock::*;
pub use self::lock_all::*;
pub use self::port::*;
pub use self::queue::*;
pub use self::queue_jobs::*;
pub use self::rate_limiter::*;
pub use self::rw_lock::*;
pub use self::semaphore::*;
pub use self::shutdown::*;
pub use self::snowflake::*;
pub use self::stats::*;
pub use self::submit::*;
pub use self::types::*;
pub use self::version::*;
pub use self::worker::*;
