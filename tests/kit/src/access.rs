//! The documented minimal rights of a server's user: every test server gives its default user these and no more.

use serde_json::Value;

/// The user of the tests' own commands, who may do everything.
pub const ADMIN: &str = "kit-admin";

/// The rules of a user with the rights of `tests/vectors/access.json`, on any key and channel.
///
/// Rights that only servers from 7.2 on know are left out: an older server refuses the whole rule because of them.
pub fn minimal() -> Vec<String> {
    let table: Value = serde_json::from_str(include_str!("../../vectors/access.json")).expect("access.json is JSON");
    let commands = ["connection", "scripts"].map(|list| table[list].as_array().expect("a list of commands"));
    let allowed = commands.into_iter().flatten().map(|command| format!("+{}", command.as_str().expect("a command")));
    ["~*", "&*", "-@all"].map(str::to_owned).into_iter().chain(allowed).collect()
}
