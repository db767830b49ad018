//! The keys of an object that may be those of another kind of object, too, as a server keeps them: a value of some type, and
//! when it ends.
//!
//! A server knows no kinds. A key holds what was written last, whoever wrote it, and is gone when nothing is left in it.
//! `memory://` keeps these keys once for each name, so that objects of different kinds with one name exclude each other, and
//! follow each other, as they do on a server.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use super::WrongType;
use super::bits::Bits;
use crate::time::ServerTime;

/// What a key holds. The deadline is in ms of the server's clock; the key is gone when now > deadline, as in Redis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Key<V> {
    pub(crate) value: V,
    pub(crate) deadline: Option<u64>,
}

/// A key that holds a text.
pub(crate) type Text = Key<String>;

/// The fields of a hash.
pub(crate) type Fields = BTreeMap<String, String>;

/// A sorted set. Empty, it is gone.
pub(crate) type Scores = Key<BTreeMap<String, u64>>;

/// A value of one of the types that objects have under their own name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    /// For a server a text, too.
    Bits(Bits),
    Hash(Fields),
    List(VecDeque<String>),
}

/// The key that has the name of the object itself, of whatever type; or nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MainKey(pub(crate) Option<Key<Value>>);

/// The keys of one name that objects of several kinds have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SharedKeys {
    pub(crate) main: MainKey,
    /// The last fencing token: of locks and read-write locks.
    pub(crate) token: Option<Text>,
    /// The permits that are taken under leases: of semaphores, and looked for by counting semaphores.
    pub(crate) leased: Scores,
}

impl<V> Key<V> {
    pub(crate) fn is_over(&self, now: ServerTime) -> bool {
        self.deadline.is_some_and(|deadline| now.millis() > deadline)
    }

    /// PTTL: -1 without an end.
    pub(crate) fn ttl(&self, now: ServerTime) -> i64 {
        self.deadline.map_or(-1, |deadline| deadline.saturating_sub(now.millis()) as i64)
    }
}

impl Scores {
    /// Drops what has ended; true when nothing is left.
    pub(crate) fn expire(&mut self, now: ServerTime) -> bool {
        if self.value.is_empty() || self.is_over(now) {
            *self = Scores::default();
        }
        self.value.is_empty()
    }
}

impl MainKey {
    /// A text without an end, or with one.
    pub(crate) fn of_text(text: String, deadline: Option<u64>) -> MainKey {
        MainKey(Some(Key { value: Value::Text(text), deadline }))
    }

    /// A hash with these fields.
    pub(crate) fn of_fields<const N: usize>(fields: [(&str, &str); N], deadline: Option<u64>) -> MainKey {
        let fields = fields.map(|(field, value)| (field.to_owned(), value.to_owned()));
        MainKey(Some(Key { value: Value::Hash(fields.into()), deadline }))
    }

    pub(crate) fn is_there(&self) -> bool {
        self.0.is_some()
    }

    /// The text that it holds; `None` when the key is gone.
    pub(crate) fn text(&self) -> Result<Option<&str>, WrongType> {
        match &self.0 {
            None => Ok(None),
            Some(Key { value: Value::Text(text), .. }) => Ok(Some(text)),
            Some(_) => Err(WrongType),
        }
    }

    /// Changes the text, and leaves the end of the key as it is.
    pub(crate) fn set_text(&mut self, text: String) {
        *self = MainKey::of_text(text, self.deadline());
    }

    /// The bits that it holds; `None` when the key is gone.
    pub(crate) fn bits(&self) -> Result<Option<Cow<'_, Bits>>, WrongType> {
        match &self.0 {
            None => Ok(None),
            Some(Key { value: Value::Bits(bits), .. }) => Ok(Some(Cow::Borrowed(bits))),
            Some(Key { value: Value::Text(text), .. }) => Ok(Some(Cow::Owned(Bits::of_bytes(text.as_bytes())))),
            Some(_) => Err(WrongType),
        }
    }

    /// The bits that it holds, to be changed: none, and without an end, when the key is gone.
    pub(crate) fn bits_mut(&mut self) -> Result<&mut Bits, WrongType> {
        let key = self.0.get_or_insert_with(|| Key { value: Value::Bits(Bits::default()), deadline: None });
        if let Value::Text(text) = &key.value {
            key.value = Value::Bits(Bits::of_bytes(text.as_bytes()));
        }
        match &mut key.value {
            Value::Bits(bits) => Ok(bits),
            _ => Err(WrongType),
        }
    }

    /// The fields of the hash that it holds; `None` when the key is gone.
    pub(crate) fn fields(&self) -> Result<Option<&Fields>, WrongType> {
        match &self.0 {
            None => Ok(None),
            Some(Key { value: Value::Hash(fields), .. }) => Ok(Some(fields)),
            Some(_) => Err(WrongType),
        }
    }

    /// The fields of a hash; `None` when the key is gone, or holds something else.
    pub(crate) fn fields_mut(&mut self) -> Option<&mut Fields> {
        match &mut self.0 {
            Some(Key { value: Value::Hash(fields), .. }) => Some(fields),
            _ => None,
        }
    }

    /// The list that it holds; `None` when the key is gone.
    pub(crate) fn list(&self) -> Result<Option<&VecDeque<String>>, WrongType> {
        match &self.0 {
            None => Ok(None),
            Some(Key { value: Value::List(list), .. }) => Ok(Some(list)),
            Some(_) => Err(WrongType),
        }
    }

    /// When it ends; `None` also when it is gone.
    pub(crate) fn deadline(&self) -> Option<u64> {
        self.0.as_ref().and_then(|key| key.deadline)
    }

    /// PTTL: -1 without an end, -2 when the key is gone.
    pub(crate) fn ttl(&self, now: ServerTime) -> i64 {
        self.0.as_ref().map_or(-2, |key| key.ttl(now))
    }

    /// PEXPIREAT: nothing where the key is gone.
    pub(crate) fn end_at(&mut self, deadline: u64) {
        self.0.iter_mut().for_each(|key| key.deadline = Some(deadline));
    }

    /// DEL.
    pub(crate) fn delete(&mut self) {
        self.0 = None;
    }

    /// Drops what has ended; true when nothing is left.
    pub(crate) fn expire(&mut self, now: ServerTime) -> bool {
        let is_empty = self.fields().is_ok_and(|fields| fields.is_some_and(Fields::is_empty));
        if is_empty || self.0.as_ref().is_some_and(|key| key.is_over(now)) {
            self.delete();
        }
        !self.is_there()
    }
}

impl SharedKeys {
    /// Drops what has ended; true when nothing is left.
    pub(crate) fn expire(&mut self, now: ServerTime) -> bool {
        expire_text(&mut self.token, now);
        self.leased.expire(now) & self.main.expire(now) && self.token.is_none()
    }
}

/// Drops the text if it has ended; true when there is none.
pub(crate) fn expire_text(key: &mut Option<Text>, now: ServerTime) -> bool {
    key.take_if(|key| key.is_over(now));
    key.is_none()
}
