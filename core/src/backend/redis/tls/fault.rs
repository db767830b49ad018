//! Why TLS ended a connection, or did not let one begin.

use std::borrow::Cow;
use std::fmt;
use std::io;

/// What a failure of TLS says, and for how long it will.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Fault {
    how: Cow<'static, str>,
    pub(in super::super) lasts: Lasts,
}

/// Whether a later connection may succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Lasts {
    /// The server may just be starting.
    Briefly,
    /// Until a certificate is replaced, here or on the server, or a clock has gone on: without another configuration.
    ForAWhile,
    /// Until the options are others, or the server is.
    ForGood,
}

impl Fault {
    pub(super) fn new(lasts: Lasts, how: impl Into<Cow<'static, str>>) -> Fault {
        Fault { how: how.into(), lasts }
    }

    /// What happened and what to do, to stand behind the server's name.
    pub(in super::super) fn how(&self) -> &str {
        &self.how
    }

    /// The fault in an error of a stream, if it is one.
    pub(in super::super) fn of(error: &io::Error) -> Option<&Fault> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.how)
    }
}

impl std::error::Error for Fault {}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> io::Error {
        // A kind that the redis crate takes for the end of the connection.
        io::Error::new(io::ErrorKind::ConnectionAborted, fault)
    }
}
