//! What an error of the server or of the way to it means: was the request carried out, and what is to be done.

use std::error::Error as _;
use std::io;
use std::sync::Arc;

use redis::{ErrorKind as Theirs, RedisError, ServerErrorKind};
use rustix::io::Errno;

use super::framing::Absurd;
use super::tls::{Fault, Lasts};
use crate::config::Target;
use crate::error::{Error, ErrorKind};
use crate::step::{State, Step};
use crate::text;

/// What to do about an error reply.
pub(super) enum Verdict {
    /// The script is not loaded; nothing was done.
    NoScript,
    /// Not carried out, for a reason that passes: try again.
    Refused { error: Error, redial: Redial },
    /// Perhaps carried out: the connection is of no more use.
    Unknown(Error),
    /// Not to be tried again within this call. `halfway` when the script may have stopped between two of its commands.
    Fatal { error: Error, halfway: bool },
}

/// Whether to dial the address again after a refusal: it may lead to another server by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Redial {
    No,
    /// The server is no primary.
    AtOnce,
    /// It may be one that has just started, or one that becomes a replica.
    AfterAWhile,
}

/// What kind of step it is that met an error.
#[derive(Clone, Copy)]
pub(super) struct StepKind {
    pub(super) op: &'static str,
    pub(super) idempotent: bool,
    /// See [`State::ACCESS`].
    access: &'static str,
}

impl StepKind {
    pub(super) fn of<S: Step>() -> StepKind {
        StepKind { op: S::OP, idempotent: S::IDEMPOTENT, access: S::State::ACCESS }
    }
}

/// Judges the error that running a step of this kind met.
pub(super) fn of(step: StepKind, error: &RedisError, target: &Target) -> Verdict {
    let say = |kind, message: String| Error::new(kind, step.op, message);
    let fatal = |kind, message: &str| {
        let error = say(kind, message.to_owned()).permanent();
        Verdict::Fatal { error, halfway: false }
    };
    if absurd(error) == Some(Absurd::TooLong) {
        // What the script did it has done, and a second answer would be as long.
        let error = say(ErrorKind::Server, format!("{target} {}", Absurd::TooLong.how())).permanent();
        return Verdict::Fatal { error, halfway: true };
    }
    // A script's errors come back with the script's own line behind them: only the code is passed on.
    match code(error) {
        Some("NOSCRIPT") => Verdict::NoScript,
        // The slot may come back, after a failover say, so the request is repeated as for the others.
        Some("MOVED") => Verdict::Refused {
            error: say(
                ErrorKind::Unsupported,
                format!(
                    "{target} is a cluster node, and another node serves this name; this version of libdlock uses one \
                     node. A server without cluster mode, or a cluster with one primary, can do it"
                ),
            ),
            redial: Redial::No,
        },
        Some(
            code @ ("ASK" | "TRYAGAIN" | "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "READONLY" | "NOREPLICAS"
            | "MISCONF" | "BUSY"),
        ) => Verdict::Refused {
            error: say(ErrorKind::Server, format!("{target} refuses for now ({code}: {})", meaning(code))),
            redial: match code {
                "READONLY" | "MASTERDOWN" => Redial::AtOnce,
                "LOADING" => Redial::AfterAWhile,
                _ => Redial::No,
            },
        },
        // Keys run out, and somebody may free memory.
        Some("OOM") => Verdict::Fatal {
            error: say(
                ErrorKind::OutOfMemory,
                format!(
                    "{target} is over its maxmemory and evicts nothing; free memory there or raise the limit. Nothing was \
                     changed"
                ),
            ),
            halfway: false,
        },
        Some("NOPERM") => Verdict::Fatal {
            error: say(
                ErrorKind::NoPermission,
                format!("the access rules of {target} forbid {}; the user needs {}", forbidden(error), step.access),
            ),
            halfway: true,
        },
        Some("WRONGTYPE") => fatal(
            ErrorKind::WrongType,
            "the key, or one beside it, holds something that does not belong to this kind of object; it was left untouched. \
             Choose another name, or remove the key",
        ),
        Some("CROSSSLOT") => fatal(
            ErrorKind::InvalidName,
            &format!(
                "{target} keeps the keys of one request in different cluster slots; give the names one hash tag, such as \
                 `{{orders}}:42`, or use a server without cluster mode"
            ),
        ),
        Some("NOAUTH" | "WRONGPASS") => fatal(
            ErrorKind::Connection,
            &format!("{target} wants another user or password; check the options user and password"),
        ),
        Some(UNKNOWN) => {
            let message = format!("{target} lacks a command that libdlock needs{}. {NEEDED}", unknown(error));
            // The script may have called others before.
            Verdict::Fatal { error: say(ErrorKind::Unsupported, message), halfway: true }
        }
        Some(code) => fatal(ErrorKind::Server, &format!("{target} answered {}{}", text::part(code), said(error))),
        None => Verdict::Unknown(say(ErrorKind::Connection, format!("{target} {}", how(error)))),
    }
}

