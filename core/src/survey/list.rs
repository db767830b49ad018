//! Lists objects: SCAN over all keys, in steps that hold the server up for no longer than any other command, and with a bound.

use std::collections::BTreeSet;
use std::time::Duration;

use super::kind::{Kind, of_suffixed};
use super::{Survey, glob, text};
use crate::backend::OneServer;
use crate::error::{Error, ErrorKind, Result};
use crate::step::{Reply, wire};

/// How many keys one SCAN visits, in about 0.1 ms.
const AT_ONCE: u64 = 500;

const OP: &str = "list";

/// An object that a server has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Found {
    /// Its name, without the client's key prefix: what opens it. As it is: not escaped.
    pub name: String,
    /// Its kind, as far as its keys tell.
    pub kind: Kind,
}

/// What [`Survey::list`] has found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// By name and kind, each once.
    pub objects: Vec<Found>,
    /// Whether every key was looked at. Otherwise there may be others, beyond the bounds.
    pub is_complete: bool,
}

impl Survey {
    /// The objects whose names match a pattern of `*`, `?`, `[a-z]` and `\`, in all servers: `most` of them, and from no more than
    /// about `visit` keys at each server, other programs' among them.
    ///
    /// An object is known by the keys that stand beside it, and a lock by its owner. What has none is not found: a latch and a
    /// counting semaphore that nobody has used for a minute. A lock that was held within `token_ttl` is found, too. Objects come
    /// and go while this runs.
    ///
    /// # Errors
    /// [`ErrorKind::NoPermission`] when the user may not `SCAN`, see [`SURVEY_RULES`](super::SURVEY_RULES);
    /// [`ErrorKind::Unsupported`] on `memory://`; else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn list(&self, pattern: &str, most: usize, visit: u64) -> Result<Listing> {
        let (mut found, mut is_complete) = (BTreeSet::new(), true);
        for server in self.servers(OP)? {
            is_complete &= self.list_at(&server, pattern, (most, visit), &mut found).await?;
        }
        // The key of a token is that of either.
        let writers: Vec<_> = found.iter().filter(|found| found.kind == Kind::RwLock).cloned().collect();
        for Found { name, .. } in writers {
            found.remove(&Found { name, kind: Kind::Lock });
        }
        is_complete &= found.len() <= most;
        Ok(Listing { objects: found.into_iter().take(most).collect(), is_complete })
    }

    /// True when the server has been looked at to the end.
    async fn list_at(
        &self,
        server: &OneServer<'_>,
        pattern: &str,
        (most, visit): (usize, u64),
        found: &mut BTreeSet<Found>,
    ) -> Result<bool> {
        let (mut cursor, mut visited) = ("0".to_owned(), 0);
        loop {
            let (next, _) = self.visit(server, pattern, &cursor, |_| false, found).await?;
            visited += AT_ONCE;
            match next.as_str() {
                "0" => return Ok(true),
                _ if visited >= visit || found.len() > most => return Ok(false),
                _ => cursor = next,
            }
        }
    }

    /// Looks at some keys from a cursor on, and returns the next one and how long the server was busy; "0" is the beginning, and the
    /// end. A key whose name does not
    /// tell what it is costs more commands, unless the caller knows the object of this name.
    pub(super) async fn visit(
        &self,
        server: &OneServer<'_>,
        pattern: &str,
        cursor: &str,
        is_known: impl Fn(&str) -> bool,
        found: &mut BTreeSet<Found>,
    ) -> Result<(String, Duration)> {
        let prefix = &self.context.options.key_prefix;
        let of_keys = format!("*{}{pattern}*", escaped(prefix));
        let scan = ["SCAN", cursor, "MATCH", &of_keys, "COUNT", &AT_ONCE.to_string()].map(str::to_owned);
        let (mut answers, busy) = self.ask_and_measure(server, OP, vec![scan.to_vec()]).await?;
        let (next, keys) = page(answers.pop().ok_or_else(malformed)??)?;
        let mut unclear = Vec::new();
        for key in keys {
            match Kind::of_companion(&key) {
                Some((kind, name)) => self.take(kind, name, pattern, found),
                None if key.strip_prefix(prefix.as_str()).is_some_and(&is_known) => {}
                None => unclear.push(key),
            }
        }
        let (objects, more) = self.look_at(server, unclear).await?;
        for (kind, name) in objects {
            self.take(kind, &name, pattern, found);
        }
        Ok((next, busy + more))
    }

    /// Adds an object if it is one that this client could open, and that is looked for.
    fn take(&self, kind: Kind, key: &str, pattern: &str, found: &mut BTreeSet<Found>) {
        let Some(name) = self.context.name_of_key(key) else { return };
        if glob::matches(pattern, name.as_given()) {
            found.insert(Found { name: name.as_given().to_owned(), kind });
        }
    }

    /// Which of these keys, whose names do not tell, belong to an object, by their types and fields. A key that the user may not
    /// read belongs to none.
    async fn look_at(&self, server: &OneServer<'_>, keys: Vec<String>) -> Result<(Vec<(Kind, String)>, Duration)> {
        let types: Vec<_> = keys.iter().map(|key| vec!["TYPE".to_owned(), key.clone()]).collect();
        if types.is_empty() {
            return Ok((Vec::new(), Duration::ZERO));
        }
        let (types, busy) = self.ask_and_measure(server, OP, types).await?;
        let (mut of, mut hashes) = (Vec::new(), Vec::new());
        for (key, answer) in keys.into_iter().zip(types) {
            match answer.ok().as_ref().and_then(text).as_deref() {
                Some("hash") => hashes.push(key),
                Some("zset") => of.extend(of_suffixed(&key, "timeout").map(|name| (Kind::Semaphore, name.to_owned()))),
                Some("string") => {
                    of.extend(of_suffixed(&key, "allocation").map(|name| (Kind::IdGenerator, name.to_owned())));
                }
                _ => {}
            }
        }
        let words = |words: &[&str], key: &String| {
            let (command, fields) = words.split_first().unwrap_or((&"", &[]));
            [&[*command, key.as_str()], fields].concat().into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let both = hashes.iter().flat_map(|key| [words(&FIELDS, key), words(&["HRANDFIELD"], key)]).collect::<Vec<_>>();
        if both.is_empty() {
            return Ok((of, busy));
        }
        let (answers, more) = self.ask_and_measure(server, OP, both).await?;
        let mut answers = answers.into_iter();
        for key in hashes {
            let (fields, any) = (answers.next(), answers.next());
            let fields = fields.and_then(Result::ok).and_then(|fields| wire::list(fields).ok()).unwrap_or_default();
            let any = any.and_then(Result::ok).as_ref().and_then(text);
            of.extend(of_hash(&key, &fields.iter().map(text).collect::<Vec<_>>(), any.as_deref()));
        }
        Ok((of, busy + more))
    }
}

