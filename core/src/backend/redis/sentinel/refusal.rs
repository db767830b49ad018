//! Why a sentinel does not say where the master is, and the errors that come of it.

use std::fmt;
use std::time::Duration;

use redis::RedisError;

use super::super::verdict::{self, DialError, Passes};
use super::choose::{Apart, Disagreement};
use crate::config::Address;
use crate::error::{Error, ErrorKind};
use crate::text::part;

/// What a user of sentinels needs. They have no keys.
const RIGHTS: &str = "+hello +auth +client|setname +info +subscribe +sentinel|get-master-addr-by-name +sentinel|master \
                      +sentinel|sentinels +sentinel|myid &+switch-master &+promoted-slave";

/// Why there is no answer of one sentinel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It could not be reached: in words that follow its address, whether a later try may succeed, and whether none will.
    Unreachable {
        how: String,
        passes: bool,
        for_good: bool,
    },
    /// It speaks TLS, and is asked without.
    SpeaksTls,
    Silent(Duration),
    /// The password or a file of the options could not be read, for this reason.
    Unreadable(String),
    Login {
        may_change: bool,
    },
    Forbidden,
    /// It is a server, or lacks what sentinels have since Redis 6.2.
    NoSentinel,
    /// It watches so many others.
    UnknownMaster {
        masters: Option<u64>,
    },
    /// Another error, in words that follow its address.
    Other(String),
}

impl Refusal {
    pub(super) fn of(error: &RedisError, password_may_change: bool) -> Refusal {
        match verdict::code(error) {
            None => {
                let (how, passes, for_good) =
                    (verdict::how(error), verdict::passes(error), verdict::lasts_for_good(error));
                // Several refuse for one reason, and one hint for each is too many.
                let short = how.strip_suffix("; is the server running there?").unwrap_or(how);
                Refusal::Unreachable { how: short.to_owned(), passes, for_good }
            }
            Some("NOAUTH" | "WRONGPASS") => Refusal::Login { may_change: password_may_change },
            Some("NOPERM") => Refusal::Forbidden,
            Some(verdict::UNKNOWN) => Refusal::NoSentinel,
            Some(code) => Refusal::Other(format!("answered {}{}", part(code), verdict::said(error))),
        }
    }

    /// Whether the answer stays the same until somebody changes something.
    pub(super) fn is_final(&self) -> bool {
        match self {
            Refusal::Unreachable { for_good, .. } => *for_good,
            Refusal::Silent(_) | Refusal::Unreadable(_) | Refusal::Other(_) => false,
            Refusal::Login { may_change } => !may_change,
            Refusal::SpeaksTls | Refusal::Forbidden | Refusal::NoSentinel | Refusal::UnknownMaster { .. } => true,
        }
    }
}

/// What follows the address of the sentinel.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Unreachable { how, .. } | Refusal::Other(how) => f.write_str(how),
            Refusal::SpeaksTls => f.write_str("speaks TLS; use rediss+sentinel:// (or valkeys+sentinel://) for it"),
            Refusal::Silent(limit) => write!(f, "did not answer within {limit:?}"),
            Refusal::Unreadable(why) => write!(f, "was not asked: {why}"),
            Refusal::Login { .. } => f.write_str(
                "wants another user or password (options sentinel_user and sentinel_password; those of the URL are for the \
                 master)",
            ),
            Refusal::Forbidden => write!(f, "forbids this user to ask; it needs {RIGHTS}"),
            Refusal::NoSentinel => {
                f.write_str("is a server and no sentinel (a server's URL is redis://host:port; sentinels listen on 26379)")
            }
            Refusal::UnknownMaster { masters: Some(1) } => f.write_str("watches one master, of another name"),
            Refusal::UnknownMaster { masters: Some(masters) } => write!(f, "watches {masters} masters, none of that name"),
            Refusal::UnknownMaster { masters: None } => f.write_str("watches no master of that name"),
        }
    }
}

/// No sentinel says where the master is. `first` for the caller of `connect`, to whom a file that cannot be read is a wrong
/// argument; later it may be one that is just being replaced.
pub(super) fn no_answer(master: &str, refusals: &[(Address, Refusal)], first: bool) -> DialError {
    let mut kinds: Vec<(&Refusal, Vec<&Address>)> = Vec::new();
    for (address, refusal) in refusals {
        match kinds.iter_mut().find(|(known, _)| *known == refusal) {
            Some((_, addresses)) => addresses.push(address),
            None => kinds.push((refusal, vec![address])),
        }
    }
    let told: Vec<String> = kinds.iter().map(|(refusal, of)| format!("{} {refusal}", each_of(of))).collect();
    let message = format!("no sentinel says where the master \"{}\" is: {}", part(master), told.join("; "));
    let kind = match kinds.as_slice() {
        [(Refusal::Forbidden, _)] => ErrorKind::NoPermission,
        [(Refusal::Unreadable(_), _)] if first => ErrorKind::InvalidArgument,
        _ => ErrorKind::Connection,
    };
    let error = Error::new(kind, "connect", message);
    let is_final = refusals.iter().all(|(_, refusal)| refusal.is_final());
    let starts = refusals
        .iter()
        .any(|(_, refusal)| matches!(refusal, Refusal::Unreachable { passes: true, .. } | Refusal::Silent(_)));
    DialError {
        error: if is_final { error.permanent() } else { error },
        passes: if starts { Passes::WhenUp } else { Passes::Never },
    }
}

