//! What a server said, read from the words of its error.

use redis::{ErrorKind as Theirs, RedisError, ServerErrorKind};

use crate::text;

/// Whether the server said this, rather than the way to it.
pub(in super::super) fn is_reply(error: &RedisError) -> bool {
    code(error).is_some()
}

/// Stands for the code of an error about a command that the server does not have; servers say it in words.
pub(in super::super) const UNKNOWN: &str = "unknown command";

/// The servers that have every command.
pub(super) const NEEDED: &str = "Redis 6.2, Valkey 7.2 and later have it, unless rename-command hides it";

/// The command that the server does not have, where it names it: ` (HELLO)`. What it says behind that holds arguments, among
/// them the password.
pub(super) fn unknown(error: &RedisError) -> String {
    let quoted = detail(error).split(['\'', '`', '"']).nth(1);
    quoted.map_or(String::new(), |command| format!(" ({})", text::part(command)))
}

/// What the server's access rules forbid, where it names that: servers from 7.0 on name a command, later ones a key or channel.
pub(super) fn forbidden(error: &RedisError) -> String {
    let named = |before: &str, after: &str| detail(error).split_once(before)?.1.split_once(after).map(|(name, _)| name);
    let kinds = [("command", "run the '"), ("key", "access the '"), ("channel", "access the '")];
    let found = kinds.into_iter().find_map(|(kind, before)| Some((kind, named(before, &format!("' {kind}"))?)));
    found.map_or("it".to_owned(), |(kind, name)| format!("the {kind} '{}'", text::part(name)))
}

/// The first word of an error that the server sent, `None` for errors of the way to it.
pub(in super::super) fn code(error: &RedisError) -> Option<&str> {
    match error.kind() {
        Theirs::Server(ServerErrorKind::ResponseError) => Some(hidden_code(detail(error)).unwrap_or("ERR")),
        Theirs::Server(_) => error.code(),
        // What a script called by pcall is refused with before 7.0, which has a place in the script where the code should be.
        Theirs::Extension if error.code() == Some(SCRIPT) => Some(hidden_code(detail(error)).unwrap_or("ERR")),
        Theirs::Extension => error.code(),
        Theirs::AuthenticationFailed => Some("WRONGPASS"),
        _ => None,
    }
}

/// The code of an error of a script that the server sent as a plain `ERR`.
fn hidden_code(detail: &str) -> Option<&'static str> {
    /// Servers say in words that a script's command was refused.
    const WORDS: [(&str, &str); 6] = [
        ("unknown command", UNKNOWN),
        ("unknown subcommand", UNKNOWN),
        ("Unknown command called from", UNKNOWN),
        ("Unknown Redis command called from", UNKNOWN),
        ("The user executing the script can't", "NOPERM"),
        ("ACL failure in script", "NOPERM"),
    ];
    /// Before 7.0 these stand behind the place in the script; and a step that passes an error on may put them behind `ERR`.
    const CODES: [&str; 7] = ["WRONGTYPE", "NOPERM", "OOM", "READONLY", "NOREPLICAS", "MISCONF", "MASTERDOWN"];
    let in_words = || WORDS.into_iter().find(|(words, _)| detail.starts_with(words)).map(|(_, code)| code);
    // Each server begins this sentence in its own way.
    let is_down = || detail.contains(" a write command ") && detail.contains(" while the cluster is down");
    let word = detail.strip_prefix('-').unwrap_or(detail).split(' ').next();
    let code = CODES.into_iter().find(|code| word == Some(code));
    code.or_else(in_words).or_else(|| is_down().then_some("CLUSTERDOWN"))
}

/// The place in a script before which servers before 7.0 put an error: `@user_script: 1: -READONLY ...`.
const SCRIPT: &str = "@user_script:";

/// What the server said behind the code, without the places in a script that servers before 7.0 put in front: `Error running
/// script (call to f_<hash>): @user_script:1: @user_script: 1: -READONLY ...`, and of a command that the script called by pcall
/// the second place only.
pub(super) fn detail(error: &RedisError) -> &str {
    let said = error.detail().unwrap_or_default();
    let mut rest = match error.code() {
        Some(SCRIPT) => said.split_once(": ").map_or(said, |(_, rest)| rest),
        _ if said.starts_with("Error running script (call to f_") => {
            said.split_once("): ").map_or(said, |(_, rest)| rest)
        }
        _ => return said,
    };
    while let Some((_, behind)) = rest.strip_prefix(SCRIPT).and_then(|place| place.split_once(": ")) {
        rest = behind;
    }
    rest
}

/// The same, without the script's whereabouts that later servers put behind it.
pub(in super::super) fn said(error: &RedisError) -> String {
    let text = detail(error).split(" script:").next().unwrap_or_default().trim_end_matches([',', ' ']);
    if text.is_empty() || text.contains("user_script") { String::new() } else { format!(" {}", text::part(text)) }
}

pub(super) fn meaning(code: &str) -> &'static str {
    match code {
        "LOADING" => "it is still loading its data",
        "MASTERDOWN" => "a replica without its primary",
        "READONLY" => "a replica takes no writes",
        "NOREPLICAS" => "too few replicas are connected",
        "MISCONF" => "it cannot save its data to disk",
        "BUSY" => "it is running a long script",
        "CLUSTERDOWN" => "the cluster is down",
        _ => "the key is being moved between cluster nodes",
    }
}
