//! A walk over all keys of the servers that goes on for as long as somebody looks, a step at a time.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Found, Survey};
use crate::error::Result;

const OP: &str = "walk";

/// Where a walk is; see [`Survey::walk`].
#[derive(Debug)]
pub struct Walk {
    survey: Survey,
    pattern: String,
    /// Which of the servers.
    server: usize,
    cursor: String,
}

/// What one step of a [`Walk`] has found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// By name and kind. The key of a token, which locks and read-write locks share, is a lock's.
    pub objects: Vec<Found>,
    /// Whether this was the last step over all keys of all servers: the next begins anew.
    pub is_last: bool,
    /// The processor time that the server spent on it, by its own account.
    pub busy: Duration,
}

impl Survey {
    /// A walk over all objects whose names match a pattern, as [`Survey::list`] finds them. It asks nothing before its first step.
    pub fn walk(&self, pattern: &str) -> Walk {
        Walk { survey: self.clone(), pattern: pattern.to_owned(), server: 0, cursor: "0".to_owned() }
    }
}

impl Walk {
    /// Visits about 500 keys. The kind of an object is asked for only if `is_known` says no to its name: a walk that begins anew
    /// costs a tenth then.
    ///
    /// # Errors
    /// As of [`Survey::list`]. The next call tries the same step again.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing; the next call repeats the step.
    pub async fn step(&mut self, is_known: impl Fn(&str) -> bool) -> Result<Step> {
        let servers = self.survey.servers(OP)?;
        // Nodes may have left the cluster since.
        let Some(server) = servers.get(self.server) else {
            (self.server, self.cursor) = (0, "0".to_owned());
            return Ok(Step { objects: Vec::new(), is_last: true, busy: Duration::ZERO });
        };
        let mut found = BTreeSet::new();
        let (next, busy) = self.survey.visit(server, &self.pattern, &self.cursor, is_known, &mut found).await?;
        let is_end = next == "0";
        let is_last = is_end && self.server + 1 >= servers.len();
        self.cursor = next;
        self.server = match (is_end, is_last) {
            (_, true) => 0,
            (true, false) => self.server + 1,
            (false, false) => self.server,
        };
        Ok(Step { objects: found.into_iter().collect(), is_last, busy })
    }
}
