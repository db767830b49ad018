//! Finds out what a server speaks that does not answer as it should, because neither Redis nor OpenSSL says so: to Redis the
//! handshake of TLS is the beginning of a line, of which it awaits the end, and OpenSSL resets a connection without TLS.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::quiet::Socket;
use super::transport::connect;

/// Silence that is looked into, and how long an answer may take: a hundred times what it takes within a data centre.
const SILENCE: Duration = Duration::from_millis(500);

/// Completes if a server answers a PING without TLS, which is asked after a while, and not otherwise. Cancel safe.
#[cfg(feature = "tls")]
pub(super) async fn found_plain(address: std::net::SocketAddr) {
    tokio::time::sleep(SILENCE).await;
    let asked = first_byte(TcpStream::connect(address), b"*1\r\n$4\r\nPING\r\n").await;
    // A reply, be it that a password is wanted.
    if !matches!(asked, Ok(b'+' | b'-')) {
        std::future::pending::<()>().await;
    }
}

/// Whether a server answers the handshake of TLS. Cancel safe.
pub(super) async fn speaks_tls(host: &str, port: u16) -> bool {
    // A ClientHello of TLS 1.2 with one cipher (ECDHE-RSA-AES128-GCM-SHA256) and nothing optional; it is not gone on with.
    let (head, random) = ([0x16, 3, 1, 0, 45, 1, 0, 0, 41, 3, 3], [0; 32]);
    let hello = [&head[..], &random, &[0, 0, 2, 0xc0, 0x2f, 1, 0]].concat();
    let asked = tokio::time::timeout(SILENCE, first_byte(connect(host, port), &hello)).await;
    // An alert, or the server's part of the handshake.
    matches!(asked, Ok(Ok(0x15 | 0x16)))
}

/// Sends these bytes on a new connection: the first byte of the answer.
async fn first_byte(connecting: impl Future<Output = io::Result<TcpStream>>, bytes: &[u8]) -> io::Result<u8> {
    let mut socket = Socket::from(connecting.await?);
    socket.write_all(bytes).await?;
    socket.read_u8().await
}
