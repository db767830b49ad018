//! Releases that a server has confirmed, sent once more to the server that takes its place.
//!
//! A primary that is replaced may confirm releases of which its successor never hears: it works on until its clients leave it,
//! or dies before it has told its replicas. The successor would show the hold until its lease is over, and everybody would wait
//! for nobody. The owner names one acquire, so that a second release of it can do no harm.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::home::Home;
use super::order::{MutexOrder, Ordered};
use super::server::{self, ServerHandle};
use super::{Primitive, Released};
use crate::backend::Reached;
use crate::event::Level;
use crate::lease::{Grant, GrantKind};
use crate::name::ObjectName;
use crate::time::Tick;

/// For longer no primary is in use that has been replaced: sentinels notice within about a second that a replica is promoted, and
/// their clients leave the former primary then.
const REMEMBERED: Duration = Duration::from_secs(10);

/// The most releases that are remembered, the latest: those of the last second of a busy client.
const MOST: usize = 2_048;

/// How many are under way at once.
const AT_ONCE: usize = 64;

/// The last releases of a client.
pub(super) struct Confirmed(Ordered<VecDeque<Release>>);

struct Release {
    name: ObjectName,
    owner: String,
    /// The server that has confirmed it.
    reached: Reached,
    at: Tick,
}

impl Default for Confirmed {
    fn default() -> Confirmed {
        Confirmed(Ordered::new(MutexOrder::Confirmed))
    }
}

impl Confirmed {
    fn enter(&self, release: Release) {
        let mut releases = self.0.lock();
        let now = release.at;
        while releases.front().is_some_and(|first| now.since(first.at) > REMEMBERED) || releases.len() >= MOST {
            releases.pop_front();
        }
        releases.push_back(release);
    }

    /// Takes out those that a server before the present one of their object has confirmed, and that are to be repeated.
    fn take_of_former(&self, moves: impl Fn(&ObjectName) -> u64, now: Tick) -> Vec<Release> {
        let mut releases = self.0.lock();
        let is_of_former = |each: &Release| each.reached.moves < moves(&each.name);
        let (former, rest) = std::mem::take(&mut *releases).into_iter().partition(is_of_former);
        *releases = rest;
        drop(releases);
        Vec::from(former).into_iter().filter(|each: &Release| now.since(each.at) <= REMEMBERED).collect()
    }
}

/// A server has confirmed the release of a hold.
pub(super) fn note<P: Primitive>(home: &Arc<Home<P>>, name: &ObjectName, grant: &Grant, reached: Reached) {
    let client = home.context();
    // What was granted for good names its requests, not its holders.
    if !P::Renew::LEASED {
        return;
    }
    let owner = grant.owner().to_owned();
    home.confirmed.enter(Release { name: name.clone(), owner, reached, at: client.clock.now() });
    // Another server may have been found meanwhile, and those before this one may have been repeated.
    if reached.moves < server::moves(client, name) {
        repeat(home);
    }
}

/// The present server may not know what its predecessor has confirmed.
pub(super) fn repeat<P: Primitive>(home: &Arc<Home<P>>) {
    let client = home.context();
    let former = home.confirmed.take_of_former(|name| server::moves(client, name), client.clock.now());
    if former.is_empty() {
        return;
    }
    let (server, events, deadline) = (ServerHandle::of(client), client.events.clone(), client.operation_deadline());
    client.tasks.spawn_operation(async move {
        let (mut former, mut under_way, mut repeated) = (former.into_iter(), JoinSet::new(), 0_usize);
        loop {
            for Release { name, owner, .. } in former.by_ref().take(AT_ONCE - under_way.len()) {
                let server = server.clone();
                under_way
                    .spawn(async move { server.send_release::<P>(&name, &P::release(&owner, false), deadline).await });
            }
            let Some(freed) = under_way.join_next().await else { break };
            repeated += usize::from(matches!(freed, Ok(Ok(done)) if done.reply != Released::NotHeld));
        }
        if repeated > 0 {
            let message =
                format!("the server did not know of {repeated} releases that the one before it had confirmed");
            events.emit(Level::Info, None, format!("{message}; they were repeated"));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(number: usize, moves: u64, at: Tick) -> Release {
        let name = ObjectName::new("", "jobs").unwrap();
        Release { name, owner: number.to_string(), reached: Reached { generation: 0, moves }, at }
    }

    fn owners(releases: &[Release]) -> Vec<&str> {
        releases.iter().map(|release| release.owner.as_str()).collect()
    }

    #[test]
    fn those_of_a_server_before_this_one_are_repeated_once() {
        let (confirmed, now) = (Confirmed::default(), Tick(0));
        for (number, moves) in [(1, 0), (2, 1), (3, 0)] {
            confirmed.enter(release(number, moves, now));
        }
        assert!(confirmed.take_of_former(|_| 0, now).is_empty(), "it is this one");
        assert_eq!(owners(&confirmed.take_of_former(|_| 1, now)), ["1", "3"]);
        assert!(confirmed.take_of_former(|_| 1, now).is_empty());
        assert_eq!(owners(&confirmed.take_of_former(|_| 2, now)), ["2"]);
    }

    #[test]
    fn what_is_old_or_beyond_the_bound_is_forgotten() {
        let confirmed = Confirmed::default();
        let later = Tick(0).plus(REMEMBERED * 2);
        confirmed.enter(release(0, 0, Tick(0)));
        assert!(confirmed.take_of_former(|_| 1, later).is_empty(), "too old to be repeated");
        (0..MOST + 3).for_each(|number| confirmed.enter(release(number, 0, later)));
        let taken = confirmed.take_of_former(|_| 1, later);
        assert_eq!((taken.len(), taken[0].owner.as_str()), (MOST, "3"));
    }
}
