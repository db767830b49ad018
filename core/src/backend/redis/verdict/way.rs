//! What ended a connection, or kept one from being made: the operating system, TLS, bytes that are no reply.

use std::error::Error as _;
use std::fmt;
use std::io;
use std::sync::Arc;

use redis::{ErrorKind as Theirs, RedisError};
use rustix::io::Errno;

use super::super::framing::Absurd;
use super::super::tls::Fault;

/// The error of the operating system, or of the stream, below.
fn below(error: &RedisError) -> Option<&io::Error> {
    let source = error.source()?;
    let shared = source.downcast_ref::<Arc<dyn std::error::Error + Send + Sync>>();
    shared.map_or(source, |shared| &**shared).downcast_ref()
}

/// Whether the operating system, or the resolver of names, takes what was dialled for no address at all.
pub(super) fn is_no_address(error: &RedisError) -> bool {
    below(error).is_some_and(|error| error.kind() == io::ErrorKind::InvalidInput)
}

pub(super) const LEFT: &str = "is the master no more, as the sentinels say";

/// Ends an attempt whose answer is not waited for: see [`of_leaving`].
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Left;

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(LEFT)
    }
}

impl std::error::Error for Left {}

impl From<Left> for RedisError {
    fn from(left: Left) -> RedisError {
        io::Error::new(io::ErrorKind::ConnectionAborted, left).into()
    }
}

pub(in super::super) fn is_left(error: &RedisError) -> bool {
    below(error).and_then(io::Error::get_ref).is_some_and(|inner| inner.is::<Left>())
}

/// What was wrong with the bytes that came, when that ended the connection.
pub(super) fn absurd(error: &RedisError) -> Option<Absurd> {
    below(error)?.get_ref()?.downcast_ref().copied()
}

/// What TLS said, when that ended the connection.
pub(super) fn fault(error: &RedisError) -> Option<&Fault> {
    Fault::of(below(error)?)
}

/// What the operating system said, where that is another thing to mend than the server or the way to it.
fn local(error: &RedisError) -> Option<&'static str> {
    Some(match Errno::from_io_error(below(error)?)? {
        // Of all addresses only the path of a Unix socket is looked for as a file.
        #[cfg(unix)]
        Errno::NOENT => "does not exist; check the path, and whether the server runs with that unixsocket",
        #[cfg(unix)]
        Errno::ACCESS => "may not be opened by this user; check the rights of the socket (unixsocketperm)",
        Errno::MFILE => {
            "was not dialled: this process has too many open files; raise its limit (ulimit -n) or close some"
        }
        #[cfg(unix)]
        Errno::NFILE => "was not dialled: this machine has too many open files",
        _ => return None,
    })
}

/// An error of the way to the server, in words of ours.
pub(in super::super) fn how(error: &RedisError) -> &str {
    if let Some(absurd) = absurd(error) {
        absurd.how()
    } else if is_left(error) {
        LEFT
    } else if let Some(fault) = fault(error) {
        fault.how()
    } else if let Some(local) = local(error) {
        local
    } else if error.is_timeout() {
        "did not answer in time"
    } else if error.is_connection_refusal() {
        "refused the connection; is the server running there?"
    } else if error.is_connection_dropped() {
        "closed the connection"
    } else {
        match error.kind() {
            Theirs::Io => "could not be reached; check host name, port and network",
            _ => "answered something that is no Redis reply",
        }
    }
}
