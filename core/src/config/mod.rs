//! How a client is set up: where the server is, and every option with its unit, bounds and default.

mod names;
mod options;
mod quorum;
mod range;
mod spec;
mod table;
mod tls;
mod url;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use options::{Options, Password, Secret};
pub(crate) use range::Range;
pub use table::{MAX_LEASE, MIN_LEASE};

use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, Events};
use crate::text::part;
use crate::time::{Clock, ManualClock};

/// A host and a port: of a server or of a sentinel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    /// An IPv6 address without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Address {
    /// What a server has told of another one, if it may be an address: errors and logs show it.
    pub(crate) fn told(host: &str, port: u16) -> Option<Address> {
        const LONGEST: usize = 255;
        let may_be_one =
            port > 0 && (1..=LONGEST).contains(&host.len()) && host.bytes().all(|byte| byte.is_ascii_graphic());
        may_be_one.then(|| Address { host: host.to_owned(), port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Address { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

/// Sentinels, which know where the master of a name is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Sentinels {
    /// Those that the URL names, each once, in its order; at least one.
    pub(crate) addresses: Vec<Address>,
    pub(crate) master: String,
}

impl fmt::Display for Sentinels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" of the sentinels ", part(&self.master))?;
        for (at, address) in self.addresses.iter().enumerate() {
            write!(f, "{}{address}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// Nodes of a cluster, which know all others.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Nodes {
    /// Those that the URL names, each once, in its order; at least one.
    pub(crate) addresses: Vec<Address>,
    pub(crate) tls: bool,
}

impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses: Vec<String> = self.addresses.iter().map(Address::to_string).collect();
        write!(f, "the cluster of {}", addresses.join(", "))
    }
}

/// Independent servers, of which a majority grants a lock.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Servers {
    /// All of them, each once; at least two.
    pub(crate) addresses: Vec<Address>,
    pub(crate) tls: bool,
}

impl Servers {
    /// More than half of them.
    pub(crate) fn majority(&self) -> usize {
        self.addresses.len() / 2 + 1
    }
}

impl fmt::Display for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses: Vec<String> = self.addresses.iter().map(Address::to_string).collect();
        write!(f, "a majority of {}", addresses.join(", "))
    }
}

/// Where the state lives.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Tcp {
        address: Address,
        tls: bool,
    },
    Unix(PathBuf),
    /// The master that sentinels name, whichever server that is at the time. TLS is spoken with the sentinels, too.
    Master {
        sentinels: Sentinels,
        tls: bool,
    },
    /// All nodes of a cluster, each of which has a part of the objects.
    Cluster(Nodes),
    /// Several independent servers, each of which has all objects.
    Quorum(Servers),
    /// In this process; a named one is shared by all clients of the process that name it.
    Memory(Option<String>),
}

impl Target {
    /// Whether TLS is spoken with the server.
    pub(crate) fn is_tls(&self) -> bool {
        match self {
            Target::Tcp { tls, .. } | Target::Master { tls, .. } | Target::Cluster(Nodes { tls, .. }) => *tls,
            Target::Quorum(servers) => servers.tls,
            Target::Unix(_) | Target::Memory(_) => false,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Tcp { address, .. } => address.fmt(f),
            Target::Unix(path) => write!(f, "{}", path.display()),
            Target::Master { sentinels, .. } => write!(f, "the master {sentinels}"),
            Target::Cluster(nodes) => nodes.fmt(f),
            Target::Quorum(servers) => servers.fmt(f),
            Target::Memory(name) => write!(f, "memory://{}", name.as_deref().unwrap_or("")),
        }
    }
}

/// Everything that [`Client::connect_with`](crate::Client::connect_with) needs to know.
///
/// ```
/// let mut config = libdlock::Config::from_url("redis://127.0.0.1:6379/0?lease=10s")?;
/// config.set("poll_interval", "500ms")?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone)]
pub struct Config {
    pub(crate) target: Target,
    pub(crate) options: Options,
    /// By [`Config::set`].
    given: names::Given,
    pub(crate) clock: Clock,
    pub(crate) events: Events,
}

