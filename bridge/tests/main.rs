//! The tests of the bridge from outside, each file a module: one program, because each would link all of core by itself.
//!
//! What needs a process to itself begins with `libdlock_testkit::own_process!()`.

mod bloom_filter;
mod counting_semaphore;
mod fork;
mod id_generator;
mod latch;
mod limiter;
mod limiter_each;
mod lock_all;
mod operations;
mod port;
mod queue;
mod runtime_threads;
mod rw_lock;
mod semaphore;
mod snowflake;
