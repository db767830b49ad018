//! Which rights a user of a server needs, as `ACL SETUSER` takes them.

use super::Kind;

/// What every client does on its connections, whatever its objects: for all topologies but a cluster, which needs
/// `+cluster|slots` and `+asking` besides.
pub const CONNECTION_RULES: &str =
    "+hello +auth +ping +time +select +client|setname +info +eval +evalsha +subscribe +unsubscribe +wait";

/// What a [`Survey`](super::Survey) needs besides, on the keys that it looks at.
pub const SURVEY_RULES: &str = "+scan +type +hmget +hrandfield +zrange +get +pttl +zcard";

impl Kind {
    /// The rules for objects of this kind whose names begin with `prefix`; an empty one is any name. Each is one word.
    /// [`CONNECTION_RULES`] come on top.
    pub fn rules(self, prefix: &str) -> Vec<String> {
        let prefix = pattern_of(prefix);
        let mut rules = Vec::new();
        for rule in self.access().split_whitespace() {
            let known = rules.len();
            match rule.split_at(1) {
                ("+", _) => rules.push(rule.to_owned()),
                (mark, "<name>") => rules.push(format!("{mark}{prefix}*")),
                // The inbox of a client, which has no name in it.
                _ if prefix.is_empty() || rule.starts_with("&dlock_inbox") => rules.push(rule.to_owned()),
                (mark, pattern) => rules.extend(limited(pattern, &prefix).map(|pattern| format!("{mark}{pattern}"))),
            }
            debug_assert!(rules.len() > known);
        }
        rules
    }
}

/// A pattern for the companion keys of all names, for those of names that begin with `prefix`: of names in braces that we put
/// around them, and of names that bring their own.
fn limited(pattern: &str, prefix: &str) -> [String; 2] {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(behind), _) => [format!("{{{prefix}*{behind}"), format!("{prefix}*{behind}")],
        (None, Some(kind)) => [format!("{kind}{{{prefix}*"), format!("{kind}{prefix}*")],
        (None, None) => [pattern.to_owned(), pattern.to_owned()],
    }
}

/// Rules take no white space, and what patterns are made of stands for other names too; `?` is any byte.
fn pattern_of(prefix: &str) -> String {
    let is_special = |letter: char| letter.is_ascii_whitespace() || letter == '\x0b' || "*?[]\\\"'".contains(letter);
    prefix.replace(is_special, "?")
}
