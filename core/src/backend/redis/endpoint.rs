//! Which server a connection is dialled to, and how that is found out: from the URL, or by asking sentinels.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::sentinel::{News, Sentinels};
use super::verdict::DialError;
use crate::config::{Address, Options, Target};
use crate::error::{Error, ErrorKind};
use crate::event::Events;
use crate::text::part;

/// The server that a connection leads to, as errors name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Tcp(Address),
    Unix(PathBuf),
    /// The server that the sentinels named as the master of that name.
    Master {
        address: Address,
        name: Arc<str>,
    },
}

impl Endpoint {
    pub(super) fn address(&self) -> Option<&Address> {
        match self {
            Endpoint::Tcp(address) | Endpoint::Master { address, .. } => Some(address),
            Endpoint::Unix(_) => None,
        }
    }

    /// A connection error that names the server.
    pub(super) fn error(&self, what: &str) -> Error {
        Error::new(ErrorKind::Connection, "connect", format!("{self} {what}"))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp(address) => address.fmt(f),
            Endpoint::Unix(path) => write!(f, "{}", path.display()),
            Endpoint::Master { address, name } => write!(f, "the master \"{}\" ({address})", part(name)),
        }
    }
}

/// How the server is found. Clones share what is known.
#[derive(Clone)]
pub(super) enum Route {
    /// It is the one of the URL.
    Fixed(Endpoint),
    /// It is the one that the sentinels of the URL name at the time.
    Sentinels(Sentinels),
}

impl Route {
    pub(super) fn new(target: &Target, options: &Options, events: &Events) -> Route {
        match target {
            Target::Tcp { address, .. } => Route::Fixed(Endpoint::Tcp(address.clone())),
            Target::Unix(path) => Route::Fixed(Endpoint::Unix(path.clone())),
            Target::Master { sentinels, tls } => Route::Sentinels(Sentinels::new(sentinels, *tls, options, events)),
            Target::Cluster(_) | Target::Quorum(_) => unreachable!("each server is a target of its own"),
            Target::Memory(_) => unreachable!("memory:// opens no connection"),
        }
    }

    /// The server to dial now, found within `limit`. `first` if the client has had no connection. Cancel safe.
    pub(super) async fn find(&self, limit: Duration, first: bool) -> Result<Endpoint, DialError> {
        match self {
            Route::Fixed(endpoint) => Ok(endpoint.clone()),
            Route::Sentinels(sentinels) => sentinels.find(limit, first).await,
        }
    }

    /// Completes when a connection to that server is to be given up, because the sentinels name another one. Cancel safe.
    pub(super) async fn left(&self, endpoint: &Endpoint) {
        match self {
            Route::Fixed(_) => std::future::pending().await,
            Route::Sentinels(sentinels) => sentinels.left(endpoint).await,
        }
    }

    /// Tells when the sentinels name another server than now.
    pub(super) fn news(&self) -> News {
        self.sentinels().map_or_else(News::never, Sentinels::news)
    }

    /// The server could not be reached, or is no master.
    pub(super) fn failed(&self, endpoint: &Endpoint) {
        if let Route::Sentinels(sentinels) = self {
            sentinels.failed(endpoint);
        }
    }

    pub(super) fn sentinels(&self) -> Option<&Sentinels> {
        match self {
            Route::Fixed(_) => None,
            Route::Sentinels(sentinels) => Some(sentinels),
        }
    }
}
