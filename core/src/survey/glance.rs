//! Many locks in one round trip, for a view that reads them again and again. Plain commands: they cost the server less than the
//! script that reads one lock at a single instant.

use std::time::Duration;

use super::list::is_owner;
use super::{Survey, text, time_of};
use crate::contended::token::{TOKEN, read_token};
use crate::error::{Error, ErrorKind, Result};
use crate::name::ObjectName;
use crate::step::{Reply, wire};
use crate::text::start_of;

const OP: &str = "glance";

/// So much of a holder that another program wrote is shown.
const HOLDER_BYTES: usize = 256;

/// The commands for one lock.
const EACH: usize = 5;

/// A lock as it was when its server read it; its parts may be a few microseconds apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockSeen {
    /// The owner, `<client uuid>:<n>`; `None` when the lock is free.
    pub holder: Option<String>,
    /// What is left of the lease; `None` when the lock is free, and for one that never expires.
    pub ttl: Option<Duration>,
    /// The last fencing token reserved for this name, as long as the server remembers it.
    pub token: Option<u64>,
    /// How many processes stand in the queue.
    pub queued: u64,
    /// How long ago the server granted the lock last, by its own clock: a token is the time of its grant, unless grants of one
    /// name are less than a microsecond apart or the clock was set back. `None` without a token.
    pub granted_ago: Option<Duration>,
}

/// What [`Survey::glance`] has seen.
#[derive(Debug)]
#[non_exhaustive]
pub struct Glance {
    /// In the order of the names. [`ErrorKind::WrongType`] for what is no lock.
    pub locks: Vec<Result<LockSeen>>,
    /// The processor time that the servers spent on it, by their own account, all of them together.
    pub busy: Duration,
}

impl Survey {
    /// Reads these locks, in one round trip to each server: for a few hundred names at a time.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] on `memory://` and for locks on several independent servers; else as a server says.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn glance(&self, names: &[&str]) -> Result<Glance> {
        self.servers(OP)?;
        let mut locks: Vec<Result<LockSeen>> = Vec::with_capacity(names.len());
        // By the address of the server.
        let mut at: Vec<(String, Vec<(usize, ObjectName)>)> = Vec::new();
        for (number, name) in names.iter().enumerate() {
            match self.name(OP, name) {
                Ok(name) => {
                    let server = self.context.backend.server_with(&name).ok_or_else(several)?;
                    let address = server.address();
                    match at.iter_mut().find(|(known, _)| *known == address) {
                        Some((_, names)) => names.push((number, name)),
                        None => at.push((address, vec![(number, name)])),
                    }
                    locks.push(Ok(LockSeen::default()));
                }
                Err(error) => locks.push(Err(error)),
            }
        }
        let mut busy = Duration::ZERO;
        for (_, names) in at {
            let Some(server) = self.context.backend.server_with(&names[0].1) else { continue };
            let mut commands = vec![vec!["TIME".to_owned()]];
            commands.extend(names.iter().flat_map(|(_, name)| of_lock(name)));
            commands.push(vec!["TIME".to_owned()]);
            let (mut answers, spent) = self.ask_and_measure(&server, OP, commands).await?;
            busy += spent;
            let ends = (answers.first().and_then(time_of), answers.last().and_then(time_of));
            let (began, ended) = (ends.0.unwrap_or(0), ends.1.unwrap_or(0));
            let span = u128::from(ended.saturating_sub(began));
            let mut answers = answers.drain(1..);
            let count = names.len() as u128;
            for (place, (number, name)) in (0u128..).zip(names) {
                // Commands of one client take about the same time each.
                let now = began + u64::try_from(span * (place + 1) / (count + 1)).unwrap_or(0);
                let parts: Vec<_> = answers.by_ref().take(EACH).collect();
                locks[number] = seen(parts, now).map_err(|error| error.on(name.as_given()));
            }
        }
        Ok(Glance { locks, busy })
    }
}

fn of_lock(name: &ObjectName) -> [Vec<String>; EACH] {
    let words = |command: &str, key: String| vec![command.to_owned(), key];
    [
        words("HRANDFIELD", name.as_str().to_owned()),
        words("PTTL", name.as_str().to_owned()),
        words("GET", name.companion(TOKEN)),
        words("ZCARD", name.companion(super::Kind::Lock.queue().unwrap_or_default())),
        // A read-write lock has owners, too, and this.
        ["HMGET", name.as_str(), "mode"].map(str::to_owned).to_vec(),
    ]
}

fn seen(parts: Vec<Result<Reply>>, now: u64) -> Result<LockSeen> {
    let parts = parts.into_iter().collect::<Result<Vec<_>>>()?;
    let holder = parts.first().and_then(text);
    let mode = match parts.get(4) {
        Some(Reply::List(fields)) => fields.first().and_then(text),
        _ => None,
    };
    if mode.is_some() || holder.as_deref().is_some_and(|holder| !is_owner(holder)) {
        return Err(Error::new(ErrorKind::WrongType, OP, "the key of this name is no lock").permanent());
    }
    let token = parts.get(2).and_then(text).as_deref().and_then(read_token);
    let malformed = |_| Error::new(ErrorKind::Server, OP, "the server answered as no version of it does").permanent();
    Ok(LockSeen {
        holder: holder.map(|holder| start_of(&holder, HOLDER_BYTES)),
        ttl: u64::try_from(wire::int(parts.get(1)).map_err(malformed)?).ok().map(Duration::from_millis),
        token,
        queued: wire::unsigned(parts.get(3)).map_err(malformed)?,
        granted_ago: token.filter(|_| now > 0).map(|token| Duration::from_micros(now.saturating_sub(token))),
    })
}

fn several() -> Error {
    let message = "locks on several independent servers are read one at a time, by `Lock::inspect`";
    Error::new(ErrorKind::Unsupported, OP, message)
}
