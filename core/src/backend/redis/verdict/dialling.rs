//! Why a connection failed, and whether another try may help.

use std::time::Duration;

use redis::{ErrorKind as Theirs, RedisError};

use super::super::endpoint::Endpoint;
use super::super::tls::Lasts;
use super::reply::{NEEDED, UNKNOWN, code, detail, meaning, said, unknown};
use super::way::{LEFT, absurd, fault, how, is_no_address};
use crate::error::{Error, ErrorKind};
use crate::text;

/// Why a connection failed.
#[derive(Debug)]
pub(in super::super) struct DialError {
    pub(in super::super) error: Error,
    pub(in super::super) passes: Passes,
}

/// Whether a later try may succeed although nobody changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Passes {
    Never,
    /// When the server, or a sentinel, is up.
    WhenUp,
    /// When the sentinels name another master, which they do within seconds.
    WithFailover,
}

impl Passes {
    /// Of an error at this server that is not for good.
    fn at(endpoint: &Endpoint) -> Passes {
        match endpoint {
            Endpoint::Master { .. } => Passes::WithFailover,
            Endpoint::Tcp(_) | Endpoint::Unix(_) => Passes::WhenUp,
        }
    }
}

fn dial_error(at: &Endpoint, what: &str) -> DialError {
    DialError { error: at.error(what), passes: Passes::at(at) }
}

/// How the way to this server does not work, and what is to be checked beyond that.
fn out_of_reach(how: &str, at: &Endpoint) -> String {
    match at {
        Endpoint::Master { .. } => {
            let stop = if how.ends_with('?') { "" } else { "." };
            format!("{how}{stop} The sentinels name this address: it has to be reachable from here")
        }
        Endpoint::Tcp(_) | Endpoint::Unix(_) => how.to_owned(),
    }
}

/// It has not answered within `connect_timeout`.
pub(in super::super) fn of_silence(limit: Duration, at: &Endpoint) -> DialError {
    dial_error(at, &out_of_reach(&format!("did not answer within the connect time-out of {limit:?}"), at))
}

/// The sentinels name another master by now.
pub(in super::super) fn of_leaving(at: &Endpoint) -> DialError {
    dial_error(at, LEFT)
}

/// The server that the sentinels name says itself that it is none.
pub(in super::super) fn of_a_replica(at: &Endpoint) -> DialError {
    dial_error(
        at,
        "is a replica, although the sentinels name it: they are about to name another, or have lost touch with it",
    )
}

/// A sentinel where a server should be.
pub(in super::super) fn of_a_sentinel(at: &Endpoint) -> DialError {
    let DialError { error, .. } = dial_error(
        at,
        "is a sentinel, which keeps no locks; write redis+sentinel://host:port/NAME, where NAME is that of the master",
    );
    DialError { error: error.permanent(), passes: Passes::Never }
}

/// Whether the reason of a failed connection may be gone at the next try, although nobody changes anything.
pub(in super::super) fn passes(error: &RedisError) -> bool {
    match code(error) {
        Some(code) => matches!(code, "LOADING" | "MASTERDOWN" | "BUSY"),
        None => match fault(error) {
            Some(fault) => fault.lasts == Lasts::Briefly,
            None => error.is_timeout() || (error.kind() == Theirs::Io && absurd(error).is_none()),
        },
    }
}

/// Whether an error of the way to a server stays until something is changed.
pub(in super::super) fn lasts_for_good(error: &RedisError) -> bool {
    match fault(error) {
        Some(fault) => fault.lasts == Lasts::ForGood,
        // A server that is away comes back; whatever else listens there is no server, and an address may lead nowhere.
        None => !passes(error) || is_no_address(error),
    }
}

/// Judges the error of a failed connection. `password_may_change` when each connection reads it anew.
pub(in super::super) fn of_dialling(error: &RedisError, at: &Endpoint, password_may_change: bool) -> DialError {
    let passes = passes(error);
    let say = |kind, what: &str| Error::new(kind, "connect", format!("{at} {what}"));
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
            // The first that a sentinel lacks, of those that a login with a database sends.
            let of_sentinels = match which.eq_ignore_ascii_case(" (SELECT)") {
                true => {
                    ". Sentinels lack it too: write redis+sentinel://host:port/NAME, where NAME is that of the master"
                }
                false => "",
            };
            say(ErrorKind::Unsupported, &format!("lacks a command that libdlock needs{which}. {NEEDED}{of_sentinels}"))
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
            let what = if passes { out_of_reach(how(error), at) } else { how(error).to_owned() };
            permanent_if(lasts_for_good(error), say(ErrorKind::Connection, &what))
        }
    };
    DialError { error, passes: if passes { Passes::at(at) } else { Passes::Never } }
}

/// Judges a node's refusal of CLUSTER SLOTS, for the caller of `connect`.
pub(in super::super) fn of_asking_for_slots(error: &RedisError, at: &Endpoint) -> (Error, Passes) {
    let say = |kind, what: &str| Error::new(kind, "connect", format!("{at} {what}"));
    match code(error) {
        Some("ERR") if detail(error).contains("cluster support disabled") => {
            let what = "is no node of a cluster; write redis:// in the URL for a single server";
            (say(ErrorKind::Unsupported, what), Passes::Never)
        }
        Some("NOPERM") => {
            let what = "does not tell this user which node serves which slot; the user needs +cluster|slots";
            (say(ErrorKind::NoPermission, what), Passes::Never)
        }
        _ => {
            let DialError { error, passes } = of_dialling(error, at, false);
            (error, passes)
        }
    }
}
