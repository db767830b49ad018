//! TLS over a socket, for the runtime and for a thread that blocks. There is one handshake, when the connection is opened.

use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::super::bounded::Bounded;
use super::super::probe;
use super::super::quiet::Socket;
use super::super::transport::{BlockingDuplex, BlockingTransport, Transport};
use super::judge;
use super::settings::{Settings, Tls};

impl Tls {
    /// Shakes hands with a server of that name. The caller limits the time.
    pub(in super::super) async fn open(&self, host: &str, socket: TcpStream) -> io::Result<Transport> {
        let (settings, address) = (self.0.clone(), socket.peer_addr()?);
        let connector = TlsConnector::from(settings.config.clone());
        let handshake = connector.connect(settings.name(host)?, Socket::from(socket));
        tokio::select! {
            biased;
            done = handshake => match done {
                Ok(stream) => Ok(Box::new(Session { stream, settings })),
                Err(error) => Err(settings.handshake_failed(error)),
            },
            () = probe::found_plain(address) => Err(judge::no_tls().into()),
        }
    }

    /// The same on a thread that blocks, for as long as the socket's patience.
    pub(in super::super) fn open_blocking(&self, host: &str, socket: Bounded) -> io::Result<BlockingTransport> {
        let settings = self.0.clone();
        let session = ClientConnection::new(settings.config.clone(), settings.name(host)?);
        let mut stream = StreamOwned::new(session.map_err(io::Error::other)?, socket);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).map_err(|error| settings.handshake_failed(error))?;
        }
        Ok(Box::new(BlockingSession { stream, settings }))
    }
}

impl Settings {
    /// The name that the server's certificate has to be for.
    fn name(&self, host: &str) -> io::Result<ServerName<'static>> {
        match &self.server_name {
            Some(name) => Ok(name.clone()),
            None => ServerName::try_from(host.to_owned()).map_err(|_| judge::no_name().into()),
        }
    }
}

struct Session {
    stream: TlsStream<Socket>,
    settings: Arc<Settings>,
}

impl Session {
    /// Why a write failed. A server that refuses a client's certificate says so and closes the connection, and the next request
    /// may be written before that is read.
    fn write_failed(&mut self, error: io::Error) -> io::Error {
        let (socket, connection) = self.stream.get_mut();
        // From the socket itself: the runtime may not have heard yet that there is something to read.
        let said = connection.read_tls(&mut socket.arrived()).and_then(|_| {
            let processed = connection.process_new_packets();
            processed.map_err(io::Error::other)
        });
        self.settings.judge(match said {
            Err(said) if judge::is_of_tls(&said) => said,
            _ => error,
        })
    }
}

impl AsyncRead for Session {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let session = self.get_mut();
        Pin::new(&mut session.stream).poll_read(context, buffer).map_err(|error| session.settings.judge(error))
    }
}

impl AsyncWrite for Session {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let session = self.get_mut();
        let written = Pin::new(&mut session.stream).poll_write(context, bytes);
        written.map_err(|error| session.write_failed(error))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let session = self.get_mut();
        let flushed = Pin::new(&mut session.stream).poll_flush(context);
        flushed.map_err(|error| session.write_failed(error))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

struct BlockingSession {
    stream: StreamOwned<ClientConnection, Bounded>,
    settings: Arc<Settings>,
}

impl Read for BlockingSession {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer).map_err(|error| self.settings.judge(error))
    }
}

impl Write for BlockingSession {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes).map_err(|error| self.settings.judge(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush().map_err(|error| self.settings.judge(error))
    }
}

impl BlockingDuplex for BlockingSession {
    fn socket(&mut self) -> &mut Bounded {
        &mut self.stream.sock
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use libdlock_testkit::{Authority, Server, eventually};

    use super::super::Fault;
    use super::*;
    use crate::config::Config;

    /// In TLS 1.3 the server refuses the client after the client's part of the handshake is over.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_write_after_the_server_has_refused_says_why() {
        let authority = Authority::new("ours");
        let server = Server::options().tls(&authority.issue("server"), &authority, "yes").start();
        let mut config = Config::from_url(&server.tls_url()).unwrap();
        config.set("tls_ca_file", authority.file().to_str().unwrap()).unwrap();
        let tls = Tls::load(&config.options).unwrap();
        let socket = TcpStream::connect(server.tls_address()).await.unwrap();
        let mut stream = tls.open("127.0.0.1", socket).await.unwrap();
        let refused = || server.log().contains("peer did not return a certificate");
        tokio::task::block_in_place(|| eventually(std::time::Duration::from_secs(10), "it refuses", refused));
        // What it does not take any more fails at the second write at the latest.
        let error = loop {
            let written = poll_fn(|context| Pin::new(&mut stream).poll_write(context, b"PING\r\n")).await;
            if let Err(error) = written {
                break error;
            }
        };
        let fault = Fault::of(&error).unwrap_or_else(|| panic!("the reason is lost: {error:?}"));
        assert!(fault.how().contains("wants a client certificate"), "{fault}");
    }
}
