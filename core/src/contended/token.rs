//! Fencing tokens, as `token.lua` mints them next to the data: numbers that increase with each grant of a name.

use std::time::Duration;

use crate::step::{Malformed, Reply, Text, WrongType, wire};
use crate::time::{ServerTime, millis};

/// The kind of key of the last fencing token (Redisson's RFencedLock). One sequence for all that can be held of a name, so that
/// the resource sees tokens increase whatever protects it.
pub(crate) const TOKEN: &str = "redisson_lock_token";

/// The largest token: beyond 2^53 a number of Lua is not exact.
const MAX_TOKEN: u64 = (1 << 53) - 1;

/// The token that a server says to have given.
pub(crate) fn told(reply: Option<&Reply>) -> Result<u64, Malformed> {
    wire::unsigned(reply).and_then(|token| if token <= MAX_TOKEN { Ok(token) } else { Err(Malformed) })
}

/// The number that a token's key holds, if it is one and leaves room for `block` larger ones.
pub(crate) fn last(key: &Text, block: u64) -> Result<u64, WrongType> {
    read_token(&key.value).filter(|last| *last <= MAX_TOKEN - block).ok_or(WrongType)
}

/// The first of the `block` tokens that were given last, if the key says so.
pub(crate) fn given(key: &Text, block: u64) -> Result<u64, WrongType> {
    let last = read_token(&key.value).filter(|last| *last >= block).ok_or(WrongType)?;
    Ok(last - block + 1)
}

/// Reserves `block` tokens larger than all before; the first. The key outlives this by `ttl`, or by half of that at least.
pub(crate) fn mint(
    key: &mut Option<Text>,
    now: ServerTime,
    ttl: Option<Duration>,
    block: u64,
) -> Result<u64, WrongType> {
    // A token ahead of the clock, which was set back, adds what it lies ahead.
    let fresh = |token: u64, ttl| now.millis() + millis(ttl) + (token - now.0).div_ceil(1_000);
    let (token, deadline) = match key {
        None => (now.0, ttl.map(|ttl| fresh(now.0, ttl))),
        Some(key) => {
            let last = last(key, block)?;
            let token = now.0.max(last + 1);
            let deadline = ttl.and_then(|ttl| {
                let half = millis(ttl) * 500;
                if last / half == now.0 / half { key.deadline } else { key.deadline.and(Some(fresh(token, ttl))) }
            });
            (token, deadline)
        }
    };
    *key = Some(Text { value: (token + block - 1).to_string(), deadline });
    Ok(token)
}

/// A token as a key has it.
pub(crate) fn read_token(text: &str) -> Option<u64> {
    (text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// What stands behind the queue's text in front of each script that grants with a token.
macro_rules! token_lua {
    () => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/contended/token.lua"))
    };
}
pub(crate) use token_lua;
