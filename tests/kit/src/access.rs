//! The documented minimal rights of a server's user: every test server gives its default user these and no more.

use serde_json::Value;

use crate::program;

const OF_CLUSTER: &str = "cluster_commands";
const MESSAGES_OF_SLOTS: &str = "cluster_commands_since_7.0";

/// The user of the tests' own commands, who may do everything.
pub const ADMIN: &str = "kit-admin";

/// The rules of a user with the rights of `tests/vectors/access.json`, on any key and channel.
///
/// Rights that only servers from 7.2 on know are left out: an older server refuses the whole rule because of them.
pub fn minimal() -> Vec<String> {
    let table = table();
    let allowed =
        ["connection", "scripts"].into_iter().flat_map(|list| words(&table[list])).map(|word| format!("+{word}"));
    ["~*", "&*", "-@all"].map(str::to_owned).into_iter().chain(allowed).collect()
}

/// What a user of a cluster's nodes needs besides.
pub fn of_cluster() -> Vec<String> {
    let table = table();
    let lists = if program::major_version() >= 7 { &[OF_CLUSTER, MESSAGES_OF_SLOTS][..] } else { &[OF_CLUSTER] };
    lists.iter().flat_map(|list| words(&table[*list])).map(|command| format!("+{command}")).collect()
}

/// The rules of a user of sentinels with the rights of `tests/vectors/access.json`.
pub fn of_sentinels() -> Vec<String> {
    let table = table();
    let channels = words(&table["sentinel_channels"]).into_iter().map(|channel| format!("&{channel}"));
    let commands = words(&table["sentinel_commands"]).into_iter().map(|command| format!("+{command}"));
    // A new user of Redis 6.2 may listen to everything, and takes no channel in addition.
    let none = |rule: &str| std::iter::once(rule.to_owned());
    none("resetchannels").chain(channels).chain(none("-@all")).chain(commands).collect()
}

fn table() -> Value {
    serde_json::from_str(include_str!("../../vectors/access.json")).expect("access.json is JSON")
}

fn words(list: &Value) -> Vec<String> {
    let words = list.as_array().expect("a list");
    words.iter().map(|word| word.as_str().expect("a word").to_owned()).collect()
}