/// Fields that a hash of a read-write lock, of Redisson's rate limiter and of a Bloom filter has.
const FIELDS: [&str; 5] = ["HMGET", "mode", "rate", "interval", "hashIterations"];

/// What a hash is, by its [`FIELDS`] and one of all of its fields.
fn of_hash(key: &str, fields: &[Option<String>], any: Option<&str>) -> Option<(Kind, String)> {
    let is_there = |at: usize| fields.get(at).is_some_and(Option::is_some);
    if matches!(fields.first().and_then(Option::as_deref), Some("read" | "write")) {
        return Some((Kind::RwLock, key.to_owned()));
    }
    if is_there(1) && is_there(2) {
        return Some((Kind::RedissonRateLimiter, key.to_owned()));
    }
    if is_there(3) {
        return Some((Kind::BloomFilter, of_suffixed(key, "config")?.to_owned()));
    }
    is_owner(any?).then(|| (Kind::Lock, key.to_owned()))
}

/// `<uuid>:<n>`, as Redisson's and our owners are.
pub(super) fn is_owner(field: &str) -> bool {
    let Some((uuid, number)) = field.split_once(':') else { return false };
    uuid::Uuid::try_parse(uuid).is_ok() && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// The cursor and the keys of an answer to SCAN. Names are UTF-8, so that other keys are nobody's.
fn page(answer: Reply) -> Result<(String, Vec<String>)> {
    let mut parts = wire::list(answer).map_err(|_| malformed())?.into_iter();
    let cursor = parts.next().as_ref().and_then(text).ok_or_else(malformed)?;
    let keys = parts.next().and_then(|keys| wire::list(keys).ok()).ok_or_else(malformed)?;
    let utf8 = |key| match key {
        Reply::Bytes(bytes) => String::from_utf8(bytes).ok(),
        _ => None,
    };
    Ok((cursor, keys.into_iter().filter_map(utf8).collect()))
}

fn malformed() -> Error {
    Error::new(ErrorKind::Server, OP, "the server answered SCAN as no version of it does").permanent()
}

/// A prefix in a pattern.
fn escaped(prefix: &str) -> String {
    let mut escaped = String::with_capacity(prefix.len());
    for letter in prefix.chars() {
        if "*?[]\\".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}
