//! What one client does: the objects that it holds, and those that it waits for.

use std::collections::BTreeMap;

use libdlock::survey::Kind;

use super::View;

/// A client by its id. Holders of permits and readers are not known by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doing {
    pub holds: Vec<(Kind, String)>,
    pub waits: Vec<(Kind, String)>,
}

/// The client of an owner `<client uuid>:<n>`.
pub fn client_of(owner: &str) -> &str {
    owner.split_once(':').map_or(owner, |(client, _)| client)
}

/// All clients that hold something alone or stand near the head of a queue.
pub fn all(view: &View) -> BTreeMap<&str, Doing> {
    let mut clients: BTreeMap<&str, Doing> = BTreeMap::new();
    for row in view.rows.iter() {
        let object = || (row.details.kind, row.details.name.clone());
        if let Some(holder) = row.details.holder() {
            clients.entry(client_of(holder)).or_default().holds.push(object());
        }
        for waiter in row.waiters.iter() {
            clients.entry(client_of(&waiter.client)).or_default().waits.push(object());
        }
    }
    clients
}

/// Those with the most first.
pub fn busiest(view: &View, most: usize) -> Vec<(&str, Doing)> {
    let mut clients: Vec<_> = all(view).into_iter().collect();
    clients.sort_by_key(|(_, doing)| std::cmp::Reverse(doing.holds.len() + doing.waits.len()));
    clients.truncate(most);
    clients
}
