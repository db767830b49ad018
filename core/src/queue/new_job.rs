//! A job that is to be put.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use uuid::Uuid;

use super::step::{Due, JobSpec, Put};
use crate::error::{Error, ErrorKind, Result};
use crate::step::Step;

/// The longest id of a job, in bytes.
pub(super) const MAX_ID: usize = 512;

/// The longest delay, and the latest due time from 1970 on: 100 and 300 years.
const MAX_DELAY: Duration = Duration::from_secs(100 * 365 * 86_400);
const MAX_AT: Duration = Duration::from_secs(300 * 365 * 86_400);

/// A job that is to be put: its payload, and what may be said of it.
///
/// ```
/// # use libdlock::queue::NewJob;
/// # use std::time::Duration;
/// let job = NewJob::new("resize 42.png").id("resize-42").delay(Duration::from_secs(5)).priority(1);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct NewJob {
    payload: Vec<u8>,
    id: Option<String>,
    due: When,
    priority: i16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    After(Duration),
    At(SystemTime),
}

impl NewJob {
    /// A job with this payload, which may be empty, that is due at once.
    pub fn new(payload: impl Into<Vec<u8>>) -> NewJob {
        NewJob { payload: payload.into(), id: None, due: When::After(Duration::ZERO), priority: 0 }
    }

    /// Names it, by 1 to 512 bytes without a NUL: see [`Queue::put`](super::Queue::put).
    pub fn id(mut self, id: impl Into<String>) -> NewJob {
        self.id = Some(id.into());
        self
    }

    /// It is due after so long, 100 years at most, by the clock of the server; in ms, rounded up.
    pub fn delay(mut self, delay: Duration) -> NewJob {
        self.due = When::After(delay);
        self
    }

    /// It is due at this time, by the clock of the server. One that is past is due at once, before what is due later
    /// and has its priority.
    pub fn at(mut self, time: SystemTime) -> NewJob {
        self.due = When::At(time);
        self
    }

    /// Jobs that are due come by priority, the higher first. 0 unless it is set.
    pub fn priority(mut self, priority: i16) -> NewJob {
        self.priority = priority;
        self
    }

    pub(super) fn has_id(&self) -> bool {
        self.id.is_some()
    }

    pub(super) fn into_spec(self, max_payload: usize) -> Result<JobSpec> {
        let refuse = |given: fmt::Arguments<'_>, allowed: String| {
            Error::refused(ErrorKind::InvalidArgument, Put::OP, given, allowed)
        };
        let id = match self.id {
            None => Uuid::new_v4().simple().to_string(),
            Some(id) if id.is_empty() || id.len() > MAX_ID || id.contains('\0') => {
                let given = format_args!("an id of {} bytes is out of range", id.len());
                return Err(refuse(given, format!("1 to {MAX_ID} bytes without a NUL")));
            }
            Some(id) => id,
        };
        if self.payload.len() > max_payload {
            let given = format_args!("a payload of {} bytes is out of range", self.payload.len());
            return Err(refuse(given, format!("0 to {max_payload} bytes, which the option max_payload sets")));
        }
        let due = match self.due {
            When::After(delay) if delay > MAX_DELAY => {
                return Err(refuse(format_args!("a delay of {delay:?} is out of range"), "0 to 100 years".to_owned()));
            }
            When::After(delay) => Due::After(Duration::from_millis(delay.as_nanos().div_ceil(1_000_000) as u64)),
            When::At(time) => {
                let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
                if since > MAX_AT {
                    return Err(refuse(format_args!("the due time is out of range"), "until the year 2269".to_owned()));
                }
                Due::At(since.as_nanos().div_ceil(1_000_000) as u64)
            }
        };
        Ok(JobSpec { id, due, priority: self.priority, payload: self.payload })
    }
}

/// Not the payload, which is the caller's.
impl fmt::Debug for NewJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NewJob { payload, id, due, priority } = self;
        let mut all = f.debug_struct("NewJob");
        all.field("bytes", &payload.len()).field("id", id).field("due", due).field("priority", priority).finish()
    }
}

impl From<&str> for NewJob {
    fn from(payload: &str) -> NewJob {
        NewJob::new(payload)
    }
}

impl From<String> for NewJob {
    fn from(payload: String) -> NewJob {
        NewJob::new(payload)
    }
}

impl From<&[u8]> for NewJob {
    fn from(payload: &[u8]) -> NewJob {
        NewJob::new(payload)
    }
}

impl From<Vec<u8>> for NewJob {
    fn from(payload: Vec<u8>) -> NewJob {
        NewJob::new(payload)
    }
}
