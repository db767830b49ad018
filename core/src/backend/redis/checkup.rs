//! What a server tells about itself that makes locks less safe than they could be. No call depends on it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::dial::Hello;
use super::endpoint::Endpoint;
use crate::config::{Config, Target};
use crate::text::part;

/// Clocks that a time daemon keeps differ by less, and so they do when a client was slow to hear the answer.
const CLOCK_OFF: Duration = Duration::from_secs(60);

/// What is looked for at a server, and what was found last, so that it is said once of each server, and again when it has
/// changed.
pub(super) struct Checkup {
    /// Set where several servers grant locks together, whose clocks differ by less than this.
    longest_lease: Option<Duration>,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    run_id: Option<String>,
    evicts_by: Option<String>,
    clock_is_off: bool,
}

impl Checkup {
    pub(super) fn new(config: &Config) -> Checkup {
        let several = matches!(config.target, Target::Quorum(_));
        Checkup { longest_lease: several.then_some(config.options.longest_lease), found: Mutex::default() }
    }

    /// Warnings about this server, which was reached just now; `here` is this machine's wall clock, which decides nothing else.
    /// A server that does not say which it is may be the one before.
    pub(super) fn warnings(
        &self,
        endpoint: &Endpoint,
        hello: &Hello,
        here: SystemTime,
    ) -> impl Iterator<Item = String> + use<> {
        let (policy, clock) = (of_eviction(endpoint, hello), self.of_clock(endpoint, hello, here));
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let is_another = hello.run_id.is_some() && found.run_id != hello.run_id;
        let policy = policy.filter(|_| is_another || found.evicts_by != hello.evicts_by);
        let clock_is_off = clock.is_some();
        let clock = clock.filter(|_| is_another || !found.clock_is_off);
        let run_id = hello.run_id.clone().or(found.run_id.take());
        *found = Found { run_id, evicts_by: hello.evicts_by.clone(), clock_is_off };
        policy.into_iter().chain(clock)
    }

    fn of_clock(&self, endpoint: &Endpoint, hello: &Hello, here: SystemTime) -> Option<String> {
        let here = here.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let there = Duration::from_micros(hello.sighting.server.0);
        let (off, which) = if there > here { (there - here, "ahead of") } else { (here - there, "behind") };
        let off_by = format!("the clock of {endpoint} is {} s {which} this machine's", off.as_secs());
        match self.longest_lease {
            // Two of them can differ by as much as both together differ from this machine's.
            Some(longest) if off > CLOCK_OFF.min(longest / 2) => Some(format!(
                "{off_by}; if the clocks of these servers differ by longest_lease ({longest:?}) and some of them lose their data, \
                 a fencing token can be less than one before: run a time daemon on all of them"
            )),
            None if off > CLOCK_OFF => Some(format!(
                "{off_by}; leases and limits go by the server's alone, but if it is set right while locks are held, they end sooner \
                 or later than they should: run a time daemon on both machines"
            )),
            _ => None,
        }
    }
}

fn of_eviction(endpoint: &Endpoint, hello: &Hello) -> Option<String> {
    let policy = part(hello.evicts_by.as_ref()?);
    Some(format!(
        "{endpoint} may evict held locks under memory pressure, and then a lock has two holders (maxmemory-policy {policy}); set \
         maxmemory-policy noeviction"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Sighting;
    use crate::config::Address;
    use crate::time::{ServerTime, Tick};

    fn endpoint() -> Endpoint {
        Endpoint::Tcp(Address { host: "h".to_owned(), port: 1 })
    }

    fn checkup(url: &str) -> Checkup {
        Checkup::new(&Config::from_url(url).unwrap())
    }

    fn here() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_000_000)
    }

    fn hello(run_id: Option<&str>, evicts_by: Option<&str>, seconds: u64) -> Hello {
        let sighting = Sighting { server: ServerTime(seconds * 1_000_000), at: Tick(0) };
        Hello { sighting, run_id: run_id.map(str::to_owned), uptime: None, evicts_by: evicts_by.map(str::to_owned) }
    }

    #[test]
    fn a_clock_that_is_off_by_over_a_minute_is_told() {
        let checkup = checkup("redis://h:1");
        let told = |server| checkup.of_clock(&endpoint(), &hello(None, None, server), here());
        assert_eq!(told(1_795_000_060), None);
        assert_eq!(told(1_794_999_940), None);
        assert!(told(1_795_000_061).unwrap().starts_with("the clock of h:1 is 61 s ahead of this machine's; "));
        assert!(told(1_794_996_400).unwrap().starts_with("the clock of h:1 is 3600 s behind this machine's; "));
    }

    #[test]
    fn clocks_of_several_servers_differ_by_less_than_longest_lease() {
        let checkup = checkup("redis+quorum://h:1,i:1,j:1?longest_lease=40s");
        let told = |server| checkup.of_clock(&endpoint(), &hello(None, None, server), here());
        assert_eq!(told(1_795_000_020), None);
        let ahead = told(1_795_000_021).unwrap();
        assert!(
            ahead.starts_with("the clock of h:1 is 21 s ahead of this machine's; if the clocks of these "),
            "{ahead}"
        );
    }

    #[test]
    fn a_finding_is_told_once_of_each_server_and_when_it_changed() {
        let (checkup, right, off) = (checkup("redis://h:1"), 1_795_000_000, 1_795_003_600);
        let told = |run_id, evicts_by, seconds| {
            let warnings = checkup.warnings(&endpoint(), &hello(run_id, evicts_by, seconds), here());
            let about = |warning: String| if warning.contains("clock") { "clock" } else { "policy" };
            warnings.map(about).collect::<Vec<_>>()
        };
        assert_eq!(told(Some("a"), Some("allkeys-lru"), off), ["policy", "clock"]);
        assert_eq!(told(Some("a"), Some("allkeys-lru"), off + 1), [""; 0], "reconnected");
        assert_eq!(told(Some("a"), Some("volatile-ttl"), right), ["policy"]);
        assert_eq!(told(Some("a"), None, off), ["clock"], "off again");
        assert_eq!(told(Some("b"), None, off), ["clock"], "another server");
        assert_eq!(told(None, None, off), [""; 0], "perhaps the same");
        assert_eq!(told(Some("b"), None, off), [""; 0]);
    }
}
