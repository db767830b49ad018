//! One blocking connection: a request, its answer, and no longer than that may take.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use redis::{Cmd, Parser, RedisResult, Value};

use super::dial::Dialler;
use super::stream::{BlockingSocket, BlockingStream};
use super::{plain, verdict};
use crate::config::{Options, Secret, Target};
use crate::time::{Clock, Tick};

/// How long a request may take on the thread of its caller, which hears no interrupt meanwhile.
pub(super) const PATIENCE: Duration = Duration::from_millis(40);

pub(super) struct Socket {
    stream: Bounded,
    parser: Parser,
    packed: Vec<u8>,
}

impl Socket {
    /// Connects within `connect_timeout` and what looking the name up takes, and logs in; with the answer to `INFO server`,
    /// where that is allowed. Each answer has to come within [`PATIENCE`]: a server that is further away is none for this.
    pub(super) fn open(dialler: &Dialler, password: Option<Secret>) -> RedisResult<(Socket, Option<Value>)> {
        let options = dialler.options();
        let stream = BlockingStream::new(match dialler.target() {
            Target::Tcp { host, port } => BlockingSocket::Tcp(connect(host, *port, options.connect_timeout)?),
            Target::Unix(path) => BlockingSocket::Unix(UnixStream::connect(path)?),
            Target::Memory(_) => unreachable!("memory:// opens no connection"),
        });
        let patience = PATIENCE.min(options.response_timeout);
        stream.set_timeouts(patience)?;
        let stream = Bounded { stream, patience, clock: dialler.clock().clone(), since: Tick::default(), reads: 0 };
        let mut socket = Socket { stream, parser: Parser::new(), packed: Vec::new() };
        let info = socket.greet(options, password)?;
        Ok((socket, info))
    }

    /// Logs in as the other connections do. RESP2, which needs no word about it.
    fn greet(&mut self, options: &Options, password: Option<Secret>) -> RedisResult<Option<Value>> {
        if let Some(password) = password {
            let mut auth = Cmd::new();
            auth.arg("AUTH").arg(options.user.as_deref()).arg(&password.0);
            self.command(&auth)?;
        }
        if options.db != 0 {
            self.command(redis::cmd("SELECT").arg(options.db))?;
        }
        // Only for those who look at the server: a refusal by its access rules changes nothing.
        self.call_unless_refused(redis::cmd("CLIENT").arg("SETNAME").arg(&options.client_name))?;
        for (attribute, value) in [("LIB-NAME", "libdlock"), ("LIB-VER", env!("CARGO_PKG_VERSION"))] {
            self.call_unless_refused(redis::cmd("CLIENT").arg("SETINFO").arg(attribute).arg(value))?;
        }
        self.call_unless_refused(redis::cmd("INFO").arg("server"))
    }

    fn call_unless_refused(&mut self, command: &Cmd) -> RedisResult<Option<Value>> {
        match self.command(command) {
            Ok(value) => Ok(Some(value)),
            Err(error) if verdict::is_reply(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn command(&mut self, command: &Cmd) -> RedisResult<Value> {
        let now = self.stream.clock.now();
        self.call(now, |packed| command.write_packed_command(packed))
    }

    /// Sends what `pack` writes, and waits for the answer, from `now` on. After an error that is no reply the connection is of
    /// no more use: the answer may still come, and must not meet another request.
    pub(super) fn call(&mut self, now: Tick, pack: impl FnOnce(&mut Vec<u8>)) -> RedisResult<Value> {
        self.packed.clear();
        pack(&mut self.packed);
        self.stream.begin(now);
        self.stream.stream.write_all(&self.packed)?;
        let mut first = [0; 1024];
        let length = self.stream.read(&mut first)?;
        let first = &first[..length];
        if let Some(value) = plain::reply(first) {
            return Ok(value);
        }
        match self.parser.parse_value(first.chain(&mut self.stream))? {
            Value::ServerError(error) => Err(error.into()),
            value => Ok(value),
        }
    }

    /// After a time-out of [`Socket::call`]: waits for that answer for so long. What came of it already is kept.
    pub(super) fn go_on(&mut self, now: Tick, patience: Duration) -> RedisResult<Value> {
        let usual = std::mem::replace(&mut self.stream.patience, patience);
        self.stream.stream.set_timeouts(patience)?;
        self.stream.begin(now);
        let answer = self.parser.parse_value(&mut self.stream);
        self.stream.patience = usual;
        self.stream.stream.set_timeouts(usual)?;
        match answer? {
            Value::ServerError(error) => Err(error.into()),
            value => Ok(value),
        }
    }

    /// Whether the other side has neither closed it nor said anything unasked.
    pub(super) fn is_quiet(&mut self) -> bool {
        let stream = &mut self.stream.stream;
        let silent = |read: io::Result<usize>| read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        stream.set_nonblocking(true).is_ok() && silent(stream.read(&mut [0])) && stream.set_nonblocking(false).is_ok()
    }
}

fn connect(host: &str, port: u16, limit: Duration) -> io::Result<TcpStream> {
    let start = Instant::now();
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in (host, port).to_socket_addrs()? {
        let left = limit.saturating_sub(start.elapsed()).max(Duration::from_millis(1));
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Reads for so long and no longer, also when a signal interrupts it or the answer comes in pieces.
struct Bounded {
    stream: BlockingStream,
    patience: Duration,
    clock: Clock,
    since: Tick,
    reads: u32,
}

impl Bounded {
    fn begin(&mut self, now: Tick) {
        (self.since, self.reads) = (now, 0);
    }
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // The first read has the socket's own time-out, which is as long.
            if self.reads > 0 && self.clock.now().since(self.since) >= self.patience {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.reads += 1;
            match self.stream.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }
}
