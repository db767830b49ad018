//! What a server shows of one object, of whatever kind, for `ls` and `inspect`.

use std::time::Duration;

use libdlock::survey::{Kind, LockSeen};
use libdlock::{Client, Error, ErrorKind};
use serde_json::{Map, Value, json};

use crate::duration;
use crate::exit::millis;
use crate::out::visible;

/// The state of an object that has to be made first, and was not.
pub const ABSENT: &str = "absent";

/// An object as it was a moment ago.
#[derive(Clone)]
pub struct Details {
    pub name: String,
    pub kind: Kind,
    /// One word: `held`, `free`, `used`, ...
    pub state: &'static str,
    /// Who holds it, or how much of it there is.
    pub what: String,
    pub left: Option<Duration>,
    pub queued: u64,
    /// Whether anybody has or waits for it, or it has something.
    pub in_use: bool,
    /// The fields of its kind.
    fields: Map<String, Value>,
}

impl Details {
    fn new(kind: Kind, name: &str) -> Details {
        let (what, fields) = (String::new(), Map::new());
        Details { name: name.to_owned(), kind, state: "there", what, left: None, queued: 0, in_use: true, fields }
    }

    /// Reads an object.
    ///
    /// # Errors
    /// As the server says; of [`ErrorKind::WrongType`] when it is no object of this kind.
    pub async fn read(client: &Client, kind: Kind, name: &str) -> Result<Details, Error> {
        let details = Details::new(kind, name);
        match kind {
            Kind::Lock => details.of_lock(client).await,
            Kind::RwLock => details.of_rw_lock(client).await,
            Kind::Semaphore | Kind::CountingSemaphore => details.of_semaphore(client).await,
            Kind::Latch => {
                let count = client.latch(name)?.count().await?;
                Ok(details.with(json!({ "count": count })).says(count > 0, ["closed", "open"], count.to_string()))
            }
            Kind::Queue => details.of_queue(client).await,
            Kind::RateLimiter => {
                let left = client.survey().time_left(kind, name).await?;
                let details = details.with(json!({ "full_after_ms": left.map(millis) }));
                let what = left.map_or("", |_| "the time until it is full again").to_owned();
                Ok(Details { state: "used", what, left, ..details })
            }
            // Of these the server does not say more, or only to those who know how they were made.
            _ => Ok(details),
        }
    }

    /// One that could not be read.
    pub fn unreadable(kind: Kind, name: &str, error: &Error) -> Details {
        let details = Details::new(kind, name).with(json!({ "error": error.message() }));
        Details { state: "unreadable", what: error.message().to_owned(), ..details }
    }

    async fn of_lock(self, client: &Client) -> Result<Details, Error> {
        let seen = client.lock(&self.name)?.inspect().await?;
        Ok(self.of_holder(seen.holder, seen.ttl, seen.token, seen.queued))
    }

    /// A lock that was read with others.
    pub fn of_seen(name: &str, seen: LockSeen) -> Details {
        Details::new(Kind::Lock, name).of_holder(seen.holder, seen.ttl, seen.token, seen.queued)
    }

    fn of_holder(self, holder: Option<String>, ttl: Option<Duration>, token: Option<u64>, queued: u64) -> Details {
        let details = self.with(json!({
            "holder": holder, "ttl_ms": ttl.map(millis), "token": token, "queued": queued,
        }));
        let state = if holder.is_some() { "held" } else { "free" };
        let details = details.says(holder.is_some() || queued > 0, ["", ""], holder.unwrap_or_default());
        Details { state, left: ttl, queued, ..details }
    }

    /// The owner that has it alone: of a lock, or of the write side of a read-write lock.
    pub fn holder(&self) -> Option<&str> {
        self.fields.get("holder").or_else(|| self.fields.get("writer"))?.as_str()
    }

    pub fn token(&self) -> Option<u64> {
        self.fields.get("token")?.as_u64()
    }

    /// A field that is a number.
    pub fn number(&self, field: &str) -> Option<i64> {
        self.fields.get(field)?.as_i64()
    }

