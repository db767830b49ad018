//! What tools ask of servers: which objects there are, who waits for one, how a server is set up, and which rights a user needs.
//!
//! Made for people who look, and not for programs that act on what they see: a list is of the past when it arrives.
//!
//! ```
//! use libdlock::survey::Kind;
//!
//! // For names that begin with `shop:`.
//! let rules = Kind::Lock.rules("shop:");
//! assert!(rules.contains(&"~shop:*".to_owned()) && rules.contains(&"+evalsha".to_owned()));
//! ```

mod facts;
mod glance;
mod glob;
mod kind;
mod list;
mod rules;
#[cfg(test)]
mod tests;
mod walk;
mod work;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use facts::ServerFacts;
pub use glance::{Glance, LockSeen};
pub use kind::Kind;
pub use list::{Found, Listing};
pub use rules::{CONNECTION_RULES, SURVEY_RULES};
pub use walk::{Step, Walk};

use crate::backend::OneServer;
use crate::context::Context;
use crate::error::{Error, ErrorKind, Result};
use crate::name::ObjectName;
use crate::step::{Reply, wire};

/// How many waiters are told at most.
const MOST_WAITERS: usize = 1_000;

/// A process that waits for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiter {
    /// The client, `<client uuid>`.
    pub client: String,
    /// How long it has stood in the queue, by the server's clock.
    pub waited: Duration,
}

impl Waiter {
    /// For tests of views.
    pub fn new(client: impl Into<String>, waited: Duration) -> Waiter {
        Waiter { client: client.into(), waited }
    }
}

/// Looks at the servers of a client; see [`Client::survey`](crate::Client::survey). Cheap to clone.
#[derive(Clone)]
pub struct Survey {
    context: Arc<Context>,
}

impl Survey {
    pub(crate) fn of(context: &Arc<Context>) -> Survey {
        Survey { context: context.clone() }
    }

    /// The processes that wait for this object, in the order of its queue: the first `most` of them, 1,000 at most. Some may have
    /// gone a moment ago. None for kinds without a queue.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidName`] for the name, [`ErrorKind::Unsupported`] on `memory://`; else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn waiters(&self, kind: Kind, name: &str, most: usize) -> Result<Vec<Waiter>> {
        const OP: &str = "waiters";
        let name = self.name(OP, name)?;
        let Some(queue) = kind.queue() else { return Ok(Vec::new()) };
        let (key, last) = (name.companion(queue), most.clamp(1, MOST_WAITERS) - 1);
        let range = ["ZRANGE", &key, "0", &last.to_string(), "WITHSCORES"].map(str::to_owned);
        self.servers(OP)?;
        let Some(server) = self.context.backend.server_with(&name) else { return Ok(Vec::new()) };
        let mut answers = self.ask(&server, OP, &[range.to_vec(), vec!["TIME".to_owned()]]).await?;
        let now = answers.pop().as_ref().and_then(time_of).unwrap_or(0);
        let entries = answers.pop().transpose().map_err(|error| error.on(name.as_str()))?.map(wire::list);
        Ok(waiters_of(entries.and_then(std::result::Result::ok).unwrap_or_default(), now))
    }

    /// What is left of the main key of this object: for a rate limiter with one rate, the time until it is full again. `None` when
    /// there is no such key, or it never expires.
    ///
    /// # Errors
    /// As of [`Survey::waiters`].
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn time_left(&self, kind: Kind, name: &str) -> Result<Option<Duration>> {
        const OP: &str = "time left";
        let name = self.name(OP, name)?;
        let key = match kind {
            Kind::RateLimiter => name.companion("dlock_limit"),
            _ => name.as_str().to_owned(),
        };
        self.servers(OP)?;
        let Some(server) = self.context.backend.server_with(&name) else { return Ok(None) };
        let answer = self.ask(&server, OP, &[vec!["PTTL".to_owned(), key]]).await?.pop();
        let left = answer.transpose().map_err(|error| error.on(name.as_given()))?;
        Ok(wire::unsigned(left.as_ref()).ok().map(Duration::from_millis))
    }

    /// The servers, each by itself.
    fn servers(&self, op: &'static str) -> Result<Vec<OneServer<'_>>> {
        self.context.check_open(op)?;
        let servers = self.context.backend.servers();
        if servers.is_empty() {
            let message = "memory:// has no server that could be looked at; connect to one";
            return Err(Error::new(ErrorKind::Unsupported, op, message));
        }
        Ok(servers)
    }

    /// Asks one server within `operation_timeout`.
    async fn ask(
        &self,
        server: &OneServer<'_>,
        op: &'static str,
        commands: &[Vec<String>],
    ) -> Result<Vec<Result<Reply>>> {
        let commands: Vec<Vec<&str>> =
            commands.iter().map(|words| words.iter().map(String::as_str).collect()).collect();
        server.ask(op, SURVEY_RULES, &commands, self.context.operation_deadline()).await
    }

    fn name(&self, op: &'static str, name: &str) -> Result<ObjectName> {
        let checked = ObjectName::new(&self.context.options.key_prefix, name);
        checked.map_err(|error| error.renamed(op))
    }
}

impl fmt::Debug for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Survey").field("target", &self.context.target).finish()
    }
}

/// The entries of a queue with their scores, which are times: one after the other, or in pairs, as the protocol has them.
fn waiters_of(entries: Vec<Reply>, now: u64) -> Vec<Waiter> {
    let flat = entries.into_iter().flat_map(|entry| match entry {
        Reply::List(pair) => pair,
        one => vec![one],
    });
    let (clients, scores): (Vec<_>, Vec<_>) = flat.enumerate().partition(|(place, _)| place % 2 == 0);
    let since = |score: &Reply| match score {
        Reply::Int(score) => u64::try_from(*score).ok(),
        score => text(score)?.parse().ok(),
    };
    let waiter = |((_, client), (_, score)): ((usize, Reply), (usize, Reply))| {
        let waited = Duration::from_micros(now.saturating_sub(since(&score).unwrap_or(now)));
        Some(Waiter::new(text(&client)?, waited))
    };
    clients.into_iter().zip(scores).filter_map(waiter).collect()
}

/// The answer to TIME, in microseconds.
fn time_of(answer: &Result<Reply>) -> Option<u64> {
    let Ok(Reply::List(parts)) = answer else { return None };
    let number = |at: usize| text(parts.get(at)?)?.parse::<u64>().ok();
    number(0)?.checked_mul(1_000_000)?.checked_add(number(1)?)
}

/// A string; `None` for anything else.
fn text(reply: &Reply) -> Option<String> {
    wire::text(Some(reply)).ok().flatten()
}
