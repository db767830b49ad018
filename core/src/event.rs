//! What a client says about itself while it works: for logs, never needed for correctness.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// How much an [`Event`] matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For those who look for a fault in libdlock itself.
    Debug,
    /// Worth a line in a log.
    Info,
    /// Something an operator should look at.
    Warn,
    /// A defect, or a promise that could not be kept.
    Error,
}

impl Level {
    /// The level's word, as loggers of every language have it: "debug", "info", "warn", "error".
    pub const fn as_str(self) -> &'static str {
        match self {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        }
    }
}

/// Something that happened in the background: a connection lost, a hold lost, a renewal that is late.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Event {
    /// How much it matters.
    pub level: Level,
    /// The object it is about, if it is about one.
    pub name: Option<String>,
    /// One sentence; never a secret.
    pub message: String,
}

/// Receives a client's events, on a thread of the runtime or on that of a caller: it must not block.
pub type EventSink = Arc<dyn Fn(&Event) + Send + Sync>;

/// Where a client's events go: to `tracing` and to the sink that the user gave, if any.
#[derive(Clone, Default)]
pub(crate) struct Events(pub(crate) Option<EventSink>);

impl Events {
    pub(crate) fn emit(&self, level: Level, name: Option<&str>, message: impl Into<String>) {
        let event = Event { level, name: name.map(str::to_owned), message: message.into() };
        let (object, text) = (event.name.as_deref().unwrap_or(""), event.message.as_str());
        match level {
            Level::Debug => tracing::debug!(object, "{text}"),
            Level::Info => tracing::info!(object, "{text}"),
            Level::Warn => tracing::warn!(object, "{text}"),
            Level::Error => tracing::error!(object, "{text}"),
        }
        if let Some(sink) = &self.0 {
            // A sink that panics is the user's; it must not take the client along.
            let _ = catch_unwind(AssertUnwindSafe(|| sink(&event)));
        }
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Events(sink)" } else { "Events" })
    }
}
