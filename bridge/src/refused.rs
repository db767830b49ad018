//! What libdlock cannot do without and the operating system does not give.

use std::io;

use libdlock::{Error, ErrorKind};

pub(crate) fn refused(error: &io::Error) -> Error {
    let message = format!("the operating system refuses what libdlock's runtime needs: {error}");
    Error::new(ErrorKind::Internal, "start", message)
}
