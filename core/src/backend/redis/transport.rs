//! Opens what carries a connection's bytes: a socket, and TLS over it where that is wanted; for the runtime and for a thread
//! that blocks. Knows addresses, and nothing of where they come from.

use std::io::{self, Read, Write};
use std::net::{TcpStream as BlockingTcp, ToSocketAddrs};
use std::path::Path;
use std::time::{Duration, Instant};

use redis::io::tcp::socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;

use super::bounded::Bounded;
use super::quiet::{BlockingSocket, Socket};
use super::tls::Tls;
use crate::time::Clock;

/// What carries the bytes of a connection of the runtime.
pub(super) type Transport = Box<dyn Duplex>;

/// A socket, or TLS over one.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// Connects to a host. The caller limits the time.
pub(super) async fn open(host: &str, port: u16, tls: Option<&Tls>) -> io::Result<Transport> {
    let socket = connect(host, port).await?;
    match tls {
        None => Ok(Box::new(Socket::from(socket))),
        Some(tls) => tls.open(host, socket).await,
    }
}

/// Connects to a socket of this machine.
pub(super) async fn open_unix(path: &Path) -> io::Result<Transport> {
    Ok(Box::new(Socket::local(path).await?))
}

/// To whichever of the host's addresses answers first.
pub(super) async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut tries = JoinSet::new();
    let found = lookup_host((host, port)).await;
    let found = found.map_err(|error| if may_be_a_name(host) { error } else { io::ErrorKind::InvalidInput.into() });
    for address in found? {
        tries.spawn(TcpStream::connect(address));
    }
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    while let Some(tried) = tries.join_next().await {
        match tried.map_err(io::Error::other).and_then(|connected| connected) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                // A peer that vanished without a word is found by PING or a time-out; this serves what lies in between.
                SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new())?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Whether a host can have that name. What can be none is never found; another that is not found may be there later.
fn may_be_a_name(host: &str) -> bool {
    let goes = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || !byte.is_ascii();
    let label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(goes);
    host.len() <= 253 && host.strip_suffix('.').unwrap_or(host).split('.').all(label)
}

/// The same for a thread that blocks.
pub(super) type BlockingTransport = Box<dyn BlockingDuplex>;

/// A socket, or TLS over one.
pub(super) trait BlockingDuplex: Read + Write + Send {
    /// The socket at the bottom.
    fn socket(&mut self) -> &mut Bounded;
}

impl BlockingDuplex for Bounded {
    fn socket(&mut self) -> &mut Bounded {
        self
    }
}

/// Connects within `limit` and what looking the name up takes; a handshake of TLS may take as long again. The socket has that
/// patience.
pub(super) fn open_blocking(
    host: &str,
    port: u16,
    tls: Option<&Tls>,
    limit: Duration,
    clock: &Clock,
) -> io::Result<BlockingTransport> {
    let socket = BlockingSocket::from(connect_blocking(host, port, limit)?);
    let socket = Bounded::new(socket, limit, clock)?;
    match tls {
        None => Ok(Box::new(socket)),
        Some(tls) => tls.open_blocking(host, socket),
    }
}

/// Connects to a socket of this machine, which has that patience.
pub(super) fn open_unix_blocking(path: &Path, patience: Duration, clock: &Clock) -> io::Result<BlockingTransport> {
    Ok(Box::new(Bounded::new(BlockingSocket::local(path)?, patience, clock)?))
}

fn connect_blocking(host: &str, port: u16, limit: Duration) -> io::Result<BlockingTcp> {
    let start = Instant::now();
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in (host, port).to_socket_addrs()? {
        let left = limit.saturating_sub(start.elapsed()).max(Duration::from_millis(1));
        match BlockingTcp::connect_timeout(&address, left) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_no_host_name_is_told_from_one_that_is_not_found() {
        for name in ["redis", "redis.internal.", "a_b-c.example", "10.0.0.1", "bücher.example", &"x".repeat(63)] {
            assert!(may_be_a_name(name), "{name}");
        }
        for name in ["", ".", "a..b", "two words", "a,b", "redis:6379", &"x".repeat(64), &"x.".repeat(127)] {
            assert!(!may_be_a_name(name), "{name}");
        }
    }
}
