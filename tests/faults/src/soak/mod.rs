//! Processes of waiters that live at random, what they report, and whether that is lawful: for `make soak` and for crowds.
//!
//! | module | answers |
//! |---|---|
//! | [`worker`] | what such a process does |
//! | [`fleet`] | many of them: started, stopped, killed, listened to |
//! | [`history`] | what was unlawful in what they said, and what a fault excuses |

pub mod fleet;
pub mod history;
pub mod worker;
