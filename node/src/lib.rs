//! The addon behind the npm package `libdlock`: carries values between JavaScript and the bridge, and decides nothing.
//!
//! JavaScript keeps handles (bigints), never Rust objects. Whatever may wait is submitted to the completion port of the
//! JavaScript environment ([`environment`]), with a number that JavaScript chose; finished operations are fetched in
//! batches by one call. An error is returned, not thrown: Node-API has no way to throw one with a code of its own from
//! every place, JavaScript has. What the functions mean stands in `ts/native.ts`.

mod answer;
mod bloom_filter;
mod client;
mod completion;
mod counting_semaphore;
mod environment;
mod held;
mod id_generator;
mod jobs;
mod latch;
mod limiter;
mod lock;
mod lock_all;
mod queue;
mod rw_lock;
mod semaphore;
mod signal;
mod snowflake;
mod stats;
mod worker;
