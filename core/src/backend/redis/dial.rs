//! Opens one connection: socket options, RESP3, authentication, and what has to be known of the server.

use std::io;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Cmd, ProtocolVersion, PushInfo, RedisConnectionInfo, RedisError, RedisResult, Value,
};

use super::credentials::{Credentials, Reader, Wanted};
use super::driver::Driver;
use super::endpoint::{Endpoint, Route};
use super::framing::Absurd;
use super::probe;
use super::reply::reply;
use super::stream::{Cause, Stream};
use super::tls::Tls;
use super::transport::{self, BlockingTransport, Transport};
use super::verdict::{self, DialError, Passes};
use crate::backend::Sighting;
use crate::config::{Address, Options, Secret, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Events;
use crate::step::wire;
use crate::time::{Clock, ServerTime};

/// What a new connection tells about its server.
#[derive(Clone, Debug)]
pub(super) struct Hello {
    pub(super) sighting: Sighting,
    /// Changes when a server restarts or another one takes its place; unknown where `INFO` is forbidden.
    pub(super) run_id: Option<String>,
    /// How long it has run, as it says itself; unknown where `INFO` is forbidden.
    pub(super) uptime: Option<Duration>,
    /// The server's `maxmemory-policy` when it is one that may evict held locks.
    pub(super) evicts_by: Option<String>,
}

/// Everything that opening a connection takes.
#[derive(Clone)]
pub(super) struct Dialler {
    target: Target,
    route: Route,
    options: Options,
    clock: Clock,
    /// All but the password.
    login: RedisConnectionInfo,
    wanted: Wanted,
    credentials: Reader,
}

/// A connection that is ready to use.
pub(super) struct Dialled {
    pub(super) connection: MultiplexedConnection,
    pub(super) driver: Driver,
    /// The server that it leads to.
    pub(super) endpoint: Endpoint,
    pub(super) hello: Hello,
}

impl Dialler {
    pub(super) fn new(target: &Target, options: &Options, clock: &Clock, events: &Events) -> Dialler {
        Dialler {
            target: target.clone(),
            route: Route::new(target, options, events),
            options: options.clone(),
            clock: clock.clone(),
            login: login(options.user.as_deref()).set_db(options.db),
            wanted: Wanted::new(options.password.as_ref(), options, target.is_tls()),
            credentials: Reader::default(),
        }
    }

    pub(super) fn route(&self) -> &Route {
        &self.route
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

    /// A connection error that names what the URL says.
    pub(super) fn error(&self, what: &str) -> Error {
        Error::new(ErrorKind::Connection, "connect", format!("{} {what}", self.target))
    }

    /// Why a connection to this server failed.
    pub(super) fn judge(&self, error: &RedisError, endpoint: &Endpoint) -> DialError {
        // The next connection reads the password anew.
        verdict::of_dialling(error, endpoint, self.wanted.password_may_change())
    }

    /// As [`Dialler::judge`], for the caller of `connect` if it is the `first` connection: whether it is the URL that is wrong.
    async fn explain(&self, error: RedisError, endpoint: &Endpoint, first: bool) -> DialError {
        match endpoint.address() {
            Some(Address { host, port })
                if first
                    && !self.target.is_tls()
                    && error.is_connection_dropped()
                    && probe::speaks_tls(host, *port).await =>
            {
                self.judge(&io::Error::from(Absurd::Encrypted).into(), endpoint)
            }
            _ => self.judge(&error, endpoint),
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
        let (limit, began) = (self.options.connect_timeout, self.clock.now());
        let config = AsyncConnectionConfig::new()
            // Ours, below, covers the handshake too, and names the limit.
            .set_connection_timeout(None)
            // Each request has a limit of its own; this would be a second timer for it.
            .set_response_timeout(None)
            .set_push_sender(push);
        let endpoint = self.route.find(limit, first).await?;
        let open = async {
            let credentials = self.credentials.read(&self.wanted).await;
            let credentials = credentials.map_err(|error| unreadable(error, first))?;
            let opened = async {
                let transport = open(&endpoint, credentials.tls.as_ref()).await?;
                self.log_in(transport, credentials.password, cause, config).await
            };
            let (mut connection, driver) = match opened.await {
                Ok(opened) => opened,
                Err(error) => return Err(self.explain(error, &endpoint, first).await),
            };
            let hello = self.greet(&mut connection, &endpoint).await?;
            Ok((connection, driver, hello))
        };
        let left = limit.saturating_sub(self.clock.now().since(began));
        let dialled = tokio::select! {
            biased;
            dialled = tokio::time::timeout(left, open) => {
                dialled.unwrap_or_else(|_| Err(verdict::of_silence(limit, &endpoint)))
            }
            // It may be one that does not answer: this connection would be given up as soon as it was there.
            () = self.route.left(&endpoint) => Err(verdict::of_leaving(&endpoint)),
        };
        match dialled {
            Ok((connection, driver, hello)) => Ok(Dialled { connection, driver, endpoint, hello }),
            Err(failed) => {
                self.route.failed(&endpoint);
                Err(failed)
            }
        }
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

    /// What the next connection needs. May block on the file system.
    pub(super) fn read_credentials(&self) -> Result<Credentials> {
        Credentials::read(&self.wanted)
    }

    /// For a thread that blocks.
    pub(super) fn open_blocking(&self, endpoint: &Endpoint, tls: Option<&Tls>) -> io::Result<BlockingTransport> {
        let (limit, clock) = (self.options.connect_timeout, &self.clock);
        match endpoint {
            Endpoint::Tcp(Address { host, port }) | Endpoint::Master { address: Address { host, port }, .. } => {
                transport::open_blocking(host, *port, tls, limit, clock)
            }
            Endpoint::Unix(path) => transport::open_unix_blocking(path, limit, clock),
        }
    }

    /// Asks the time, which requests need to tell old bytes from new ones, and who the server is; one round trip.
    async fn greet(&self, connection: &mut MultiplexedConnection, endpoint: &Endpoint) -> Result<Hello, DialError> {
        let mut name = Cmd::new();
        name.arg("CLIENT").arg("SETNAME").arg(&self.options.client_name);
        // One section in each: Redis 6.2 takes no more.
        let info = |section: &str| {
            let mut info = Cmd::new();
            info.arg("INFO").arg(section);
            info
        };
        let ask = |command: Cmd| {
            let mut connection = connection.clone();
            async move { command.query_async::<Value>(&mut connection).await }
        };
        let replication = async {
            match endpoint {
                Endpoint::Master { .. } => ask(info("replication")).await.ok(),
                Endpoint::Tcp(_) | Endpoint::Unix(_) => None,
            }
        };
        let (_, time, info, memory, replication) = tokio::join!(
            // Only for those who look at the server: a refusal by its access rules changes nothing.
            ask(name),
            ask(redis::cmd("TIME")),
            ask(info("server")),
            ask(info("memory")),
            replication,
        );
        let info = info.ok();
        let field = |info: &Option<Value>, field: &str| info.clone().and_then(|info| read_info(info, field));
        // Valkey says it without Redis in it.
        let mode = field(&info, "redis_mode:").or_else(|| field(&info, "server_mode:"));
        if mode.as_deref() == Some("sentinel") {
            return Err(verdict::of_a_sentinel(endpoint));
        }
        let time = time.map_err(|error| self.judge(&error, endpoint))?;
        let strange = || DialError {
            error: endpoint.error("did not answer TIME as a Redis server does").permanent(),
            passes: Passes::Never,
        };
        let server = read_time(time).ok_or_else(strange)?;
        if field(&replication, "role:").as_deref() == Some("slave") {
            return Err(verdict::of_a_replica(endpoint));
        }
        let sighting = Sighting { server, at: self.clock.now() };
        let evicts_by = field(&memory.ok(), "maxmemory_policy:").filter(|policy| policy != "noeviction");
        let uptime =
            field(&info, "uptime_in_seconds:").and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs);
        Ok(Hello { sighting, run_id: field(&info, "run_id:"), uptime, evicts_by })
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

/// What every connection says about itself: all but the password and the database.
pub(super) fn login(user: Option<&str>) -> RedisConnectionInfo {
    let login = RedisConnectionInfo::default()
        .set_protocol(ProtocolVersion::RESP3)
        .set_lib_name("libdlock", env!("CARGO_PKG_VERSION"));
    match user {
        Some(user) => login.set_username(user),
        None => login,
    }
}

async fn open(endpoint: &Endpoint, tls: Option<&Tls>) -> io::Result<Transport> {
    match endpoint {
        Endpoint::Tcp(Address { host, port }) | Endpoint::Master { address: Address { host, port }, .. } => {
            transport::open(host, *port, tls).await
        }
        Endpoint::Unix(path) => transport::open_unix(path).await,
    }
}

/// A file or a variable that cannot be read, which to the caller of `connect` is an argument.
fn unreadable(error: Error, first: bool) -> DialError {
    DialError { error: if first { error } else { told_later(error) }, passes: Passes::Never }
}

/// An error for callers of anything but `connect`. A file that cannot be read may just be replaced, and the next
/// connection reads it again.
pub(super) fn told_later(error: Error) -> Error {
    match error.kind() {
        ErrorKind::InvalidArgument => Error::new(ErrorKind::Connection, "connect", error.message()),
        _ => error,
    }
}

fn read_time(value: Value) -> Option<ServerTime> {
    let items = wire::list(reply(value)).ok()?;
    let part = |at: usize| wire::text(items.get(at)).ok()??.parse::<u64>().ok();
    ServerTime::told(part(0)?.checked_mul(1_000_000)?.checked_add(part(1)?)?)
}

/// What stands behind `field` in a reply to INFO.
pub(super) fn read_info(value: Value, field: &str) -> Option<String> {
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
        let dialler = Dialler::new(&config.target, &config.options, &config.clock, &config.events);
        let credentials = dialler.read_credentials().unwrap();
        let endpoint = dialler.route().find(Duration::from_secs(1), true).await.unwrap();
        let transport = open(&endpoint, credentials.tls.as_ref()).await.unwrap();
        let refused = || server.log().contains("peer did not return a certificate");
        tokio::task::block_in_place(|| eventually(Duration::from_secs(10), "it refuses", refused));
        let login = dialler.log_in(transport, None, Cause::default(), AsyncConnectionConfig::new());
        let said = dialler.judge(&login.await.map(drop).unwrap_err(), &endpoint).error;
        assert!(said.message().contains("wants a client certificate"), "{said}");
    }
}
