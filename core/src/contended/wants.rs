//! What the waiters want of an object of which there are several, as `wants.lua` has it: whether they can all be served, and who
//! is told to ask.

use super::pace::REACH;
use super::queue::{Queue, QueueAt};

/// As [`queue_lua`], for a kind of which there are several.
macro_rules! wants_lua {
    ($kind:literal) => {
        concat!(
            $crate::contended::queue_lua!($kind),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/contended/wants.lua"))
        )
    };
}
pub(crate) use wants_lua;

impl Queue {
    /// What a client in the queue wants; more than there is when that is not known.
    pub(crate) fn want(&self, client: &str) -> i64 {
        self.wants.get(client).map_or(i64::MAX, |want| i64::from(*want))
    }

    /// Whether `permits` are there besides those that the first `entries` of the queue want.
    pub(crate) fn suffices(&self, available: i64, permits: i64, entries: usize) -> bool {
        if permits + entries as i64 > available || entries > REACH {
            return false;
        }
        let wants = self.entries.iter().take(entries).map(|(_, client)| self.want(client));
        wants.fold(permits, i64::saturating_add) <= available
    }
}

impl QueueAt<'_, '_> {
    /// Tells all entries from rank `from` on to ask whose wants fit into what is `available` together with those in front of
    /// them: room was made for them. One that is on its way is not told again. Ends at `caller`, whose reply says more. An entry
    /// that wants more than the `total` is told too, and keeps nobody out. One that does not hear is marked, and leaves its
    /// permits to those behind it, of which the first that hears drops it.
    pub(crate) fn wake(&mut self, mut available: i64, total: i64, from: usize, caller: &str) {
        let mut marked = false;
        for (at, client) in self.front().into_iter().enumerate() {
            let mut wanted = self.queue.want(&client);
            let impossible = wanted > total && wanted < i64::MAX;
            if client == caller || !impossible && wanted > available {
                break;
            }
            if at >= from && !self.is_coming(&client) {
                if self.tell(&client, "free") {
                    self.queue.told.insert(client, self.now.millis());
                } else {
                    self.deaf_since(&client);
                    (wanted, marked) = (0, true);
                }
            }
            available -= if impossible { 0 } else { wanted };
        }
        if marked {
            self.keep();
        }
    }

    /// Whether a client was told to ask so recently, and was not found deaf since, that it is on its way.
    fn is_coming(&self, client: &str) -> bool {
        self.is_recent(&self.queue.told, client)
    }
}
