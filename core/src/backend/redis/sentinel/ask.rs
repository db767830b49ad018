//! Asks sentinels where the master is: one of them, or all at once.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, PushInfo, RedisConnectionInfo, RedisResult, Value};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::super::credentials::{Reader, Wanted};
use super::super::dial::{login, read_info};
use super::super::driver::Driver;
use super::super::stream::{Cause, Stream};
use super::super::{probe, transport, verdict};
use super::answer::{Answer, Named, others, text};
use super::refusal::Refusal;
use crate::config::{Address, Options};

/// So long the others may take when one has answered: those that are there answer as fast.
const AFTER_THE_FIRST: Duration = Duration::from_millis(250);

/// So long the rest may take when most have answered: a machine that is gone must not delay every connection.
const AFTER_A_MAJORITY: Duration = Duration::from_millis(30);

/// How a sentinel is asked.
#[derive(Clone)]
pub(super) struct Asker {
    pub(super) master: Arc<str>,
    /// All but the password.
    login: RedisConnectionInfo,
    wanted: Wanted,
    credentials: Reader,
    client_name: String,
}

/// A connection to a sentinel, for as long as this lives.
pub(super) struct Connection {
    connection: MultiplexedConnection,
    _driver: Driver,
}

/// What came of asking them all.
pub(super) struct Round {
    pub(super) answers: Vec<(Address, Answer)>,
    pub(super) refusals: Vec<(Address, Refusal)>,
}

impl Asker {
    pub(super) fn new(master: &str, tls: bool, options: &Options) -> Asker {
        Asker {
            master: master.into(),
            login: login(options.sentinel_user.as_deref()),
            wanted: Wanted::new(options.sentinel_password.as_ref(), options, tls),
            credentials: Reader::default(),
            client_name: options.client_name.clone(),
        }
    }

    /// Asks all of these at once. It takes as long as the last answer, but no longer than the rest may take when some have
    /// answered, nor than `limit`. Cancel safe.
    pub(super) async fn ask_all(&self, sentinels: Vec<Address>, limit: Duration) -> Round {
        let (mut asked, mut waiting) = (JoinSet::new(), sentinels.clone());
        for address in sentinels {
            let asker = self.clone();
            asked.spawn(async move {
                let answer = asker.ask_at(&address).await;
                (address, answer)
            });
        }
        let mut round = Round { answers: Vec::new(), refusals: Vec::new() };
        let mut until = Instant::now() + limit;
        while let Ok(Some(joined)) = timeout_at(until, asked.join_next()).await {
            // One that panicked stays among those that did not answer.
            let Ok((address, answer)) = joined else { continue };
            waiting.retain(|other| *other != address);
            match answer {
                Ok(answer) => round.answers.push((address, answer)),
                Err(refusal) => round.refusals.push((address, refusal)),
            }
            let is_most = round.answers.len() > waiting.len() + round.refusals.len();
            match round.answers.len() {
                0 => {}
                _ if is_most => until = until.min(Instant::now() + AFTER_A_MAJORITY),
                1 => until = until.min(Instant::now() + AFTER_THE_FIRST),
                _ => {}
            }
        }
        round.refusals.extend(waiting.into_iter().map(|address| (address, Refusal::Silent(limit))));
        round
    }

    async fn ask_at(&self, address: &Address) -> Result<Answer, Refusal> {
        let mut sentinel = self.open(address, AsyncConnectionConfig::new()).await?;
        self.ask(&mut sentinel).await
    }

    /// Opens a connection on which `push` hears the sentinel's messages and the end of the connection.
    pub(super) async fn listen_at(
        &self,
        address: &Address,
        push: impl Fn(PushInfo) -> Result<(), ()> + Send + Sync + 'static,
    ) -> Result<Connection, Refusal> {
        let mut opened = self.open(address, AsyncConnectionConfig::new().set_push_sender(push)).await?;
        // Only for those who look at the sentinel: a refusal changes nothing.
        let _ = opened.query(redis::cmd("CLIENT").arg("SETNAME").arg(&self.client_name)).await;
        Ok(opened)
    }

    async fn open(&self, address: &Address, config: AsyncConnectionConfig) -> Result<Connection, Refusal> {
        let Address { host, port } = address;
        let read = self.credentials.read(&self.wanted).await;
        let credentials = read.map_err(|error| Refusal::Unreadable(error.message().to_owned()))?;
        let login = match credentials.password {
            Some(password) => self.login.clone().set_password(password.0),
            None => self.login.clone(),
        };
        let opened = async {
            let transport = transport::open(host, *port, credentials.tls.as_ref()).await?;
            // The time is limited by who asks.
            let config = config.set_connection_timeout(None).set_response_timeout(None);
            MultiplexedConnection::new_with_config(&login, Stream::new(transport, Cause::default()), config).await
        };
        let (connection, driver) = match opened.await {
            Ok(opened) => opened,
            Err(error) if error.is_connection_dropped() && credentials.tls.is_none() => {
                return Err(match probe::speaks_tls(host, *port).await {
                    true => Refusal::SpeaksTls,
                    false => self.refusal(&error),
                });
            }
            Err(error) => return Err(self.refusal(&error)),
        };
        Ok(Connection { connection, _driver: Driver::start(driver) })
    }

    /// Where the master is, and what this sentinel knows besides. One round trip.
    pub(super) async fn ask(&self, sentinel: &mut Connection) -> Result<Answer, Refusal> {
        let ask = |what: &str| {
            let mut command = Cmd::new();
            command.arg("SENTINEL").arg(what);
            if what != "MYID" {
                command.arg(&*self.master);
            }
            let mut sentinel = sentinel.connection.clone();
            async move { command.query_async::<Value>(&mut sentinel).await }
        };
        let (address, master, sentinels, id) =
            tokio::join!(ask("GET-MASTER-ADDR-BY-NAME"), ask("MASTER"), ask("SENTINELS"), ask("MYID"));
        let address = address.map_err(|error| self.refusal(&error))?;
        let Some(named) = Named::read(&address, master.as_ref().ok()) else {
            return Err(match address {
                Value::Nil => Refusal::UnknownMaster { masters: sentinel.count_masters().await },
                _ => Refusal::Other("answered as no sentinel does".to_owned()),
            });
        };
        let others = sentinels.as_ref().map_or_else(|_| Vec::new(), others);
        Ok(Answer { id: id.ok().and_then(|id| text(&id).map(str::to_owned)), named, others })
    }

    fn refusal(&self, error: &redis::RedisError) -> Refusal {
        Refusal::of(error, self.wanted.password_may_change())
    }
}

impl Connection {
    async fn query(&mut self, command: &Cmd) -> RedisResult<Value> {
        command.query_async(&mut self.connection).await
    }

    /// Whether the sentinel lets this user listen; an error when it cannot be reached.
    pub(super) async fn subscribe(&mut self, channels: &[&str]) -> RedisResult<bool> {
        match self.connection.subscribe(channels).await {
            Ok(()) => Ok(true),
            Err(error) if verdict::is_reply(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// How many masters the sentinel watches.
    async fn count_masters(&mut self) -> Option<u64> {
        let info = self.query(redis::cmd("INFO").arg("sentinel")).await.ok()?;
        read_info(info, "sentinel_masters:")?.parse().ok()
    }
}
