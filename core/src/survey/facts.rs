//! How each server is set up, as it says itself.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use super::{Kind, Survey, text, time_of};
use crate::error::{Error, ErrorKind, Result};
use crate::name::ObjectName;
use crate::step::wire;

const OP: &str = "facts";

/// How often the round trip is measured: the shortest counts.
const TRIPS: usize = 5;

/// Settings that INFO does not have. Most users may not read them.
const SETTINGS: [&str; 3] = ["save", "min-replicas-to-write", "timeout"];

/// What one server says about itself, and how far away it is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerFacts {
    /// Where it is.
    pub address: String,
    /// What it says, or why it says nothing.
    pub info: Result<BTreeMap<String, String>>,
    /// Settings by their names, those that the user may read.
    pub settings: BTreeMap<String, String>,
    /// The shortest of a few round trips.
    pub round_trip: Option<Duration>,
    /// By how many microseconds its clock is ahead of this machine's, to half a round trip.
    pub clock_ahead_us: Option<i64>,
    /// The rules of the kinds that were asked for that the user lacks, as `ACL SETUSER` takes them; none where the server does not
    /// tell, before Redis 7.0.
    pub missing_rules: Vec<String>,
}

impl Survey {
    /// Facts about each server, and which rights its user lacks for objects of these kinds whose names begin with the client's
    /// key prefix.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] on `memory://`; [`ErrorKind::Closed`]. A server that does not answer is no error: its facts say
    /// so.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn facts(&self, kinds: &[Kind]) -> Result<Vec<ServerFacts>> {
        let mut all = Vec::new();
        for server in self.servers(OP)? {
            let words = |words: &[&str]| words.iter().copied().map(str::to_owned).collect::<Vec<_>>();
            let one =
                |error: Option<Result<_>>| error.unwrap_or_else(|| Err(Error::new(ErrorKind::Server, OP, "no answer")));
            let info = self.ask(&server, OP, &[words(&["INFO"])]).await.and_then(|mut answers| one(answers.pop()));
            let mut facts = ServerFacts {
                address: server.address(),
                info: info.map(|info| text(&info).as_deref().map(fields).unwrap_or_default()),
                settings: BTreeMap::new(),
                round_trip: None,
                clock_ahead_us: None,
                missing_rules: Vec::new(),
            };
            let is_silent = |error: &Error| error.kind() == ErrorKind::Connection;
            if facts.info.as_ref().is_err_and(is_silent) {
                all.push(facts);
                continue;
            }
            let settings: Vec<_> = SETTINGS.iter().map(|name| words(&["CONFIG", "GET", name])).collect();
            for answer in self.ask(&server, OP, &settings).await.unwrap_or_default() {
                let pair = answer.ok().and_then(|answer| wire::list(answer).ok()).unwrap_or_default();
                if let [name, value] = pair.as_slice() {
                    facts.settings.extend(text(name).zip(text(value)));
                }
            }
            for _ in 0..TRIPS {
                let (began, here) = (self.context.clock.now(), SystemTime::now());
                let answer = self.ask(&server, OP, &[words(&["TIME"])]).await;
                let trip = self.context.clock.now().since(began);
                let there = answer.ok().and_then(|mut answers| time_of(&answers.pop()?)).map(Duration::from_micros);
                if let Some(there) = there
                    && facts.round_trip.is_none_or(|before| trip < before)
                {
                    facts.round_trip = Some(trip);
                    facts.clock_ahead_us = ahead(there, here + trip / 2);
                }
            }
            facts.missing_rules = self.missing(&server, kinds).await;
            all.push(facts);
        }
        Ok(all)
    }

    async fn missing(&self, server: &crate::backend::OneServer<'_>, kinds: &[Kind]) -> Vec<String> {
        let Ok(name) = ObjectName::new(&self.context.options.key_prefix, "dlock-rights") else { return Vec::new() };
        let mut missing = Vec::new();
        for kind in kinds {
            for rule in server.lacks(kind.access(), &name).await.unwrap_or_default() {
                if !missing.contains(&rule) {
                    missing.push(rule);
                }
            }
        }
        missing
    }
}

/// The lines `field:value` of INFO.
fn fields(info: &str) -> BTreeMap<String, String> {
    let pairs = info.lines().filter_map(|line| line.split_once(':'));
    pairs.map(|(field, value)| (field.to_owned(), value.trim_end().to_owned())).collect()
}

fn ahead(there: Duration, here: SystemTime) -> Option<i64> {
    let here = here.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let us = |time: Duration| i64::try_from(time.as_micros()).ok();
    us(there)?.checked_sub(us(here)?)
}
