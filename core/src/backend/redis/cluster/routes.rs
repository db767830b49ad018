//! Which node serves which slot, as far as the client knows.
//!
//! A table that is replaced when a node tells all of it, and mended when one says of a slot that another node has it. A slot
//! that goes to another node has moved, with all of its objects.

use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::{Notify, watch};

use super::super::RedisBackend;
use super::super::moves::Moves;
use super::refresh::First;
use super::slots::Served;
use crate::config::Address;
use crate::error::Error;
use crate::step::PubSub;

/// Makes the node at an address: no I/O, it is dialled in the background.
type MakeNode = Box<dyn Fn(&Address, PubSub) -> RedisBackend + Send + Sync>;

pub(in super::super) struct Routes {
    table: RwLock<Table>,
    /// Told with each change of the table.
    changed: watch::Sender<u64>,
    /// Somebody has reason to think that the table is not right.
    doubted: Notify,
    moves: Moves,
    make: MakeNode,
    /// Which messages the nodes know. Set before there is a node.
    pubsub: OnceLock<PubSub>,
}

#[derive(Default)]
struct Table {
    /// In order; no slot twice.
    ranges: Vec<Range>,
    /// All that serve a slot, and those that did.
    nodes: Vec<Arc<Node>>,
    /// How many nodes were made so far.
    made: u64,
    /// Whom to ask for the whole table, because of what was said by another node.
    said: Option<Address>,
    /// Why nothing is known yet, of a client that connects lazily.
    why_unknown: Option<Error>,
}

#[derive(Clone)]
struct Range {
    first: u16,
    last: u16,
    at: Place,
}

/// A node, and where it is.
pub(crate) struct Node {
    pub(in super::super) address: Address,
    /// From 1 on.
    pub(super) number: u64,
    pub(in super::super) server: RedisBackend,
}

/// The node that serves a slot, and since which move.
#[derive(Clone)]
pub(in super::super) struct Place {
    pub(in super::super) node: Arc<Node>,
    pub(in super::super) since: u64,
}

impl Routes {
    pub(super) fn new(moves: Moves, make: MakeNode) -> Routes {
        let (table, changed) = (RwLock::default(), watch::Sender::new(0));
        Routes { table, changed, doubted: Notify::new(), moves, make, pubsub: OnceLock::new() }
    }

