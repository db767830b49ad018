//! What a client says about itself while it works: for logs, never needed for correctness.
//!
//! # Spans
//! What waits and what is asked of the server is in spans of [`tracing`], with the target `libdlock`. Each has the field `object`,
//! the name on the server, and `outcome`, which is the kind of the error when there was one, and is missing when the caller gave
//! up.
//!
//! | span | level | of | other fields |
//! |---|---|---|---|
//! | `acquire` | debug | a caller that wants a lock, permits, a side of a read-write lock, a job | `kind`; `token`, where a grant has one |
//! | `rate_limit` | debug | a caller that wants tokens, unless its client has fetched them ahead | `cost`, `remaining` |
//! | `request` | trace | a script that runs on the server, with its repeats | `op` |
//!
//! A request for several objects, or for several callers at once, has no span: it belongs to none of them.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::text;

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
///
/// ```
/// use std::sync::Arc;
///
/// use libdlock::event::{Event, Level};
/// use libdlock::{Client, Config};
///
/// let mut config = Config::from_url("memory://")?;
/// config.on_event(Arc::new(|event: &Event| {
///     if event.level >= Level::Warn {
///         eprintln!("{}: {}", event.name.as_deref().unwrap_or("libdlock"), event.message);
///     }
/// }));
/// let client = Client::blocking_connect_with(config)?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Event {
    /// How much it matters.
    pub level: Level,
    /// The object it is about, if it is about one; its name as it is, not escaped.
    pub name: Option<String>,
    /// The fencing token of the hold it is about, if it is about one.
    pub token: Option<u64>,
    /// The owner's field of that hold on the server, `<client uuid>:<n>`.
    pub owner: Option<String>,
    /// One sentence in one line, without control characters; never a secret.
    pub message: String,
}

/// Receives a client's events, on a thread of the runtime or on that of a caller: it must not block.
pub type EventSink = Arc<dyn Fn(&Event) + Send + Sync>;

/// Where a client's events go: to `tracing` and to the sink that the user gave, if any.
#[derive(Clone, Default)]
pub(crate) struct Events(pub(crate) Option<EventSink>);

/// The hold that an event is about.
pub(crate) struct OfHold<'a> {
    pub(crate) name: &'a str,
    pub(crate) token: u64,
    pub(crate) owner: &'a str,
}

impl Events {
    /// Tells of something about the client, or about one object of it.
    pub(crate) fn emit(&self, level: Level, name: Option<&str>, message: impl Into<String>) {
        let name = name.map(str::to_owned);
        self.send(Event { level, name, token: None, owner: None, message: text::message(message) });
    }

    /// Tells of something about one hold.
    pub(crate) fn emit_of(&self, level: Level, hold: OfHold<'_>, message: impl Into<String>) {
        let (name, owner) = (Some(hold.name.to_owned()), Some(hold.owner.to_owned()));
        self.send(Event { level, name, token: Some(hold.token), owner, message: text::message(message) });
    }

    fn send(&self, event: Event) {
        // An `Option` that is `None` is no field of the tracing event.
        let (object, token, owner) = (event.name.as_deref().unwrap_or(""), event.token, event.owner.as_deref());
        let text = event.message.as_str();
        match event.level {
            Level::Debug => tracing::debug!(object, token, owner, "{text}"),
            Level::Info => tracing::info!(object, token, owner, "{text}"),
            Level::Warn => tracing::warn!(object, token, owner, "{text}"),
            Level::Error => tracing::error!(object, token, owner, "{text}"),
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