impl Config {
    /// Reads a URL. No I/O.
    ///
    /// | form | meaning |
    /// |---|---|
    /// | `redis://[user[:password]@]host[:port][/db][?option=value&...]` | TCP, port 6379 by default |
    /// | `rediss://...` | the same with TLS, as the options `tls_...` say |
    /// | `unix://[user[:password]@]/path/of/socket[?db=0&...]` | Unix socket |
    /// | `redis+sentinel://[user[:password]@]host[:port][,host[:port]...]/master[/db][?...]` | the master of that name, as these sentinels name it; their port is 26379 by default, user and password are those of the master |
    /// | `rediss+sentinel://...` | the same with TLS, with the sentinels as with the master |
    /// | `redis+cluster://[user[:password]@]host[:port][,host[:port]...][/db][?...]` | the cluster of which these are some nodes |
    /// | `rediss+cluster://...` | the same with TLS |
    /// | `redis+quorum://[user[:password]@]host[:port],host[:port],host[:port]...[/db][?...]` | all of these independent servers, of which a majority grants each lock; other objects are refused |
    /// | `rediss+quorum://...` | the same with TLS |
    /// | `memory://` and `memory://NAME` | in this process: private to the client, or shared under a name |
    ///
    /// `valkey` stands for `redis`, `valkeys` for `rediss`, `redis+unix` and `valkey+unix` for `unix`. Options are those of
    /// [`Config::set`], but for those that name a file or a variable with a password; none may be given twice. What a URL cannot
    /// hold as it is (`@ : / ? # & + % ,` and control characters in a user, password, name or value) is percent-encoded.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`], saying which part was refused and what is allowed; [`ErrorKind::Unsupported`] for TLS
    /// where the crate was built without its feature `tls`.
    pub fn from_url(url: &str) -> Result<Config> {
        url::parse(url)
    }

    /// Refuses options that do not go together, which can be told only when all are set.
    pub(crate) fn check(&self) -> Result<()> {
        if self.options.replicas > 0 && matches!(self.target, Target::Memory(_)) {
            return Err(invalid("option replicas: memory:// has no replicas; leave the option out, or use a server"));
        }
        tls::check(&self.target, &self.options)?;
        quorum::check(&self.target, &self.options)
    }

    pub(crate) fn for_target(target: Target) -> Config {
        Config {
            target,
            options: Options::default(),
            given: names::Given::default(),
            clock: Clock::default(),
            events: Events::default(),
        }
    }

    /// Sets one option by its name in the table of defaults: `lock.cohort_max`, or without the group, `cohort_max`.
    ///
    /// Durations are a number with `us`, `ms`, `s`, `m` or `h`, or a bare number of milliseconds; booleans are `true` and
    /// `false`; `token_ttl` may be `none`. `password_env` and `password_file` read the password from the environment or a
    /// file, now and again for each connection, so that it stands in no command line and may be changed; so do
    /// `sentinel_password_env` and `sentinel_password_file`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] names the option, the value given and what is allowed; an unknown option lists the
    /// known ones; one that is set under both its names is refused. A refused password is never repeated.
    pub fn set(&mut self, option: &str, value: &str) -> Result<()> {
        self.given.note(option, false)?;
        self.options.set(option, value)
    }

    /// Receives what the client has to say in the background. Called on a thread of the runtime or on that of a caller: it
    /// must not block.
    pub fn on_event(&mut self, sink: Arc<dyn Fn(&Event) + Send + Sync>) {
        self.events = Events(Some(sink));
    }

    /// The option `runtime_threads`: how many worker threads a binding should give the runtime that it makes. A runtime that is
    /// there already, as in Rust, is used as it is.
    pub fn runtime_threads(&self) -> usize {
        self.options.runtime_threads as usize
    }

    /// Lets a test move the time of a private `memory://` client.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for any other target: a server keeps its own time.
    pub fn clock(&mut self, clock: ManualClock) -> Result<()> {
        if self.target != Target::Memory(None) {
            let message = "a manual clock works only with a private memory:// client: a server keeps its own time";
            return Err(Error::new(ErrorKind::Unsupported, "configure", message));
        }
        self.clock = Clock::Manual(clock);
        Ok(())
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Options prints no secret.
        f.debug_struct("Config").field("target", &self.target.to_string()).field("options", &self.options).finish()
    }
}

pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, "configure", message)
}

fn refused(what: impl fmt::Display, allowed: impl Into<String>) -> Error {
    Error::refused(ErrorKind::InvalidArgument, "configure", what, allowed)
}

/// Refuses a lease outside [`MIN_LEASE`] to [`MAX_LEASE`].
pub(crate) fn check_lease(op: &'static str, lease: Duration) -> Result<Duration> {
    check_length(op, "lease", lease)
}

/// As [`check_lease`], of the lease that a lock's watchdog renews.
pub(crate) fn check_watchdog_lease(op: &'static str, lease: Duration) -> Result<Duration> {
    check_length(op, "watchdog lease", lease)
}

fn check_length(op: &'static str, what: &str, lease: Duration) -> Result<Duration> {
    if (MIN_LEASE..=MAX_LEASE).contains(&lease) {
        return Ok(lease);
    }
    let given = format_args!("{what} {lease:?} is out of range");
    Err(Error::refused(ErrorKind::InvalidArgument, op, given, Range::LEASE.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_private_memory_client_supports_a_manual_clock() {
        for (url, supported) in [("memory://", true), ("memory://shared", false), ("redis://h", false)] {
            let set = Config::from_url(url).unwrap().clock(ManualClock::default());
            let kind = set.map_err(|error| error.kind());
            assert_eq!(kind, if supported { Ok(()) } else { Err(ErrorKind::Unsupported) }, "{url}");
        }
    }
}
