//! Sockets whose writes raise no SIGPIPE, unlike those of std and tokio on Unix; nothing else is special about them.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::{BlockingSocket, Socket};
#[cfg(windows)]
pub(super) use windows::{BlockingSocket, Socket};
