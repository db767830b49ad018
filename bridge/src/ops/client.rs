//! Clients: opened, closed, given up.

use std::sync::Arc;

use libdlock::event::Event;
use libdlock::lease::HolderId;
use libdlock::{Client, Config, Result, embed};

use crate::client::ClientEntry;
use crate::ends::HandleEnd;
use crate::handle::Handle;
use crate::objects::ClockEntry;
use crate::state::State;

impl HandleEnd for ClientEntry {
    fn client(self: &Arc<Self>) -> Option<Arc<ClientEntry>> {
        Some(self.clone())
    }

    /// Closes, in the background, a client that was opened for nobody.
    fn undone(self: Arc<Self>, state: &'static State, _handle: Handle) {
        state.spawn(async move { self.client.close().await });
    }
}

/// Where the events of a client go.
#[derive(Clone, Copy, Debug)]
pub struct LogTo {
    /// The port; events end with it.
    pub port: Handle,
    /// What each event's completion carries, so that a host can tell its clients apart.
    pub user_data: u64,
}

/// Connects to `url` with `options` (names and values as in the table of options) on top of what the URL says. Events of
/// the client go to `log`, as long as that port lives.
///
/// # Errors
/// `InvalidArgument` for a bad URL, option or port, before any I/O; `Connection`, `NoPermission`, `Server` from connecting.
///
/// # Cancel safety
/// Dropped, it leaves no connection behind.
pub fn client_open(
    state: &'static State,
    url: String,
    options: Vec<(String, String)>,
    log: Option<LogTo>,
) -> impl Future<Output = Result<Handle>> + Send {
    // Before it is polled: what polls it makes the runtime, if there is none yet, and knows no options.
    opened(state, configure(state, &url, &options, log))
}

/// As [`client_open`], of a private `memory://` client whose time `clock` tells, a handle of
/// [`clock_new`](super::clock_new).
///
/// # Errors
/// Also `Unsupported` for any other URL.
pub fn client_open_at(
    state: &'static State,
    url: String,
    options: Vec<(String, String)>,
    log: Option<LogTo>,
    clock: Handle,
) -> impl Future<Output = Result<Handle>> + Send {
    let config = configure(state, &url, &options, log).and_then(|mut config| {
        config.clock(state.get::<ClockEntry>(clock, "connect")?.clock.clone())?;
        Ok(config)
    });
    opened(state, config)
}

async fn opened(state: &'static State, config: Result<Config>) -> Result<Handle> {
    let client = Client::connect_with(config?).await?;
    state.insert(Arc::new(ClientEntry::new(client)))
}

fn configure(state: &State, url: &str, options: &[(String, String)], log: Option<LogTo>) -> Result<Config> {
    let mut config = Config::from_url(url)?;
    for (name, value) in options {
        config.set(name, value)?;
    }
    if let Some(LogTo { port, user_data }) = log {
        let port = Arc::downgrade(&state.port(port)?);
        config.on_event(Arc::new(move |event: &Event| {
            if let Some(port) = port.upgrade() {
                port.log(user_data, event);
            }
        }));
    }
    state.engine.using(config.runtime_threads())?;
    Ok(config)
}

/// Closes the client: every waiter of it gets `Closed`, renewal stops. With `release` what it holds is released first;
/// without, leases run out. Closing twice is no error.
///
/// # Errors
/// With `release`: what kept a hold from being released. The client is closed all the same.
pub async fn client_close(state: &'static State, client: Handle, release: bool) -> Result<()> {
    let entry = state.get::<ClientEntry>(client, "close")?;
    if release {
        entry.client.close_releasing().await
    } else {
        entry.client.close().await;
        Ok(())
    }
}

/// Whether the client was closed, or is being closed.
pub fn client_is_closed(state: &State, client: Handle) -> Result<bool> {
    Ok(state.get::<ClientEntry>(client, "is closed")?.client.is_closed())
}

/// Stops the renewal of everything that `holder` holds through the client, with a warning and no I/O: for the end of a task
/// or of a thread that the host notices. The leases then run out.
pub fn client_abandon(state: &State, client: Handle, holder: HolderId) -> Result<()> {
    embed::abandon_all(&state.get::<ClientEntry>(client, "abandon")?.client, holder);
    Ok(())
}
