//! What an error of the server or of the way to it means: was the request carried out, and what is to be done.

use redis::{ErrorKind as Theirs, RedisError, ServerErrorKind};

use crate::config::Target;
use crate::error::{Error, ErrorKind};
use crate::step::{State, Step};

/// What to do about an error reply.
pub(super) enum Verdict {
    /// The script is not loaded; nothing was done.
    NoScript,
    /// Not carried out, for a reason that passes: try again.
    Refused(Error),
    /// Perhaps carried out: the connection is of no more use.
    Unknown(Error),
    /// No retry will change it. `halfway` when the script may have stopped between two of its commands.
    Fatal { error: Error, halfway: bool },
}

/// What kind of step it is that met an error.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub(super) op: &'static str,
    pub(super) idempotent: bool,
    /// See [`State::ACCESS`].
    access: &'static str,
}

impl Kind {
    pub(super) fn of<S: Step>() -> Kind {
        Kind { op: S::OP, idempotent: S::IDEMPOTENT, access: S::State::ACCESS }
    }
}

/// Judges the error that running a step of this kind met.
pub(super) fn of(step: Kind, error: &RedisError, target: &Target) -> Verdict {
    let say = |kind, message: String| Error::new(kind, step.op, message);
    let fatal = |kind, message: &str| Verdict::Fatal { error: say(kind, message.to_owned()), halfway: false };
    // A script's errors come back with the script's own line behind them: only the code is passed on.
    match code(error) {
        Some("NOSCRIPT") => Verdict::NoScript,
        Some(
            code @ ("MOVED" | "ASK" | "TRYAGAIN" | "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "READONLY" | "NOREPLICAS"
            | "MISCONF" | "BUSY"),
        ) => Verdict::Refused(say(ErrorKind::Server, format!("{target} refuses for now ({code}: {})", meaning(code)))),
        Some("OOM") => fatal(
            ErrorKind::OutOfMemory,
            "the server is over its maxmemory and evicts nothing; free memory there or raise the limit. Nothing was changed",
        ),
        Some("NOPERM") => Verdict::Fatal {
            error: say(
                ErrorKind::NoPermission,
                format!("the server's access rules forbid it; the user needs {}", step.access),
            ),
            halfway: true,
        },
        Some("WRONGTYPE") => fatal(
            ErrorKind::WrongType,
            "the key, or one beside it, holds something that does not belong to this kind of object; it was left untouched. \
             Choose another name, or remove the key",
        ),
        Some("CROSSSLOT") => fatal(ErrorKind::InvalidName, "the name's keys lie in different cluster slots"),
        Some("NOAUTH" | "WRONGPASS") => fatal(ErrorKind::Connection, "the server wants another user or password"),
        Some(code) => fatal(ErrorKind::Server, &format!("{target} answered {code}{}", said(error))),
        None => Verdict::Unknown(say(ErrorKind::Connection, format!("{target} {}", how(error)))),
    }
}

/// Judges the error of a connection that did not come about.
pub(super) fn of_dialling(error: &RedisError, target: &Target) -> Error {
    let (kind, what) = match (error.kind(), code(error)) {
        (Theirs::AuthenticationFailed, _) | (_, Some("WRONGPASS" | "NOAUTH")) => {
            (ErrorKind::Connection, "refused the user or the password; check the options user and password".to_owned())
        }
        (_, Some("NOPERM")) => (
            ErrorKind::NoPermission,
            "forbids this user what a client needs: +time, +select for a db other than 0".to_owned(),
        ),
        (Theirs::RESP3NotSupported, _) => {
            (ErrorKind::Connection, "does not speak RESP3; Redis 6.2 or Valkey 7.2 is needed".to_owned())
        }
        (_, Some(code @ ("LOADING" | "MASTERDOWN" | "BUSY"))) => {
            (ErrorKind::Connection, format!("is not ready yet ({code}: {})", meaning(code)))
        }
        (_, Some("DENIED")) => (
            ErrorKind::Connection,
            "runs in protected mode and lets only its own machine in; give it a password, or bind it".to_owned(),
        ),
        (_, Some(code)) => (ErrorKind::Connection, format!("refused the connection ({code}{})", said(error))),
        (_, None) => (ErrorKind::Connection, how(error).to_owned()),
    };
    Error::new(kind, "connect", format!("{target} {what}"))
}

/// Whether the server said this, rather than the way to it.
pub(super) fn is_reply(error: &RedisError) -> bool {
    code(error).is_some()
}

/// The first word of an error that the server sent, `None` for errors of the way to it.
fn code(error: &RedisError) -> Option<&str> {
    match error.kind() {
        Theirs::Server(ServerErrorKind::ResponseError) => {
            // "ERR" in front: some errors that a script meets hide their code in the text.
            let detail = error.detail().unwrap_or_default();
            ["WRONGTYPE", "NOPERM", "OOM"].into_iter().find(|code| detail.contains(code)).or(Some("ERR"))
        }
        Theirs::Server(_) | Theirs::Extension => error.code(),
        Theirs::AuthenticationFailed => Some("WRONGPASS"),
        _ => None,
    }
}

/// What the server said behind the code, without the script's whereabouts that it adds.
fn said(error: &RedisError) -> String {
    let text = error.detail().unwrap_or_default();
    let text = text.split(" script:").next().unwrap_or_default().trim_end_matches([',', ' ']);
    if text.is_empty() || text.contains("user_script") { String::new() } else { format!(" {text}") }
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

/// An error of the way to the server, in words of ours.
pub(super) fn how(error: &RedisError) -> &'static str {
    if error.is_timeout() {
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
