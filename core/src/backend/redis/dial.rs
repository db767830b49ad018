//! Opens one connection: socket options, RESP3, authentication, and what has to be known of the server.

use std::io;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::socket2::{SockRef, TcpKeepalive};
use redis::{AsyncConnectionConfig, Cmd, ProtocolVersion, PushInfo, RedisConnectionInfo, RedisResult, Value};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::task::JoinSet;

use super::driver::Driver;
use super::verdict;
use crate::backend::Sighting;
use crate::config::{Options, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::step::wire;
use crate::time::{Clock, ServerTime};

/// What a new connection tells about its server.
#[derive(Clone, Debug)]
pub(super) struct Hello {
    pub(super) sighting: Sighting,
    /// Changes when a server restarts or another one takes its place; unknown where `INFO` is forbidden.
    pub(super) run_id: Option<String>,
}

/// Everything that opening a connection takes.
#[derive(Clone)]
pub(super) struct Dialler {
    target: Target,
    options: Options,
    clock: Clock,
    login: RedisConnectionInfo,
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
        if let Some(password) = &options.password {
            login = login.set_password(&password.0);
        }
        Dialler { target: target.clone(), options: options.clone(), clock: clock.clone(), login }
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
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

    /// One connection, ready to use, within `connect_timeout`.
    pub(super) async fn dial(
        &self,
        push: impl Fn(PushInfo) -> std::result::Result<(), ()> + Send + Sync + 'static,
    ) -> Result<Dialled> {
        let limit = self.options.connect_timeout;
        let config = AsyncConnectionConfig::new()
            // Ours, below, covers the handshake too, and names the limit.
            .set_connection_timeout(None)
            // Each request has a limit of its own; this would be a second timer for it.
            .set_response_timeout(None)
            .set_push_sender(push);
        let open = async {
            let opened = self.open(config).await;
            let (mut connection, driver) = opened.map_err(|error| verdict::of_dialling(&error, &self.target))?;
            let hello = self.greet(&mut connection).await?;
            Ok(Dialled { connection, driver, hello })
        };
        let timed_out = || self.error(&format!("did not answer within the connect time-out of {limit:?}"));
        tokio::time::timeout(limit, open).await.unwrap_or_else(|_| Err(timed_out()))
    }

    async fn open(&self, config: AsyncConnectionConfig) -> RedisResult<(MultiplexedConnection, Driver)> {
        match &self.target {
            Target::Tcp { host, port } => self.log_in(connect(host, *port).await?, config).await,
            Target::Unix(path) => self.log_in(UnixStream::connect(path).await?, config).await,
            Target::Memory(_) => unreachable!("memory:// opens no connection"),
        }
    }

    async fn log_in(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        config: AsyncConnectionConfig,
    ) -> RedisResult<(MultiplexedConnection, Driver)> {
        let (connection, driver) = MultiplexedConnection::new_with_config(&self.login, stream, config).await?;
        Ok((connection, Driver::start(driver)))
    }

    /// Asks the time, which requests need to tell old bytes from new ones, and who the server is; one round trip.
    async fn greet(&self, connection: &mut MultiplexedConnection) -> Result<Hello> {
        let (mut for_time, mut for_info) = (connection.clone(), connection.clone());
        let mut name = Cmd::new();
        name.arg("CLIENT").arg("SETNAME").arg(&self.options.client_name);
        let mut info = Cmd::new();
        info.arg("INFO").arg("server");
        let time = redis::cmd("TIME");
        let (_, time, info) = tokio::join!(
            // Only for those who look at the server: a refusal by its access rules changes nothing.
            name.query_async::<Value>(connection),
            time.query_async::<Value>(&mut for_time),
            info.query_async::<Value>(&mut for_info),
        );
        let time = time.map_err(|error| verdict::of_dialling(&error, &self.target))?;
        let server = read_time(time).ok_or_else(|| self.error("did not answer TIME as a Redis server does"))?;
        let sighting = Sighting { server, at: self.clock.now() };
        Ok(Hello { sighting, run_id: info.ok().and_then(read_run_id) })
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

/// To whichever of the host's addresses answers first.
async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut tries = JoinSet::new();
    for address in lookup_host((host, port)).await? {
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

fn read_time(value: Value) -> Option<ServerTime> {
    let items = wire::array(value).ok()?;
    let part = |at: usize| wire::text(items.get(at)).ok()??.parse::<u64>().ok();
    Some(ServerTime(part(0)? * 1_000_000 + part(1)?))
}

pub(super) fn read_run_id(value: Value) -> Option<String> {
    let text = match value {
        Value::VerbatimString { text, .. } => text,
        other => wire::text(Some(&other)).ok()??,
    };
    text.lines().find_map(|line| line.strip_prefix("run_id:")).map(|id| id.trim().to_owned())
}
