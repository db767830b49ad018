//! `dlock acl`: the access rules that a user of the server needs. No I/O.

use libdlock::survey::{CONNECTION_RULES, Kind, SURVEY_RULES};
use serde_json::json;

use crate::args::{AclArgs, ServerArgs};
use crate::exit::Failure;
use crate::out::{Out, say};

/// What a node of a cluster is asked besides, by a server from 7.0 on.
const CLUSTER_RULES: &str = "+cluster|slots +asking +pubsub|shardnumsub +ssubscribe +sunsubscribe +spublish";

/// For the option `replicas`.
const REPLICA_RULES: &str = "~dlock_replicas:*";

pub fn acl(server: &ServerArgs, args: &AclArgs, out: &Out) -> Result<u8, Failure> {
    let is_word =
        |text: &str| !text.is_empty() && !text.contains(|letter: char| letter.is_whitespace() || letter.is_control());
    if !is_word(&args.user) {
        return Err(Failure::Usage("--user: a name of a user has no white space".to_owned()));
    }
    let from_options = server.options.iter().find_map(|option| option.strip_prefix("key_prefix="));
    let prefix = args.prefix.as_deref().or(from_options).unwrap_or("");
    let rules = rules(args, prefix);
    let line = format!("ACL SETUSER {} on resetkeys resetchannels -@all {}", args.user, rules.join(" "));
    match out.json {
        true => out.document(&json!({ "user": args.user, "prefix": prefix, "rules": rules, "line": line }))?,
        false => {
            out.line(&line)?;
            say("a new user also needs a password: add >PASSWORD where only the server reads it, and ACL SAVE");
        }
    }
    Ok(0)
}

/// Commands, keys and channels, each once.
fn rules(args: &AclArgs, prefix: &str) -> Vec<String> {
    let kinds = if args.kind.is_empty() { &Kind::ALL[..] } else { &args.kind[..] };
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut rules = words(CONNECTION_RULES);
    if args.cluster {
        rules.extend(words(CLUSTER_RULES));
    }
    if args.tools {
        rules.extend(words(SURVEY_RULES));
    }
    rules.extend(words(REPLICA_RULES));
    rules.extend(kinds.iter().flat_map(|kind| kind.rules(prefix)));
    // The server refuses a pattern of keys behind the one for all.
    let has_all_keys = rules.iter().any(|rule| rule == "~*");
    rules.retain(|rule| !has_all_keys || rule == "~*" || !rule.starts_with('~'));
    let mut once: Vec<String> = Vec::new();
    for mark in ['+', '~', '&'] {
        for rule in rules.iter().filter(|rule| rule.starts_with(mark)) {
            if !once.contains(rule) {
                once.push(rule.clone());
            }
        }
    }
    once
}
