//! How a client is set up: where the server is, and every option with its unit, bounds and default.

mod options;
mod url;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use options::Options;

use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, Events};
use crate::time::{Clock, ManualClock};

/// The longest lease, given or as the watchdog's.
pub const MAX_LEASE: Duration = Duration::from_secs(24 * 3600);
/// The shortest lease.
pub const MIN_LEASE: Duration = Duration::from_millis(100);

/// Where the state lives.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Tcp {
        host: String,
        port: u16,
    },
    Unix(PathBuf),
    /// In this process; a named one is shared by all clients of the process that name it.
    Memory(Option<String>),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Target::Tcp { host, port } => write!(f, "{host}:{port}"),
            Target::Unix(path) => write!(f, "{}", path.display()),
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
    pub(crate) clock: Clock,
    pub(crate) events: Events,
}

impl Config {
    /// Reads a URL. No I/O, except for `password_file`.
    ///
    /// | form | meaning |
    /// |---|---|
    /// | `redis://[user[:password]@]host[:port][/db][?option=value&...]` | TCP, port 6379 by default |
    /// | `redis+unix:///path/of/socket[?db=0&...]` | Unix socket |
    /// | `memory://` and `memory://NAME` | in this process: private to the client, or shared under a name |
    ///
    /// Options are those of [`Config::set`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`], saying which part was refused and what is allowed.
    pub fn from_url(url: &str) -> Result<Config> {
        url::parse(url)
    }

    pub(crate) fn for_target(target: Target) -> Config {
        Config { target, options: Options::default(), clock: Clock::default(), events: Events::default() }
    }

    /// Sets one option by its name in the table of defaults.
    ///
    /// Durations are a number with `us`, `ms`, `s`, `m` or `h`, or a bare number of milliseconds; booleans are `true` and
    /// `false`; `token_ttl` may be `none`. `password_env` and `password_file` read the password from the environment or a
    /// file, so that it stands in no command line.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] names the option, the value given and what is allowed; an unknown option lists the
    /// known ones. A refused password is never repeated.
    pub fn set(&mut self, option: &str, value: &str) -> Result<()> {
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
    /// [`ErrorKind::InvalidArgument`] for any other target: a server keeps its own time.
    pub fn clock(&mut self, clock: ManualClock) -> Result<()> {
        if self.target != Target::Memory(None) {
            let message = "a manual clock works only with a private memory:// client: a server keeps its own time";
            return Err(invalid(message));
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

/// Refuses a lease outside [`MIN_LEASE`] to [`MAX_LEASE`].
pub(crate) fn check_lease(op: &'static str, lease: Duration) -> Result<Duration> {
    if (MIN_LEASE..=MAX_LEASE).contains(&lease) {
        return Ok(lease);
    }
    let message = format!("a lease of {lease:?} is not possible; it must be 100 ms to 24 h");
    Err(Error::new(ErrorKind::InvalidArgument, op, message))
}
