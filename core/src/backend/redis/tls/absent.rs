//! What stands here without the cargo feature `tls`: a URL with TLS is refused, so that there is never a value of this type.

use std::io;

use tokio::net::TcpStream;

use super::super::bounded::Bounded;
use super::super::transport::{BlockingTransport, Transport};
use crate::config::Options;
use crate::error::{Error, ErrorKind, Result};

#[derive(Clone)]
pub(in super::super) enum Tls {}

impl Tls {
    pub(in super::super) fn load(_options: &Options) -> Result<Tls> {
        Err(Error::new(ErrorKind::Unsupported, "connect", "this build of libdlock has no TLS"))
    }

    pub(in super::super) async fn open(&self, _host: &str, _socket: TcpStream) -> io::Result<Transport> {
        match *self {}
    }

    pub(in super::super) fn open_blocking(&self, _host: &str, _socket: Bounded) -> io::Result<BlockingTransport> {
        match *self {}
    }
}