/// Why a connection failed.
#[derive(Debug)]
pub(super) struct DialError {
    pub(super) error: Error,
    /// The server may not be up yet: a later try may succeed.
    pub(super) passes: bool,
}

/// Judges the error of a failed connection. `password_may_change` when each connection reads it anew.
pub(super) fn of_dialling(error: &RedisError, target: &Target, password_may_change: bool) -> DialError {
    let passes = match code(error) {
        Some(code) => matches!(code, "LOADING" | "MASTERDOWN" | "BUSY"),
        None => match fault(error) {
            Some(fault) => fault.lasts == Lasts::Briefly,
            None => error.is_timeout() || (error.kind() == Theirs::Io && absurd(error).is_none()),
        },
    };
    let say = |kind, what: &str| Error::new(kind, "connect", format!("{target} {what}"));
    let permanent_if = |permanent: bool, error: Error| if permanent { error.permanent() } else { error };
    let error = match (error.kind(), code(error)) {
        (Theirs::AuthenticationFailed, _) | (_, Some("WRONGPASS" | "NOAUTH")) => permanent_if(
            !password_may_change,
            say(ErrorKind::Connection, "refused the user or the password; check the options user and password"),
        ),
        (_, Some("NOPERM")) => {
            say(ErrorKind::NoPermission, "forbids this user what a client needs: +time, +select for a db other than 0")
        }
        (_, Some("NOPROTO")) => say(ErrorKind::Unsupported, "does not speak RESP3; Redis 6.2, Valkey 7.2 and later do"),
        (Theirs::RESP3NotSupported, _) | (_, Some(UNKNOWN)) => {
            // The redis crate keeps no text of a HELLO that a server before 7.0 does not know.
            let which = if error.kind() == Theirs::RESP3NotSupported { " (HELLO)".to_owned() } else { unknown(error) };
            say(ErrorKind::Unsupported, &format!("lacks a command that libdlock needs{which}. {NEEDED}"))
        }
        (_, Some("ERR")) if detail(error).contains("not allowed in cluster mode") => {
            say(ErrorKind::Unsupported, "is in cluster mode, which has only database 0; leave the option db at 0")
        }
        (_, Some(code @ ("LOADING" | "MASTERDOWN" | "BUSY"))) => {
            say(ErrorKind::Connection, &format!("is not ready yet ({code}: {})", meaning(code)))
        }
        (_, Some("DENIED")) => {
            let what = "runs in protected mode and lets only its own machine in; give it a password, or bind it";
            say(ErrorKind::Connection, what).permanent()
        }
        (_, Some(code)) => {
            // The one of its plain errors that passes. Other codes are those of something in between.
            let full = detail(error).contains("max number of clients");
            let what = format!("refused the connection ({}{})", text::part(code), said(error));
            permanent_if(code == "ERR" && !full, say(ErrorKind::Connection, &what))
        }
        (_, None) => {
            let lasts = match fault(error) {
                Some(fault) => fault.lasts == Lasts::ForGood,
                // A server that is away comes back; whatever else listens there is no server, and an address may lead nowhere.
                None => !passes || is_no_address(error),
            };
            permanent_if(lasts, say(ErrorKind::Connection, how(error)))
        }
    };
    DialError { error, passes }
}

/// Whether the server said this, rather than the way to it.
pub(super) fn is_reply(error: &RedisError) -> bool {
    code(error).is_some()
}

/// Stands for the code of an error about a command that the server does not have; servers say it in words.
const UNKNOWN: &str = "unknown command";

/// The servers that have every command.
const NEEDED: &str = "Redis 6.2, Valkey 7.2 and later have it, unless rename-command hides it";

/// The command that the server does not have, where it names it: ` (HELLO)`. What it says behind that holds arguments, among
/// them the password.
fn unknown(error: &RedisError) -> String {
    let quoted = detail(error).split(['\'', '`', '"']).nth(1);
    quoted.map_or(String::new(), |command| format!(" ({})", text::part(command)))
}

/// What the server's access rules forbid, where it names that: servers from 7.0 on name a command, later ones a key or channel.
fn forbidden(error: &RedisError) -> String {
    let named = |before: &str, after: &str| detail(error).split_once(before)?.1.split_once(after).map(|(name, _)| name);
    let kinds = [("command", "run the '"), ("key", "access the '"), ("channel", "access the '")];
    let found = kinds.into_iter().find_map(|(kind, before)| Some((kind, named(before, &format!("' {kind}"))?)));
    found.map_or("it".to_owned(), |(kind, name)| format!("the {kind} '{}'", text::part(name)))
}

