//! Messages about objects that nobody in this process waits for: each may mean a place in a queue that has to be left.
//!
//! Such a message is rare, and anybody who may publish can send as many as the network carries, about names that nobody uses.
//! They are therefore kept by name in a set of bounded size and worked off at a bounded pace; a second message for a name that
//! is in the set adds nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::Primitive;
use super::home::Home;
use super::order::{MutexOrder, Ordered, OrderedGuard};
use crate::name::MAX_NAME_BYTES;

/// The most names that are kept, 512 KB of them. If a name finds no room, its place is dropped as silent 15 s later, or sooner
/// by the client behind it.
const MOST_NAMES: usize = 1_024;

/// How many places are left before each pause: 640 scripts a second at most.
const AT_ONCE: usize = 32;
const PAUSE: Duration = Duration::from_millis(50);

/// The names whose places have to be left.
pub(super) struct UnneededPlaces(Ordered<Names>);

#[derive(Default)]
struct Names {
    waiting: BTreeSet<Box<str>>,
    /// A task works them off.
    worked_off: bool,
}

impl Default for UnneededPlaces {
    fn default() -> UnneededPlaces {
        UnneededPlaces(Ordered::new(MutexOrder::UnneededPlaces))
    }
}

impl UnneededPlaces {
    fn names(&self) -> OrderedGuard<'_, Names> {
        self.0.lock()
    }

    /// Enters a name; true when nothing works the names off yet.
    fn enter(&self, key: &str) -> bool {
        let mut names = self.names();
        if key.len() <= MAX_NAME_BYTES && names.waiting.len() < MOST_NAMES && !names.waiting.contains(key) {
            names.waiting.insert(key.into());
        }
        !names.waiting.is_empty() && !std::mem::replace(&mut names.worked_off, true)
    }

    /// Takes some names out. When it returns none, no task works names off any more.
    fn take(&self) -> Vec<Box<str>> {
        let mut names = self.names();
        let taken: Vec<_> = (0..AT_ONCE).map_while(|_| names.waiting.pop_first()).collect();
        names.worked_off = !taken.is_empty();
        taken
    }
}

/// Leaves the place that this client may have in the queue of `key`, soon.
pub(super) fn leave<P: Primitive>(home: &Arc<Home<P>>, key: &str) {
    if !home.unneeded_places.enter(key) {
        return;
    }
    let client = home.context();
    let (weak, tasks, clock) = (Arc::downgrade(home), client.tasks.clone(), client.clock.clone());
    client.tasks.spawn(async move {
        loop {
            {
                let Some(home) = weak.upgrade() else { return };
                let keys = home.unneeded_places.take();
                if keys.is_empty() {
                    return;
                }
                for object in keys.iter().filter_map(|key| home.object_of_key(key)) {
                    object.leave_queue();
                }
            }
            tokio::select! {
                () = tasks.closed() => return,
                () = clock.sleep_until(clock.now().plus(PAUSE)) => {}
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_once_and_in_bounded_number() {
        let places = UnneededPlaces::default();
        assert!(places.enter("a"));
        assert!(!places.enter("a") && !places.enter("b"), "it is being worked off");
        assert!(!places.enter(&"x".repeat(MAX_NAME_BYTES + 1)));
        (0..10_000).for_each(|name| assert!(!places.enter(&name.to_string())));
        assert_eq!(places.names().waiting.len(), MOST_NAMES);
        let taken = (0..).map(|_| places.take().len()).take_while(|taken| *taken > 0).sum::<usize>();
        assert_eq!(taken, MOST_NAMES);
        assert!(places.enter("a"), "the next one begins anew");
    }
}
