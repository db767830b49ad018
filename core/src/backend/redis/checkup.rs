//! What a server tells about itself that makes locks less safe than they could be. No call depends on it.

use std::time::{Duration, SystemTime};

use super::dial::Hello;
use super::endpoint::Endpoint;
use crate::text::part;

/// Clocks that a time daemon keeps differ by less, and so they do when a client was slow to hear the answer.
const CLOCK_OFF: Duration = Duration::from_secs(60);

/// Warnings about this server, which was reached just now.
pub(super) fn warnings(endpoint: &Endpoint, hello: &Hello) -> impl Iterator<Item = String> {
    [of_eviction(endpoint, hello), of_clock(endpoint, hello, SystemTime::now())].into_iter().flatten()
}

fn of_eviction(endpoint: &Endpoint, hello: &Hello) -> Option<String> {
    let policy = part(hello.evicts_by.as_ref()?);
    Some(format!(
        "{endpoint} may evict held locks under memory pressure, and then a lock has two holders (maxmemory-policy {policy}); set \
         maxmemory-policy noeviction"
    ))
}

/// `here` is this machine's wall clock, which decides nothing else.
fn of_clock(endpoint: &Endpoint, hello: &Hello, here: SystemTime) -> Option<String> {
    let here = here.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let there = Duration::from_micros(hello.sighting.server.0);
    let (off, which) = if there > here { (there - here, "ahead of") } else { (here - there, "behind") };
    (off > CLOCK_OFF).then(|| {
        format!(
            "the clock of {endpoint} is {} s {which} this machine's; leases and limits go by the server's alone, but if it is set \
             right while locks are held, they end sooner or later than they should: run a time daemon on both machines",
            off.as_secs()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Sighting;
    use crate::config::Address;
    use crate::time::{ServerTime, Tick};

    #[test]
    fn a_clock_that_is_off_by_over_a_minute_is_told() {
        let endpoint = Endpoint::Tcp(Address { host: "h".to_owned(), port: 1 });
        let here = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_000_000);
        let told = |server: u64| {
            let sighting = Sighting { server: ServerTime(server * 1_000_000), at: Tick(0) };
            of_clock(&endpoint, &Hello { sighting, run_id: None, evicts_by: None }, here)
        };
        assert_eq!(told(1_795_000_060), None);
        assert_eq!(told(1_794_999_940), None);
        assert!(told(1_795_000_061).unwrap().starts_with("the clock of h:1 is 61 s ahead of this machine's; "));
        assert!(told(1_794_996_400).unwrap().starts_with("the clock of h:1 is 3600 s behind this machine's; "));
    }
}