/// The first word of an error that the server sent, `None` for errors of the way to it.
fn code(error: &RedisError) -> Option<&str> {
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
fn detail(error: &RedisError) -> &str {
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
fn said(error: &RedisError) -> String {
    let text = detail(error).split(" script:").next().unwrap_or_default().trim_end_matches([',', ' ']);
    if text.is_empty() || text.contains("user_script") { String::new() } else { format!(" {}", text::part(text)) }
}

fn meaning(code: &str) -> &'static str {
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

/// The error of the operating system, or of the stream, below.
fn below(error: &RedisError) -> Option<&io::Error> {
    let source = error.source()?;
    let shared = source.downcast_ref::<Arc<dyn std::error::Error + Send + Sync>>();
    shared.map_or(source, |shared| &**shared).downcast_ref()
}

/// Whether the operating system, or the resolver of names, takes what was dialled for no address at all.
fn is_no_address(error: &RedisError) -> bool {
    below(error).is_some_and(|error| error.kind() == io::ErrorKind::InvalidInput)
}

/// What was wrong with the bytes that came, when that ended the connection.
fn absurd(error: &RedisError) -> Option<Absurd> {
    below(error)?.get_ref()?.downcast_ref().copied()
}

/// What TLS said, when that ended the connection.
fn fault(error: &RedisError) -> Option<&Fault> {
    Fault::of(below(error)?)
}

/// What the operating system said, where that is another thing to mend than the server or the way to it.
fn local(error: &RedisError) -> Option<&'static str> {
    Some(match Errno::from_io_error(below(error)?)? {
        // Of all addresses only the path of a Unix socket is looked for as a file.
        Errno::NOENT => "does not exist; check the path, and whether the server runs with that unixsocket",
        Errno::ACCESS => "may not be opened by this user; check the rights of the socket (unixsocketperm)",
        Errno::MFILE => {
            "was not dialled: this process has too many open files; raise its limit (ulimit -n) or close some"
        }
        Errno::NFILE => "was not dialled: this machine has too many open files",
        _ => return None,
    })
}

/// An error of the way to the server, in words of ours.
pub(super) fn how(error: &RedisError) -> &str {
    if let Some(absurd) = absurd(error) {
        absurd.how()
    } else if let Some(fault) = fault(error) {
        fault.how()
    } else if let Some(local) = local(error) {
        local
    } else if error.is_timeout() {
        "did not answer in time"
    } else if error.is_connection_refusal() {
        "refused the connection; is the server running there?"
    } else if error.is_connection_dropped() {
        "closed the connection"
    } else {
        match error.kind() {
            Theirs::Io => "could not be reached; check host name, port and network",
            _ => "answered something that is no Redis reply",
        }
    }
}

#[cfg(test)]
#[path = "verdict_texts.rs"]
mod texts;

#[cfg(test)]
mod tests {
    use super::*;

    /// The error that a connection gets from these bytes.
    pub(super) fn error_of(bytes: &[u8]) -> RedisError {
        match redis::parse_redis_value(bytes) {
            Ok(redis::Value::ServerError(error)) => error.into(),
            other => panic!("no error reply: {other:?}"),
        }
    }

    #[test]
    fn an_error_of_this_machine_is_not_blamed_on_the_server() {
        let target = Target::Unix("/nope".into());
        for (errno, said) in [
            (Errno::NOENT, "does not exist"),
            (Errno::ACCESS, "may not be opened by this user"),
            (Errno::MFILE, "too many open files"),
            (Errno::NFILE, "too many open files"),
            (Errno::CONNREFUSED, "refused the connection"),
        ] {
            let DialError { error, passes } = of_dialling(&io::Error::from(errno).into(), &target, false);
            assert!(error.message().contains(said), "{error}");
            assert!(passes && error.is_retryable(), "a later try may succeed: {error}");
        }
    }

    #[test]
    fn whether_a_retry_can_help_follows_from_the_answer() {
        let target = Target::Tcp { host: "h".to_owned(), port: 1, tls: false };
        let step = StepKind { op: "acquire", idempotent: true, access: "" };
        use ErrorKind::{Connection, NoPermission, OutOfMemory, Server, Unsupported};
        for (reply, kind, retryable) in [
            ("LOADING Redis is loading the dataset in memory", Server, true),
            ("READONLY You can't write against a read only replica.", Server, true),
            ("MISCONF Redis is configured to save RDB snapshots", Server, true),
            ("CLUSTERDOWN The cluster is down", Server, true),
            ("OOM command not allowed when used memory > 'maxmemory'.", OutOfMemory, true),
            ("ERR syntax error", Server, false),
            ("WEIRD and final", Server, false),
            ("NOAUTH Authentication required.", Connection, false),
            ("NOPERM this user has no permissions", NoPermission, false),
            ("ERR unknown command 'EVALSHA'", Unsupported, false),
        ] {
            let error = match of(step, &error_of(format!("-{reply}\r\n").as_bytes()), &target) {
                Verdict::Refused { error, .. } | Verdict::Fatal { error, .. } => error,
                _ => panic!("no answer: {reply}"),
            };
            assert_eq!((error.kind(), error.is_retryable()), (kind, retryable), "{reply}");
        }
        for (reply, kind, retryable) in [
            ("LOADING Redis is loading the dataset in memory", Connection, true),
            ("ERR max number of clients reached", Connection, true),
            ("upstream failure", Connection, true),
            ("WRONGPASS invalid username-password pair or user is disabled.", Connection, false),
            ("NOAUTH HELLO must be called with the client already authenticated", Connection, false),
            ("DENIED Redis is running in protected mode", Connection, false),
            ("ERR DB index is out of range", Connection, false),
            ("NOPERM this user has no permissions", NoPermission, false),
            ("NOPROTO unsupported protocol version", Unsupported, false),
        ] {
            let theirs = error_of(format!("-{reply}\r\n").as_bytes());
            let error = of_dialling(&theirs, &target, false).error;
            assert_eq!((error.kind(), error.is_retryable()), (kind, retryable), "{reply}");
        }
        let wrong = error_of(b"-WRONGPASS invalid username-password pair\r\n");
        assert!(of_dialling(&wrong, &target, true).error.is_retryable(), "the file may hold another by then");
        for absurd in [Absurd::Garbled, Absurd::TooLong] {
            let error = of_dialling(&io::Error::from(absurd).into(), &target, false).error;
            assert!(!error.is_retryable(), "{error}");
        }
        let no_name = of_dialling(&io::Error::from(io::ErrorKind::InvalidInput).into(), &target, false).error;
        assert!(!no_name.is_retryable(), "{no_name}");
        let silence = of(step, &io::Error::from(io::ErrorKind::TimedOut).into(), &target);
        assert!(matches!(silence, Verdict::Unknown(error) if error.is_retryable()));
        let garbled = of(step, &io::Error::from(Absurd::Garbled).into(), &target);
        assert!(matches!(garbled, Verdict::Unknown(error) if error.is_retryable()), "of one connection");
    }

    #[test]
    fn a_refusal_names_the_server_what_it_refused_and_what_helps() {
        let target = Target::Tcp { host: "h".to_owned(), port: 1, tls: false };
        let step = StepKind { op: "acquire", idempotent: true, access: "+hset" };
        for (reply, says) in [
            ("NOPERM User u has no permissions to run the 'hset' command", "the command 'hset'; the user needs +hset"),
            ("NOPERM this user has no permissions to run the 'eval' command or its subcommand", "the command 'eval'"),
            (
                "ERR ACL failure in script: User u has no permissions to run the 'publish' command",
                "the command 'publish'",
            ),
            ("NOPERM User u has no permissions to access the 'jobs' key", "the key 'jobs'"),
            ("NOPERM User u has no permissions to access the 'dlock_inbox:1' channel", "the channel 'dlock_inbox:1'"),
            ("NOPERM No permissions to access a key", "forbid it; the user needs +hset"),
            ("CROSSSLOT Keys in request don't hash to the same slot", "one hash tag"),
            ("NOAUTH Authentication required.", "check the options user and password"),
            ("OOM command not allowed when used memory > 'maxmemory'.", "over its maxmemory"),
        ] {
            let Verdict::Fatal { error, .. } = of(step, &error_of(format!("-{reply}\r\n").as_bytes()), &target) else {
                panic!("no verdict for good: {reply}")
            };
            assert!(error.message().contains("h:1") && error.message().contains(says), "{error}");
        }
    }

    #[test]
    fn a_servers_text_is_escaped_and_bounded() {
        let target = Target::Tcp { host: "h".to_owned(), port: 1, tls: false };
        let step = StepKind { op: "acquire", idempotent: true, access: "" };
        let long = "x\u{1b}".repeat(5_000);
        for bytes in [
            "-WEIRD\u{1b}]0; \u{1b}[31m\u{202e}red\nline\r\n".to_owned(),
            format!("-ERR {long}\r\n"),
            format!("-{long}\r\n"),
        ] {
            let error = error_of(bytes.as_bytes());
            let Verdict::Fatal { error: of_a_step, .. } = of(step, &error, &target) else {
                panic!("no verdict for good")
            };
            for message in [of_a_step.message(), of_dialling(&error, &target, false).error.message()] {
                assert!(!message.contains(|c: char| c.is_control() || c == '\u{202e}'), "{message:?}");
                assert!(message.chars().count() < 400, "{message}");
            }
        }
    }
}