    fn table(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn table_mut(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who serves the slot.
    pub(in super::super) fn place(&self, slot: u16) -> Option<Place> {
        self.table().place(slot).cloned()
    }

    /// All nodes.
    pub(super) fn nodes(&self) -> Vec<Arc<Node>> {
        self.table().nodes.clone()
    }

    /// Whether the node serves any slot.
    pub(super) fn serves(&self, node: &Arc<Node>) -> bool {
        self.table().ranges.iter().any(|range| Arc::ptr_eq(&range.at.node, node))
    }

    /// Lets a node go, unless it serves slots by now or somebody uses it beside the caller.
    pub(super) fn let_go(&self, node: &Arc<Node>) {
        let mut table = self.table_mut();
        let serves = table.ranges.iter().any(|range| Arc::ptr_eq(&range.at.node, node));
        // That of the table, and that of the caller.
        if serves || Arc::strong_count(node) > 2 {
            return;
        }
        table.nodes.retain(|other| !Arc::ptr_eq(other, node));
        drop(table);
        node.server.retire();
    }

    /// The node at this address, which need not serve a slot.
    pub(super) fn node_at(&self, address: &Address) -> Arc<Node> {
        self.table_mut().node_at(address, &self.make())
    }

    /// Completes when the slot is served, by another node than that at `but`. Cancel safe.
    pub(in super::super) async fn served(&self, slot: u16, but: Option<&Address>) {
        let mut changed = self.changed.subscribe();
        let is_served = || self.place(slot).is_some_and(|place| Some(&place.node.address) != but);
        // The sender lives in `self`.
        let _ = changed.wait_for(|_| is_served()).await;
    }

    /// Completes when the table has changed since version `seen`, with its version. Cancel safe.
    pub(super) async fn changed_since(&self, seen: u64) -> u64 {
        let mut changed = self.changed.subscribe();
        changed.wait_for(|version| *version > seen).await.map_or(seen, |version| *version)
    }

    /// The table is to be looked up anew.
    pub(in super::super) fn doubt(&self) {
        self.doubted.notify_one();
    }

    /// Completes when somebody doubts the table. Cancel safe.
    pub(super) async fn doubted(&self) {
        self.doubted.notified().await;
    }

    /// Whom to ask for the whole table, if somebody knows better than others.
    pub(super) fn take_said(&self) -> Option<Address> {
        self.table_mut().said.take()
    }

    /// A node has said that the one at `address` serves the slot.
    pub(super) fn moved(&self, slot: u16, address: &Address) {
        let mut table = self.table_mut();
        table.said = Some(address.clone());
        let mut served: Vec<Served> = table.served();
        let whole = std::mem::take(&mut served);
        for range in whole {
            if (range.first..=range.last).contains(&slot) {
                let Served { first, last, by } = range;
                if first < slot {
                    served.push(Served { first, last: slot - 1, by: by.clone() });
                }
                if slot < last {
                    served.push(Served { first: slot + 1, last, by });
                }
            } else {
                served.push(range);
            }
        }
        served.push(Served { first: slot, last: slot, by: address.clone() });
        served.sort_by_key(|range| range.first);
        self.replace(table, served);
        self.doubt();
    }

    /// Which messages the nodes know; what every server has while that is not known.
    pub(super) fn pubsub(&self) -> PubSub {
        self.pubsub.get().copied().unwrap_or(PubSub::Plain)
    }

    fn make(&self) -> impl Fn(&Address) -> RedisBackend + '_ {
        let pubsub = self.pubsub();
        move |address| (self.make)(address, pubsub)
    }

    /// Whether no node has been asked yet, whatever it would say.
    pub(super) fn is_untried(&self) -> bool {
        let table = self.table();
        table.nodes.is_empty() && table.why_unknown.is_none()
    }

    /// Why no node is known, if none is.
    pub(super) fn why_unknown(&self) -> Option<Error> {
        self.table().why_unknown.clone()
    }

    /// No node of the URL has told the table, of which nothing is known yet. Whether that is news.
    pub(super) fn asked_in_vain(&self, why: Error) -> bool {
        let mut table = self.table_mut();
        let is_news = table.why_unknown.as_ref().map(Error::message) != Some(why.message());
        table.why_unknown = Some(why);
        is_news
    }

    /// A node of the URL has told the whole table.
    pub(super) fn told_first(&self, first: First) {
        // Of all nodes, whichever was asked first.
        let _ = self.pubsub.set(first.pubsub);
        self.table_mut().why_unknown = None;
        self.told(first.served);
    }

    /// A node has told the whole table.
    pub(super) fn told(&self, served: Vec<Served>) {
        self.replace(self.table_mut(), served);
    }

    fn replace(&self, mut table: RwLockWriteGuard<'_, Table>, served: Vec<Served>) {
        let before = table.served();
        if before == served {
            return;
        }
        let has_moved = !before.is_empty() && served.iter().any(|range| !has_served(&before, range));
        if has_moved {
            self.moves.moved(|number| table.set(served, Some(number), &self.make()));
        } else {
            table.set(served, None, &self.make());
        }
        drop(table);
        self.changed.send_modify(|version| *version += 1);
    }
}

impl Table {
    fn place(&self, slot: u16) -> Option<&Place> {
        let at = self.ranges.partition_point(|range| range.last < slot);
        self.ranges.get(at).filter(|range| range.first <= slot).map(|range| &range.at)
    }

    fn node_at(&mut self, address: &Address, make: &impl Fn(&Address) -> RedisBackend) -> Arc<Node> {
        if let Some(node) = self.nodes.iter().find(|node| node.address == *address) {
            return node.clone();
        }
        self.made += 1;
        let node = Arc::new(Node { address: address.clone(), number: self.made, server: make(address) });
        self.nodes.push(node.clone());
        node
    }

    /// What it says, neighbours of one node as one.
    fn served(&self) -> Vec<Served> {
        let mut served: Vec<Served> = Vec::new();
        for Range { first, last, at } in &self.ranges {
            match served.last_mut() {
                Some(before) if before.by == at.node.address && before.last + 1 == *first => before.last = *last,
                _ => served.push(Served { first: *first, last: *last, by: at.node.address.clone() }),
            }
        }
        served
    }

