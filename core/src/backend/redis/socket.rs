//! One blocking connection: a request, its answer, and no longer than that may take.

use std::io::{self, Read, Write};
use std::time::Duration;

use redis::{Cmd, Parser, RedisResult, Value};

use super::credentials::Credentials;
use super::dial::Dialler;
use super::endpoint::Endpoint;
use super::stream::BlockingStream;
use super::{plain, verdict};
use crate::config::{Options, Secret};
use crate::time::{Clock, Tick};

/// How long a request may take on the thread of its caller, which hears no interrupt meanwhile.
pub(super) const PATIENCE: Duration = Duration::from_millis(40);

pub(super) struct Socket {
    stream: BlockingStream,
    clock: Clock,
    parser: Parser,
    packed: Vec<u8>,
}

impl Socket {
    /// Connects within `connect_timeout` and what looking the name up takes, and logs in; with the answer to `INFO server`,
    /// where that is allowed. Each answer has to come within [`PATIENCE`]: a server that is further away is none for this.
    pub(super) fn open(
        dialler: &Dialler,
        endpoint: &Endpoint,
        credentials: Credentials,
    ) -> RedisResult<(Socket, Option<Value>)> {
        let (options, clock) = (dialler.options(), dialler.clock());
        let mut stream = BlockingStream::new(dialler.open_blocking(endpoint, credentials.tls.as_ref())?);
        stream.socket().set_patience(PATIENCE.min(options.response_timeout))?;
        let mut socket = Socket { stream, clock: clock.clone(), parser: Parser::new(), packed: Vec::new() };
        let info = socket.greet(options, credentials.password)?;
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
        let now = self.clock.now();
        self.call(now, |packed| command.write_packed_command(packed))
    }

    /// Sends what `pack` writes, and waits for the answer, from `now` on. After an error that is no reply the connection is of
    /// no more use: the answer may still come, and must not meet another request.
    pub(super) fn call(&mut self, now: Tick, pack: impl FnOnce(&mut Vec<u8>)) -> RedisResult<Value> {
        self.send(now, pack)?;
        self.receive()
    }

    /// The first half of [`Socket::call`].
    pub(super) fn send(&mut self, now: Tick, pack: impl FnOnce(&mut Vec<u8>)) -> RedisResult<()> {
        self.packed.clear();
        pack(&mut self.packed);
        self.stream.socket().begin(now);
        self.stream.write_all(&self.packed)?;
        self.stream.flush()?;
        Ok(())
    }

    /// The second half.
    pub(super) fn receive(&mut self) -> RedisResult<Value> {
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

    /// The next answer, a refusal too, to requests that were sent together. After a time-out what came of it is kept, and waiting
    /// may go on.
    pub(super) fn next_answer(&mut self) -> RedisResult<Value> {
        self.parser.parse_value(&mut self.stream)
    }

    /// From `now` on the answers have so long; the former patience.
    pub(super) fn wait_longer(&mut self, now: Tick, patience: Duration) -> RedisResult<Duration> {
        let usual = self.stream.socket().set_patience(patience)?;
        self.stream.socket().begin(now);
        Ok(usual)
    }

    /// Ends what [`Socket::wait_longer`] began.
    pub(super) fn wait_as_usual(&mut self, usual: Duration) -> RedisResult<()> {
        self.stream.socket().set_patience(usual)?;
        Ok(())
    }

    /// After a time-out of [`Socket::call`]: waits for that answer for so long. What came of it already is kept.
    pub(super) fn go_on(&mut self, now: Tick, patience: Duration) -> RedisResult<Value> {
        let usual = self.stream.socket().set_patience(patience)?;
        self.stream.socket().begin(now);
        let answer = self.parser.parse_value(&mut self.stream);
        self.stream.socket().set_patience(usual)?;
        match answer? {
            Value::ServerError(error) => Err(error.into()),
            value => Ok(value),
        }
    }

    /// Whether the other side has neither closed it nor said anything unasked.
    pub(super) fn is_quiet(&mut self) -> bool {
        let now = self.clock.now();
        self.stream.socket().begin(now);
        let mut quiet = || {
            self.stream.socket().set_nonblocking(true)?;
            let read = self.stream.read(&mut [0]);
            self.stream.socket().set_nonblocking(false)?;
            Ok::<_, io::Error>(read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock))
        };
        quiet().unwrap_or(false)
    }
}
