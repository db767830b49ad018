//! What an error of the server or of the way to it means: was the request carried out, and what is to be done.
//!
//! Of a step here, of a connection in `dialling`. What servers say is read in `reply`, what ended a connection in `way`.

mod dialling;
mod reply;
mod way;

use redis::RedisError;

pub(super) use self::dialling::{
    DialError, Passes, lasts_for_good, of_a_replica, of_a_sentinel, of_asking_for_slots, of_dialling, of_leaving,
    of_silence, passes,
};
use self::reply::{NEEDED, forbidden, meaning, unknown};
pub(super) use self::reply::{UNKNOWN, code, is_reply, said};
use self::way::absurd;
pub(super) use self::way::{Left, how, is_left};
use super::cluster::NO_NAME;
use super::endpoint::Endpoint;
use super::framing::Absurd;
use super::in_slot::To;
use crate::config::Address;
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
    pub(super) reads: bool,
    /// See [`State::ACCESS`].
    pub(super) access: &'static str,
}

impl StepKind {
    pub(super) fn of<S: Step>() -> StepKind {
        StepKind { op: S::OP, idempotent: S::IDEMPOTENT, reads: S::READS, access: S::State::ACCESS }
    }
}

/// The node that is to be asked instead, if a node of a cluster has said so.
pub(super) fn elsewhere(error: &RedisError, at: &Endpoint) -> Option<To> {
    let (node, _slot) = error.redirect_node()?;
    let (host, port) = node.rsplit_once(':')?;
    let host = match host.trim_start_matches('[').trim_end_matches(']') {
        // It does not know by which name it is reached.
        "" => &at.address()?.host,
        host => host,
    };
    let address = Address::told(host, port.parse().ok()?).filter(|address| address.host != NO_NAME)?;
    Some(if code(error) == Some("ASK") { To::Ask(address) } else { To::Moved(address) })
}

/// Judges a word of a node of a cluster that another one is to be asked, without an address that is one. It may have no name
/// for the other yet.
pub(super) fn of_no_address(step: StepKind, at: &Endpoint) -> Verdict {
    let message = format!(
        "{at} says that another node serves this name, but no address of that node; check its cluster-announce-hostname, and \
         cluster-preferred-endpoint-type"
    );
    Verdict::Refused { error: Error::new(ErrorKind::Server, step.op, message), redial: Redial::No }
}

/// Judges the error that running a step of this kind met.
pub(super) fn of(step: StepKind, error: &RedisError, at: &Endpoint) -> Verdict {
    let say = |kind, message: String| Error::new(kind, step.op, message);
    let fatal = |kind, message: &str| {
        let error = say(kind, message.to_owned()).permanent();
        Verdict::Fatal { error, halfway: false }
    };
    if absurd(error) == Some(Absurd::TooLong) {
        // What the script did it has done, and a second answer would be as long.
        let error = say(ErrorKind::Server, format!("{at} {}", Absurd::TooLong.how())).permanent();
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
                    "{at} is a cluster node, and another node serves this name; write redis+cluster:// in the URL to use \
                     all nodes"
                ),
            ),
            redial: Redial::No,
        },
        Some(
            code @ ("ASK" | "TRYAGAIN" | "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "READONLY" | "NOREPLICAS"
            | "MISCONF" | "BUSY"),
        ) => Verdict::Refused {
            error: say(ErrorKind::Server, format!("{at} refuses for now ({code}: {})", meaning(code))),
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
                    "{at} is over its maxmemory and evicts nothing; free memory there or raise the limit. Nothing was \
                     changed"
                ),
            ),
            halfway: false,
        },
        Some("NOPERM") => Verdict::Fatal {
            error: say(
                ErrorKind::NoPermission,
                format!("the access rules of {at} forbid {}; the user needs {}", forbidden(error), step.access),
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
                "{at} keeps the keys of one request in different cluster slots; give the names one hash tag, such as \
                 `{{orders}}:42`, or use a server without cluster mode"
            ),
        ),
        Some("NOAUTH" | "WRONGPASS") => fatal(
            ErrorKind::Connection,
            &format!("{at} wants another user or password; check the options user and password"),
        ),
        Some(UNKNOWN) => {
            let message = format!("{at} lacks a command that libdlock needs{}. {NEEDED}", unknown(error));
            // The script may have called others before.
            Verdict::Fatal { error: say(ErrorKind::Unsupported, message), halfway: true }
        }
        Some(code) => fatal(ErrorKind::Server, &format!("{at} answered {}{}", text::part(code), said(error))),
        None => Verdict::Unknown(say(ErrorKind::Connection, format!("{at} {}", how(error)))),
    }
}

