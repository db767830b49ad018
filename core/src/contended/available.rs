//! How many permits of a semaphore are available: the key and the channel that all kinds of semaphore have, as
//! `available.lua` keeps them.

use crate::context::Context;
use crate::name::ObjectName;
use crate::step::{MainKey, WrongType};

/// The kind of channel where the number of available permits is announced (Redisson's RSemaphore and
/// RPermitExpirableSemaphore).
pub(crate) const CHANNEL: &str = "redisson_sc";

/// What follows the name in the key of the permits that are taken under leases (RPermitExpirableSemaphore).
pub(crate) const TIMEOUT: &str = "timeout";

/// The most permits that there are: Redisson counts them in an `int`.
pub(crate) const MAX_PERMITS: u32 = i32::MAX as u32;

/// How many permits are available, as their key has it; `None` when there is no such key.
pub(crate) fn count(key: &MainKey) -> Result<Option<i64>, WrongType> {
    let Some(text) = key.text()? else { return Ok(None) };
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.is_empty();
    // As the server writes a number: of others it takes none. Below 10^15, where a number of Lua is exact.
    let is_number = text.len() <= 15 && is_number && (text == "0" || !digits.starts_with('0'));
    if is_number { text.parse().map(Some).map_err(|_| WrongType) } else { Err(WrongType) }
}

/// Whose permits: one acquire of one client, and how many it takes. Written `<client>:<number>/<permits>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taker<'a> {
    pub(crate) owner: &'a str,
    pub(crate) client: &'a str,
    pub(crate) permits: u32,
}

impl<'a> Taker<'a> {
    pub(crate) fn of(owner: &'a str) -> Taker<'a> {
        let client = owner.rsplit_once(':').map_or("", |(client, _)| client);
        let permits = owner.rsplit_once('/').and_then(|(_, permits)| permits.parse().ok()).unwrap_or(1);
        Taker { owner, client, permits }
    }

    /// The owner of an acquire that was not made before.
    pub(crate) fn fresh(client: &Context, permits: u32) -> String {
        format!("{}/{permits}", client.next_owner())
    }

    /// Whether an attempt may be repeated: not one without a number, whose reply cannot be lost.
    pub(crate) fn may_be_repeated(self) -> bool {
        !self.owner.contains(":/")
    }

    /// The number of the acquire, which no other of the client has.
    pub(crate) fn number(self) -> u64 {
        let number = self.owner.rsplit_once(':').and_then(|(_, rest)| rest.split('/').next()?.parse().ok());
        number.unwrap_or(0)
    }
}

/// Where the number of available permits is announced.
pub(crate) fn channel(name: &ObjectName) -> String {
    name.companion(CHANNEL)
}

/// What is announced there: the number with a 0 in front, which is the same number to Redisson.
pub(crate) fn announced(available: i64) -> String {
    format!("0{available}")
}

/// Whether a client of libdlock announced this, which has told the inboxes, too.
pub(crate) fn is_of_libdlock(announcement: &str) -> bool {
    announcement.len() > 1 && announcement.starts_with('0')
}

/// As [`wants_lua`](super::wants_lua), for a kind of semaphore.
macro_rules! available_lua {
    ($kind:literal) => {
        concat!(
            $crate::contended::wants_lua!($kind),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/contended/available.lua"))
        )
    };
}
pub(crate) use available_lua;