/// Two sentinels name two masters, and nothing tells which of them is right.
pub(super) fn disagreement(master: &str, Disagreement { how, sides }: &Disagreement) -> DialError {
    let [one, other] = sides.each_ref().map(|(sentinel, says)| format!("{sentinel} names {says}"));
    let how = match how {
        Apart::SameEpoch(Some(epoch)) => format!("both with the epoch {epoch}"),
        Apart::SameEpoch(None) => "with unknown epochs".to_owned(),
        Apart::Strangers => "and neither knows the other".to_owned(),
    };
    let message = format!(
        "the sentinels disagree about the master \"{}\": {one} and {other}, {how}. If this lasts, they do not watch one another: \
         the URL must name the sentinels of one deployment",
        part(master)
    );
    DialError { error: Error::new(ErrorKind::Connection, "connect", message), passes: Passes::WithFailover }
}

/// The first few addresses, with a verb in the singular behind them.
fn each_of(addresses: &[&Address]) -> String {
    const SHOWN: usize = 8;
    match addresses {
        [one] => one.to_string(),
        many => {
            let shown: Vec<String> = many.iter().take(SHOWN).map(|address| part(&address.to_string())).collect();
            let more = many.len().saturating_sub(SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("each of {}{more}", shown.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> Refusal {
        Refusal::Unreachable { how: "refused the connection".to_owned(), passes: true, for_good: false }
    }

    fn at(host: &str) -> Address {
        Address { host: host.to_owned(), port: 26379 }
    }

    /// Of a client that was connected before.
    fn error(refusals: &[Refusal]) -> DialError {
        error_of(refusals, false)
    }

    fn error_of(refusals: &[Refusal], first: bool) -> DialError {
        let hosts = (1..).map(|number| at(&format!("s{number}")));
        no_answer("orders", &hosts.zip(refusals.iter().cloned()).collect::<Vec<_>>(), first)
    }

    #[test]
    fn the_rights_are_those_that_test_sentinels_give() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors/access.json");
        let table: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let words = |list: &str, mark: char| -> Vec<String> {
            table[list].as_array().unwrap().iter().map(|word| format!("{mark}{}", word.as_str().unwrap())).collect()
        };
        assert_eq!(RIGHTS, [words("sentinel_commands", '+'), words("sentinel_channels", '&')].concat().join(" "));
    }

    #[test]
    fn each_reason_is_told_once_with_those_that_gave_it() {
        let refused = refused();
        let told = error(&[refused.clone(), Refusal::UnknownMaster { masters: Some(2) }, refused.clone()]).error;
        assert_eq!(
            told.message(),
            "no sentinel says where the master \"orders\" is: each of s1:26379, s3:26379 refused the connection; s2:26379 watches \
             2 masters, none of that name"
        );
        let many = error(&vec![refused; 40]).error;
        assert!(many.message().contains("s8:26379 and 32 more refused"), "{many}");
    }

    #[test]
    fn a_later_try_can_help_only_where_something_may_change() {
        let refused = refused();
        let unknown = Refusal::UnknownMaster { masters: None };
        let (login, file) = (Refusal::Login { may_change: false }, Refusal::Login { may_change: true });
        for (refusals, passes, retryable) in [
            (vec![refused.clone(), unknown.clone()], Passes::WhenUp, true),
            (vec![Refusal::Silent(Duration::from_secs(1))], Passes::WhenUp, true),
            (vec![unknown, Refusal::NoSentinel], Passes::Never, false),
            (vec![login.clone(), login], Passes::Never, false),
            (vec![file], Passes::Never, true),
            (vec![Refusal::Forbidden], Passes::Never, false),
            (vec![Refusal::SpeaksTls], Passes::Never, false),
            (vec![Refusal::Unreadable("option tls_ca_file: cannot read it".to_owned())], Passes::Never, true),
        ] {
            let DialError { error, passes: found } = error(&refusals);
            assert_eq!((found, error.is_retryable()), (passes, retryable), "{error}");
        }
        assert_eq!(error(&[Refusal::Forbidden]).error.kind(), ErrorKind::NoPermission);
        let of_connect = error_of(&[Refusal::Unreadable("option tls_ca_file: cannot read it".to_owned())], true).error;
        assert_eq!((of_connect.kind(), of_connect.is_retryable()), (ErrorKind::InvalidArgument, false), "{of_connect}");
    }
}
