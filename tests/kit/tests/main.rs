//! The tests of the kit, each file a module of one program.

mod clock;
mod process;
mod proxy;
mod sentinels;
mod server;
