//! Reads a queue back from a server, for the property tests of the kinds that have one.

use std::collections::BTreeMap;

use libdlock_testkit::Reply;

use super::{Queue, QueueNames};
use crate::step::model::{Model, Pair};

impl Queue {
    pub(crate) fn read_back<M: Model>(pair: &mut Pair<M>, names: &QueueNames) -> Queue {
        let (queue, seen) = (pair.name.companion(names.queue), pair.name.companion(names.seen));
        let (entries_deadline, seen_deadline) = (pair.server_deadline(&queue), pair.server_deadline(&seen));
        let range = pair.server.cmd(&["ZRANGE", &queue, "0", "-1", "WITHSCORES"]).unwrap();
        let range: Vec<&str> = range.array().iter().map(Reply::text).collect();
        let entries = range.chunks(2).map(|pair| (pair[1].parse().unwrap(), pair[0].to_owned())).collect();
        let fields = pair.server.cmd(&["HGETALL", &seen]).unwrap();
        let fields: Vec<&str> = fields.array().iter().map(Reply::text).collect();
        let mut seen: BTreeMap<String, u64> =
            fields.chunks(2).map(|pair| (pair[0].to_owned(), pair[1].parse().unwrap())).collect();
        let barged = seen.remove("barged");
        let (deaf, wants) = (take_out(&mut seen, "deaf:"), take_out(&mut seen, "want:"));
        let told = take_out(&mut seen, "told:");
        let wants = wants.into_iter().map(|(client, want)| (client, want as u32)).collect();
        Queue { entries, entries_deadline, seen, deaf, barged, wants, told, seen_deadline }
    }
}

/// Takes out the fields that begin so, and what of them follows.
fn take_out(fields: &mut BTreeMap<String, u64>, prefix: &str) -> BTreeMap<String, u64> {
    let of_it: Vec<String> = fields.keys().filter(|field| field.starts_with(prefix)).cloned().collect();
    of_it.iter().map(|field| (field[prefix.len()..].to_owned(), fields.remove(field).unwrap_or_default())).collect()
}
