//! Finds out that a server speaks no TLS. Redis does not answer a handshake at all: to it that is the beginning of a line.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::super::quiet::Socket;

/// A handshake without an answer for so long is looked into: a hundred times what one takes in a data centre.
const SILENCE: Duration = Duration::from_millis(500);

/// Completes if the server at that address answers a PING without TLS, and not otherwise. Cancel safe.
pub(super) async fn found_at(address: SocketAddr) {
    tokio::time::sleep(SILENCE).await;
    match answer(address).await {
        // A reply, be it that a password is wanted.
        Ok(b'+' | b'-') => {}
        _ => std::future::pending().await,
    }
}

/// The first byte of it.
async fn answer(address: SocketAddr) -> io::Result<u8> {
    let mut socket = Socket::Tcp(TcpStream::connect(address).await?);
    socket.write_all(b"*1\r\n$4\r\nPING\r\n").await?;
    socket.read_u8().await
}
