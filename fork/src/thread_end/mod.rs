//! Noticing the end of a thread, by what each system has for that: on Unix after all that the thread itself still does.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::{at_thread_end, no_thread_ends};
#[cfg(windows)]
pub use windows::{at_thread_end, no_thread_ends};