    async fn of_rw_lock(self, client: &Client) -> Result<Details, Error> {
        let seen = client.rw_lock(&self.name)?.inspect().await?;
        let details = self.with(json!({
            "writer": seen.writer, "readers": seen.readers, "ttl_ms": seen.ttl.map(millis), "token": seen.token,
            "queued": seen.queued,
        }));
        let (state, what) = match (seen.writer, seen.readers) {
            (Some(writer), _) => ("written", writer),
            (None, 0) => ("free", String::new()),
            (None, readers) => ("read", format!("{readers} readers")),
        };
        let details = details.says(state != "free" || seen.queued > 0, ["", ""], what);
        Ok(Details { state, left: seen.ttl, queued: seen.queued, ..details })
    }

    async fn of_semaphore(self, client: &Client) -> Result<Details, Error> {
        // The number of permits is for one that is not there; inspecting makes none.
        let (permits, available, queued) = match self.kind {
            Kind::Semaphore => {
                let seen = client.semaphore(&self.name, 1)?.inspect().await?;
                (seen.permits, seen.permits.map(|_| seen.available), seen.queued)
            }
            _ => {
                let seen = client.counting_semaphore(&self.name)?.inspect().await?;
                (None, seen.exists.then_some(seen.available), seen.queued)
            }
        };
        let what = match (permits, available) {
            (Some(permits), Some(available)) => format!("{available} of {permits} available"),
            (None, Some(available)) => format!("{available} available"),
            (_, None) => String::new(),
        };
        let details = self.with(json!({ "permits": permits, "available": available, "queued": queued }));
        let details = details.says(available.is_some() || queued > 0, ["there", ABSENT], what);
        Ok(Details { queued, ..details })
    }

    async fn of_queue(self, client: &Client) -> Result<Details, Error> {
        let seen = client.queue(&self.name)?.counts().await?;
        let jobs = seen.ready + seen.delayed + seen.in_flight + seen.dead;
        let what =
            format!("{} ready, {} delayed, {} in flight, {} dead", seen.ready, seen.delayed, seen.in_flight, seen.dead);
        let details = self.with(json!({
            "ready": seen.ready, "delayed": seen.delayed, "in_flight": seen.in_flight, "dead": seen.dead,
            "queued": seen.waiters,
        }));
        Ok(Details { queued: seen.waiters, ..details.says(jobs + seen.waiters > 0, ["used", "empty"], what) })
    }

    fn with(mut self, fields: Value) -> Details {
        if let Value::Object(fields) = fields {
            self.fields.extend(fields);
        }
        self
    }

    fn says(self, in_use: bool, [yes, no]: [&'static str; 2], what: String) -> Details {
        Details { in_use, state: if in_use { yes } else { no }, what, ..self }
    }

    /// As `--json` has it.
    pub fn to_json(&self) -> Value {
        let mut all = self.fields.clone();
        all.insert("name".to_owned(), json!(self.name));
        all.insert("kind".to_owned(), json!(self.kind.as_str()));
        all.insert("state".to_owned(), json!(self.state));
        Value::Object(all)
    }

    /// Its cells in a table of [`HEADINGS`].
    pub fn row(&self) -> Vec<String> {
        let left = self.left.map(duration::show).unwrap_or_default();
        let queued = if self.queued > 0 { self.queued.to_string() } else { String::new() };
        let kind = self.kind.as_str().to_owned();
        vec![visible(&self.name), kind, self.state.to_owned(), left, queued, visible(&self.what)]
    }

    /// The fields of its kind, one a line.
    pub fn lines(&self) -> Vec<(String, String)> {
        let show = |value: &Value| match value {
            Value::String(text) => visible(text),
            other => other.to_string(),
        };
        let name = |name: &str| name.strip_suffix("_ms").unwrap_or(name).replace('_', " ");
        let mut lines = vec![("kind".to_owned(), self.kind.to_string()), ("state".to_owned(), self.state.to_owned())];
        for (field, value) in self.fields.iter().filter(|(_, value)| !value.is_null()) {
            match (field.as_str(), self.left) {
                ("ttl_ms" | "full_after_ms", Some(left)) => lines.push(("time left".to_owned(), duration::show(left))),
                _ => lines.push((name(field), show(value))),
            }
        }
        lines
    }
}

/// Over [`Details::row`].
pub const HEADINGS: [&str; 6] = ["NAME", "KIND", "STATE", "LEFT", "QUEUED", "DETAILS"];

/// Whether an error is about one object, so that others can be shown all the same.
pub fn is_of_one(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WrongType | ErrorKind::NoPermission | ErrorKind::InvalidName | ErrorKind::Unsupported
    )
}
