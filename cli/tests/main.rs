//! The tests of the command `dlock`, each file a module: one program, because each would link all of core by itself.

mod common;

mod doctor;
mod documented;
mod live_load;
mod look;
mod page;
mod primitives;
mod run;
mod serve;
mod terminal;
mod top;
mod wrong_input;