    /// Takes these, of which those that another node served before have moved with that number. By ranges, and not by slots: while
    /// slots are moved this is done for each of them.
    fn set(&mut self, served: Vec<Served>, moved: Option<u64>, make: &impl Fn(&Address) -> RedisBackend) {
        let fresh = moved.unwrap_or_default();
        let mut ranges: Vec<Range> = Vec::new();
        for Served { first, last, by } in served {
            let node = self.node_at(&by, make);
            let mut put = |first: u16, last: u16, since: u64| match ranges.last_mut() {
                Some(before)
                    if before.last + 1 == first && before.at.since == since && Arc::ptr_eq(&before.at.node, &node) =>
                {
                    before.last = last;
                }
                _ => ranges.push(Range { first, last, at: Place { node: node.clone(), since } }),
            };
            let mut next = first;
            let overlapping = &self.ranges[self.ranges.partition_point(|range| range.last < first)..];
            let overlapping = overlapping.iter().take_while(|range| range.first <= last);
            for before in overlapping.filter(|range| range.at.node.address == by) {
                let (from, to) = (before.first.max(first), before.last.min(last));
                if next < from {
                    put(next, from - 1, fresh);
                }
                put(from, to, before.at.since);
                next = to + 1;
            }
            if next <= last {
                put(next, last, fresh);
            }
        }
        self.ranges = ranges;
    }
}

/// Whether all slots of a range were served by its node before, by a table in order whose neighbours of one node are one.
fn has_served(before: &[Served], range: &Served) -> bool {
    let at = before.partition_point(|own| own.last < range.first);
    before.get(at).is_some_and(|own| own.first <= range.first && own.last >= range.last && own.by == range.by)
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Handle;

    use super::super::slots::SLOTS;
    use super::*;
    use crate::config::{Config, Target};
    use crate::event::Events;
    use crate::stats::Counters;
    use crate::step::PubSub;
    use crate::task::Tasks;

    /// Nodes that nobody dials.
    fn routes() -> Routes {
        let (config, tasks) =
            (Config::from_url("redis+cluster://a").unwrap(), Tasks::new(Handle::current(), Events::default()));
        let (counters, moves) = (Arc::<Counters>::default(), Moves::default());
        let its_moves = moves.clone();
        let make = Box::new(move |address: &Address, _| {
            let target = Target::Tcp { address: address.clone(), tls: false };
            RedisBackend::node(&target, &config, (&tasks, &counters), &its_moves, PubSub::Plain)
        });
        Routes::new(moves, make)
    }

    fn address(host: &str) -> Address {
        Address { host: host.to_owned(), port: 1 }
    }

    fn served(ranges: &[(u16, u16, &str)]) -> Vec<Served> {
        ranges.iter().map(|(first, last, by)| Served { first: *first, last: *last, by: address(by) }).collect()
    }

    /// Who serves the slot, and since which move.
    fn at(routes: &Routes, slot: u16) -> (String, u64) {
        let place = routes.place(slot).unwrap();
        (place.node.address.host.clone(), place.since)
    }

    #[tokio::test]
    async fn a_slot_has_moved_when_another_node_serves_it() {
        let routes = routes();
        routes.told(served(&[(0, 99, "a"), (100, SLOTS - 1, "b")]));
        assert_eq!((at(&routes, 99), at(&routes, 100)), (("a".to_owned(), 0), ("b".to_owned(), 0)));
        routes.moved(50, &address("b"));
        assert_eq!(at(&routes, 50), ("b".to_owned(), 1));
        assert_eq!(
            (at(&routes, 49), at(&routes, 51), at(&routes, 100)),
            (("a".into(), 0), ("a".into(), 0), ("b".into(), 0))
        );
        // The whole table says the same: nothing moves.
        routes.told(served(&[(0, 49, "a"), (50, 50, "b"), (51, 99, "a"), (100, SLOTS - 1, "b")]));
        assert_eq!((at(&routes, 50), at(&routes, 51)), (("b".into(), 1), ("a".into(), 0)));
        routes.told(served(&[(0, 99, "a"), (100, 199, "c"), (200, SLOTS - 1, "b")]));
        assert_eq!((at(&routes, 50), at(&routes, 51)), (("a".into(), 2), ("a".into(), 0)), "back again");
        assert_eq!((at(&routes, 150), at(&routes, 200)), (("c".into(), 2), ("b".into(), 0)));
    }

    #[tokio::test]
    async fn a_slot_that_nobody_serves_has_no_place_until_somebody_does() {
        let routes = routes();
        routes.told(served(&[(0, 9, "a"), (20, 29, "a")]));
        assert!(routes.place(10).is_none() && routes.place(19).is_none() && routes.place(30).is_none());
        assert!(routes.place(9).is_some() && routes.place(20).is_some());
        routes.told(served(&[(0, 29, "a")]));
        assert_eq!(
            (at(&routes, 9), at(&routes, 15), at(&routes, 29)),
            (("a".into(), 0), ("a".into(), 1), ("a".into(), 0))
        );
    }
}
