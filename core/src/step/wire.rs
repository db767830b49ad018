//! Replies of the server, and how decoders take them apart.

use super::Malformed;
use crate::time::ServerTime;

/// What a script can answer. A backend converts its protocol's values into these by move.
#[derive(Debug)]
pub(crate) enum Reply {
    Nil,
    Int(i64),
    /// A bulk or a simple string. Not always UTF-8: a foreign owner may be any bytes.
    Bytes(Vec<u8>),
    List(Vec<Reply>),
    /// A value of a type that no script of libdlock returns.
    Other,
}

pub(crate) fn list(reply: Reply) -> Result<Vec<Reply>, Malformed> {
    match reply {
        Reply::List(items) => Ok(items),
        _ => Err(Malformed),
    }
}

pub(crate) fn int(reply: Option<&Reply>) -> Result<i64, Malformed> {
    match reply {
        Some(Reply::Int(number)) => Ok(*number),
        _ => Err(Malformed),
    }
}

pub(crate) fn unsigned(reply: Option<&Reply>) -> Result<u64, Malformed> {
    u64::try_from(int(reply)?).map_err(|_| Malformed)
}

/// A time on the server's clock, in microseconds.
pub(crate) fn time(reply: Option<&Reply>) -> Result<ServerTime, Malformed> {
    ServerTime::told(unsigned(reply)?).ok_or(Malformed)
}

/// A string or nil. Bytes that are not UTF-8 become replacement characters.
pub(crate) fn text(reply: Option<&Reply>) -> Result<Option<String>, Malformed> {
    match reply {
        Some(Reply::Bytes(bytes)) => Ok(Some(String::from_utf8_lossy(bytes).into_owned())),
        Some(Reply::Nil) => Ok(None),
        _ => Err(Malformed),
    }
}