#[cfg(test)]
mod texts;

#[cfg(test)]
mod tests {
    use std::io;

    use rustix::io::Errno;

    use super::*;

    pub(super) fn tcp() -> Endpoint {
        Endpoint::Tcp(Address { host: "h".to_owned(), port: 1 })
    }

    /// The error that a connection gets from these bytes.
    pub(super) fn error_of(bytes: &[u8]) -> RedisError {
        match redis::parse_redis_value(bytes) {
            Ok(redis::Value::ServerError(error)) => error.into(),
            other => panic!("no error reply: {other:?}"),
        }
    }

    #[test]
    fn an_error_of_this_machine_is_not_blamed_on_the_server() {
        let at = Endpoint::Unix("/nope".into());
        for (errno, said) in [
            (Errno::NOENT, "does not exist"),
            (Errno::ACCESS, "may not be opened by this user"),
            (Errno::MFILE, "too many open files"),
            (Errno::NFILE, "too many open files"),
            (Errno::CONNREFUSED, "refused the connection"),
        ] {
            let DialError { error, passes } = of_dialling(&io::Error::from(errno).into(), &at, false);
            assert!(error.message().contains(said), "{error}");
            assert!(passes == Passes::WhenUp && error.is_retryable(), "a later try may succeed: {error}");
        }
    }

    #[test]
    fn whether_a_retry_can_help_follows_from_the_answer() {
        let at = tcp();
        let step = StepKind { op: "acquire", idempotent: true, reads: false, access: "" };
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
            let error = match of(step, &error_of(format!("-{reply}\r\n").as_bytes()), &at) {
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
            let error = of_dialling(&theirs, &at, false).error;
            assert_eq!((error.kind(), error.is_retryable()), (kind, retryable), "{reply}");
        }
        let wrong = error_of(b"-WRONGPASS invalid username-password pair\r\n");
        assert!(of_dialling(&wrong, &at, true).error.is_retryable(), "the file may hold another by then");
        for absurd in [Absurd::Garbled, Absurd::TooLong] {
            let error = of_dialling(&io::Error::from(absurd).into(), &at, false).error;
            assert!(!error.is_retryable(), "{error}");
        }
        let no_name = of_dialling(&io::Error::from(io::ErrorKind::InvalidInput).into(), &at, false).error;
        assert!(!no_name.is_retryable(), "{no_name}");
        let silence = of(step, &io::Error::from(io::ErrorKind::TimedOut).into(), &at);
        assert!(matches!(silence, Verdict::Unknown(error) if error.is_retryable()));
        let garbled = of(step, &io::Error::from(Absurd::Garbled).into(), &at);
        assert!(matches!(garbled, Verdict::Unknown(error) if error.is_retryable()), "of one connection");
    }

    #[test]
    fn a_refusal_names_the_server_what_it_refused_and_what_helps() {
        let at = tcp();
        let step = StepKind { op: "acquire", idempotent: true, reads: false, access: "+hset" };
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
            let Verdict::Fatal { error, .. } = of(step, &error_of(format!("-{reply}\r\n").as_bytes()), &at) else {
                panic!("no verdict for good: {reply}")
            };
            assert!(error.message().contains("h:1") && error.message().contains(says), "{error}");
        }
    }

    #[test]
    fn a_servers_text_is_escaped_and_bounded() {
        let at = tcp();
        let step = StepKind { op: "acquire", idempotent: true, reads: false, access: "" };
        let long = "x\u{1b}".repeat(5_000);
        for bytes in [
            "-WEIRD\u{1b}]0; \u{1b}[31m\u{202e}red\nline\r\n".to_owned(),
            format!("-ERR {long}\r\n"),
            format!("-{long}\r\n"),
        ] {
            let error = error_of(bytes.as_bytes());
            let Verdict::Fatal { error: of_a_step, .. } = of(step, &error, &at) else { panic!("no verdict for good") };
            for message in [of_a_step.message(), of_dialling(&error, &at, false).error.message()] {
                assert!(!message.contains(|c: char| c.is_control() || c == '\u{202e}'), "{message:?}");
                assert!(message.chars().count() < 400, "{message}");
            }
        }
    }
}
