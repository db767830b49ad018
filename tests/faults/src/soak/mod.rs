//! Processes of waiters that live at random, what they report, and whether that is lawful: for `make soak` and for crowds.
//!
//! | module | answers |
//! |---|---|
//! | [`contended`] | what they contend for |
//! | [`worker`] | what such a process does |
//! | [`fleet`] | many of them: started, stopped, killed, listened to |
//! | [`history`] | what was unlawful in what they said |
//! | [`removal`] | what a fault excuses |
//! | [`latches`] | what it does with latches |
//! | [`permits`] | whether they held more permits than there are |

pub mod contended;
pub mod fleet;
pub mod history;
mod latches;
mod permits;
pub mod removal;
pub mod worker;
