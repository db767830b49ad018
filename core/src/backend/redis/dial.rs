//! Opens one connection: socket options, RESP3, authentication, and what has to be known of the server.

use std::io;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Cmd, ProtocolVersion, PushInfo, RedisConnectionInfo, RedisError, RedisResult, Value,
};

use super::credentials::{Credentials, Reader};
use super::driver::Driver;
use super::framing::Absurd;
use super::probe;
use super::reply::reply;
use super::stream::{Cause, Stream};
use super::tls::Tls;
use super::transport::{self, BlockingTransport, Transport};
use super::verdict::{self, DialError};
use crate::backend::Sighting;
use crate::config::{Options, PasswordSource, Secret, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::step::wire;
use crate::time::{Clock, ServerTime};

/// What a new connection tells about its server.
#[derive(Clone, Debug)]
pub(super) struct Hello {
    pub(super) sighting: Sighting,
    /// Changes when a server restarts or another one takes its place; unknown where `INFO` is forbidden.
    pub(super) run_id: Option<String>,
    /// The server's `maxmemory-policy` when it is one that may evict held locks.
    pub(super) evicts_by: Option<String>,
}

/// Everything that opening a connection takes.
#[derive(Clone)]
pub(super) struct Dialler {
    target: Target,
    options: Options,
    clock: Clock,
    /// All but the password.
    login: RedisConnectionInfo,
    credentials: Reader,
}

/// A connection that is ready to use.
pub(super) struct Dialled {
    pub(super) connection: MultiplexedConnection,
    pub(super) driver: Driver,
    pub(super) hello: Hello,
}

impl Dialler {
    pub(super) fn new(target: &Target, options: &Options, clock: &Clock) -> Dialler {
        let mut login = RedisConnectionInfo::default()
            .set_db(options.db)
            .set_protocol(ProtocolVersion::RESP3)
            .set_lib_name("libdlock", env!("CARGO_PKG_VERSION"));
        if let Some(user) = &options.user {
            login = login.set_username(user);
        }
        let credentials = Reader::default();
        Dialler { target: target.clone(), options: options.clone(), clock: clock.clone(), login, credentials }
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    pub(super) fn ping_interval(&self) -> Duration {
        self.options.ping_interval
    }

    /// A connection error that names the server.
    pub(super) fn error(&self, what: &str) -> Error {
        Error::new(ErrorKind::Connection, "connect", format!("{} {what}", self.target))
    }

    /// Why a connection failed.
    pub(super) fn judge(&self, error: &RedisError) -> DialError {
        // The next connection reads the password anew.
        let password_may_change = matches!(self.options.password_source, Some(PasswordSource::File(_)));
        verdict::of_dialling(error, &self.target, password_may_change)
    }

    /// As [`Dialler::judge`], for the caller of `connect` if it is the `first` connection: whether it is the URL that is wrong.
    async fn explain(&self, error: RedisError, first: bool) -> DialError {
        match &self.target {
            Target::Tcp { host, port, tls: false }
                if first && error.is_connection_dropped() && probe::speaks_tls(host, *port).await =>
            {
                self.judge(&io::Error::from(Absurd::Encrypted).into())
            }
            _ => self.judge(&error),
        }
    }

    /// One connection, ready to use, within `connect_timeout`. `first` if its client has had none. `cause` is told when this
    /// side ends it because of its bytes.
    pub(super) async fn dial(
        &self,
        first: bool,
        cause: Cause,
        push: impl Fn(PushInfo) -> std::result::Result<(), ()> + Send + Sync + 'static,
    ) -> Result<Dialled, DialError> {
        let limit = self.options.connect_timeout;
        let config = AsyncConnectionConfig::new()
            // Ours, below, covers the handshake too, and names the limit.
            .set_connection_timeout(None)
            // Each request has a limit of its own; this would be a second timer for it.
            .set_response_timeout(None)
            .set_push_sender(push);
        let open = async {
            let credentials = self.credentials.read(&self.options, self.target.is_tls()).await;
            let credentials = credentials.map_err(|error| unreadable(error, first))?;
            let opened = async {
                let transport = self.open(credentials.tls.as_ref()).await?;
                self.log_in(transport, credentials.password, cause, config).await
            };
            let (mut connection, driver) = match opened.await {
                Ok(opened) => opened,
                Err(error) => return Err(self.explain(error, first).await),
            };
            let hello = self.greet(&mut connection).await?;
            Ok(Dialled { connection, driver, hello })
        };
        let timed_out = || DialError {
            error: self.error(&format!("did not answer within the connect time-out of {limit:?}")),
            passes: true,
        };
        tokio::time::timeout(limit, open).await.unwrap_or_else(|_| Err(timed_out()))
    }

    async fn log_in(
        &self,
        transport: Transport,
        password: Option<Secret>,
        cause: Cause,
        config: AsyncConnectionConfig,
    ) -> RedisResult<(MultiplexedConnection, Driver)> {
        let login = match password {
            Some(password) => self.login.clone().set_password(password.0),
            None => self.login.clone(),
        };
        let stream = Stream::new(transport, cause);
        let (connection, driver) = MultiplexedConnection::new_with_config(&login, stream, config).await?;
        Ok((connection, Driver::start(driver)))
    }

    async fn open(&self, tls: Option<&Tls>) -> io::Result<Transport> {
        match &self.target {
            Target::Tcp { host, port, .. } => transport::open(host, *port, tls).await,
            Target::Unix(path) => transport::open_unix(path).await,
            Target::Memory(_) => unreachable!("memory:// opens no connection"),
        }
    }

    /// What the next connection needs. May block on the file system.
    pub(super) fn read_credentials(&self) -> Result<Credentials> {
        Credentials::read(&self.options, self.target.is_tls())
    }

    /// For a thread that blocks.
    pub(super) fn open_blocking(&self, tls: Option<&Tls>) -> io::Result<BlockingTransport> {
        let (limit, clock) = (self.options.connect_timeout, &self.clock);
        match &self.target {
            Target::Tcp { host, port, .. } => transport::open_blocking(host, *port, tls, limit, clock),
            Target::Unix(path) => transport::open_unix_blocking(path, limit, clock),
            Target::Memory(_) => unreachable!("memory:// opens no connection"),
        }
    }

    /// Asks the time, which requests need to tell old bytes from new ones, and who the server is; one round trip.
    async fn greet(&self, connection: &mut MultiplexedConnection) -> Result<Hello, DialError> {
        let (mut for_time, mut for_info, mut for_memory) = (connection.clone(), connection.clone(), connection.clone());
        let mut name = Cmd::new();
        name.arg("CLIENT").arg("SETNAME").arg(&self.options.client_name);
        let info = |section: &str| {
            let mut info = Cmd::new();
            info.arg("INFO").arg(section);
            info
        };
        // Two commands: Redis 6.2 takes one section at a time.
        let (info, memory) = (info("server"), info("memory"));
        let time = redis::cmd("TIME");
        let (_, time, info, memory) = tokio::join!(
            // Only for those who look at the server: a refusal by its access rules changes nothing.
            name.query_async::<Value>(connection),
            time.query_async::<Value>(&mut for_time),
            info.query_async::<Value>(&mut for_info),
            memory.query_async::<Value>(&mut for_memory),
        );
        let time = time.map_err(|error| self.judge(&error))?;
        let strange =
            || DialError { error: self.error("did not answer TIME as a Redis server does").permanent(), passes: false };
        let server = read_time(time).ok_or_else(strange)?;
        let sighting = Sighting { server, at: self.clock.now() };
        let policy = memory.ok().and_then(|memory| read_info(memory, "maxmemory_policy:"));
        let evicts_by = policy.filter(|policy| policy != "noeviction");
        Ok(Hello { sighting, run_id: info.ok().and_then(read_run_id), evicts_by })
    }

    /// An answer within `response_timeout`.
    pub(super) async fn in_time<T>(&self, answer: impl Future<Output = RedisResult<T>>) -> RedisResult<T> {
        let timed_out = || Err(io::Error::from(io::ErrorKind::TimedOut).into());
        tokio::time::timeout(self.options.response_timeout, answer).await.unwrap_or_else(|_| timed_out())
    }

    /// Whether the connection answers.
    pub(super) async fn ping(&self, connection: &mut MultiplexedConnection) -> bool {
        let answer = self.in_time(redis::cmd("PING").query_async::<Value>(connection)).await;
        // An error reply ("I am busy") is an answer too.
        answer.map_or_else(|error| verdict::is_reply(&error), |_| true)
    }
}

/// What cannot be read. To the caller of `connect` it is an argument; later it may be a file that is just being replaced, and the
/// next connection reads it anew.
fn unreadable(error: Error, first: bool) -> DialError {
    let error = match error.kind() {
        ErrorKind::InvalidArgument if !first => Error::new(ErrorKind::Connection, "connect", error.message()),
        _ => error,
    };
    DialError { error, passes: false }
}

fn read_time(value: Value) -> Option<ServerTime> {
    let items = wire::list(reply(value)).ok()?;
    let part = |at: usize| wire::text(items.get(at)).ok()??.parse::<u64>().ok();
    ServerTime::told(part(0)?.checked_mul(1_000_000)?.checked_add(part(1)?)?)
}

pub(super) fn read_run_id(value: Value) -> Option<String> {
    read_info(value, "run_id:")
}

/// What stands behind `field` in a reply to INFO.
fn read_info(value: Value, field: &str) -> Option<String> {
    let text = wire::text(Some(&reply(value))).ok()??;
    text.lines().find_map(|line| line.strip_prefix(field)).map(|value| value.trim().to_owned())
}

#[cfg(all(test, feature = "tls"))]
mod tests {
    use libdlock_testkit::{Authority, Server, eventually};

    use super::*;
    use crate::config::Config;

    /// The connection is over before anything was asked, so that no request has the reason.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_login_after_tls_has_refused_says_why() {
        let authority = Authority::new("ours");
        let server = Server::options().tls(&authority.issue("server"), &authority, "yes").start();
        let mut config = Config::from_url(&server.tls_url()).unwrap();
        config.set("tls_ca_file", authority.file().to_str().unwrap()).unwrap();
        let dialler = Dialler::new(&config.target, &config.options, &config.clock);
        let credentials = dialler.read_credentials().unwrap();
        let transport = dialler.open(credentials.tls.as_ref()).await.unwrap();
        let refused = || server.log().contains("peer did not return a certificate");
        tokio::task::block_in_place(|| eventually(Duration::from_secs(10), "it refuses", refused));
        let login = dialler.log_in(transport, None, Cause::default(), AsyncConnectionConfig::new());
        let said = dialler.judge(&login.await.map(drop).unwrap_err()).error;
        assert!(said.message().contains("wants a client certificate"), "{said}");
    }
}
