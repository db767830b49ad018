//! What processes contend for: a lock, a set of locks, a semaphore, one that counts, a latch, a read-write lock; and a hold of each.

use std::{fmt, str::FromStr};

use libdlock::lease::{AcquireOptions, Grant, HolderId};
use libdlock::lock::{HeldAll, LockAll};
use libdlock::{Client, CountingSemaphore, Held, Lock, Permits, Result, RwHeld, RwLock, Semaphore};

use libdlock_testkit::wait::monotonic_us;

use super::latches::Latches;

/// So many permits stand for the whole read-write lock, which a writer holds: more than there are readers.
pub const WRITER: u32 = 1_000;

/// What it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One holder at a time.
    Lock,
    /// Some locks as one, each also a lock of its own.
    Set,
    /// So many permits.
    Semaphore(u32),
    /// So many permits, which nobody holds: who has acquired some releases them.
    Counting(u32),
    /// Latches whose names begin with this, each of one round and one process.
    Latches,
    /// Many readers or one writer: as if it had [`WRITER`] permits, of which a reader takes one and a writer all.
    RwLock,
}

/// What has that name. As a word its name, with its permits behind a semaphore's, and `rw` behind a read-write lock's: `delta/5`.
/// One that counts has `#` for `/`. A set has the names of its locks: `alpha+beta`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contended {
    /// Its key on the server.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

impl Contended {
    /// A lock.
    pub fn lock(name: &str) -> Contended {
        Contended { name: name.to_owned(), kind: Kind::Lock }
    }

    /// These locks as one.
    pub fn set(names: &[&str]) -> Contended {
        Contended { name: names.join("+"), kind: Kind::Set }
    }

    /// A semaphore.
    pub fn semaphore(name: &str, permits: u32) -> Contended {
        Contended { name: name.to_owned(), kind: Kind::Semaphore(permits) }
    }

    /// A counting semaphore.
    pub fn counting(name: &str, permits: u32) -> Contended {
        Contended { name: name.to_owned(), kind: Kind::Counting(permits) }
    }

    /// Latches whose names begin with this.
    pub fn latches(name: &str) -> Contended {
        Contended { name: name.to_owned(), kind: Kind::Latches }
    }

    /// A read-write lock.
    pub fn rw_lock(name: &str) -> Contended {
        Contended { name: name.to_owned(), kind: Kind::RwLock }
    }

    /// How many permits are there for holders to share; none if there is one holder at a time.
    pub fn shared(&self) -> Option<u32> {
        match self.kind {
            Kind::Lock | Kind::Set | Kind::Latches => None,
            Kind::Semaphore(permits) | Kind::Counting(permits) => Some(permits),
            Kind::RwLock => Some(WRITER),
        }
    }

    /// Of a semaphore.
    pub fn permits(&self) -> Option<u32> {
        match self.kind {
            Kind::Semaphore(permits) => Some(permits),
            Kind::Lock | Kind::Set | Kind::Counting(_) | Kind::Latches | Kind::RwLock => None,
        }
    }

    /// Of a counting semaphore.
    pub fn counted(&self) -> Option<u32> {
        match self.kind {
            Kind::Counting(permits) => Some(permits),
            Kind::Lock | Kind::Set | Kind::Semaphore(_) | Kind::Latches | Kind::RwLock => None,
        }
    }

    /// Its key in front of the colon of `dlock_queue:{name}`: `queue` or `seen`.
    pub fn beside(&self, what: &str) -> String {
        let kind = match self.kind {
            Kind::Lock | Kind::Set | Kind::Latches => "",
            Kind::Semaphore(_) => "semaphore_",
            Kind::Counting(_) => "counting_",
            Kind::RwLock => "rw_",
        };
        format!("dlock_{kind}{what}:{{{}}}", self.name)
    }

    /// The key that says which permits are taken.
    pub fn taken(&self) -> String {
        format!("{{{}}}:timeout", self.name)
    }
}

impl fmt::Display for Contended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Lock | Kind::Set => f.write_str(&self.name),
            Kind::Semaphore(permits) => write!(f, "{}/{permits}", self.name),
            Kind::Counting(permits) => write!(f, "{}#{permits}", self.name),
            Kind::Latches => write!(f, "{}/latches", self.name),
            Kind::RwLock => write!(f, "{}/rw", self.name),
        }
    }
}

impl FromStr for Contended {
    type Err = std::num::ParseIntError;

    fn from_str(word: &str) -> std::result::Result<Contended, Self::Err> {
        if let Some((name, permits)) = word.split_once('#') {
            return Ok(Contended::counting(name, permits.parse()?));
        }
        Ok(match word.split_once('/') {
            None if word.contains('+') => Contended { name: word.to_owned(), kind: Kind::Set },
            None => Contended::lock(word),
            Some((name, "latches")) => Contended::latches(name),
            Some((name, "rw")) => Contended::rw_lock(name),
            Some((name, permits)) => Contended::semaphore(name, permits.parse()?),
        })
    }
}

/// One of them in a process.
#[derive(Clone)]
pub(super) enum Object {
    Lock(Lock),
    Set(LockAll),
    /// With how many permits it has.
    Semaphore(Semaphore, u32),
    Counting(CountingSemaphore, u32),
    Latches(Latches),
    RwLock(RwLock),
}

impl Object {
    pub(super) fn open(client: &Client, what: &Contended) -> Object {
        match what.kind {
            Kind::Lock => Object::Lock(client.lock(&what.name).expect("a name")),
            Kind::Set => Object::Set(client.lock_all(what.name.split('+')).expect("names")),
            Kind::Semaphore(permits) => {
                Object::Semaphore(client.semaphore(&what.name, permits).expect("a name"), permits)
            }
            Kind::Counting(permits) => {
                Object::Counting(client.counting_semaphore(&what.name).expect("a name"), permits)
            }
            Kind::Latches => Object::Latches(Latches { client: client.clone(), name: what.name.clone() }),
            Kind::RwLock => Object::RwLock(client.rw_lock(&what.name).expect("a name")),
        }
    }

    /// Acquires for nobody else; of a semaphore so many permits, and of a read-write lock the side that has so many. Nothing if it was lost before anybody could look at it.
    pub(super) async fn acquire(&self, permits: u32, how: AcquireOptions) -> Result<Option<Holding>> {
        let holder = HolderId::fresh();
        Ok(match self {
            Object::Lock(lock) => Some(Holding::Lock(lock.acquire_as(holder, how).await?)),
            Object::Set(locks) => Some(Holding::Set(locks.acquire_as(holder, how).await?)),
            Object::Semaphore(semaphore, _) => {
                let held = semaphore.acquire_as(holder, permits, how).await?;
                semaphore.grant_of(holder).map(|grant| Holding::Permits(held, grant))
            }
            Object::Counting(semaphore, _) => {
                let sent = monotonic_us();
                semaphore.acquire_within(permits, how.wait).await?;
                Some(Holding::Counted(semaphore.clone(), permits, sent))
            }
            // See `latches`.
            Object::Latches(_) => None,
            Object::RwLock(lock) => {
                let side = if permits == WRITER { lock.write() } else { lock.read() };
                let held = side.acquire_as(holder, how).await?;
                side.grant_of(holder).map(|grant| Holding::Side(held, grant, permits))
            }
        })
    }
}

/// What is held. Dropped, it is released in the background.
pub(super) enum Holding {
    Lock(Held),
    Set(HeldAll),
    Permits(Permits, Grant),
    /// As so many permits.
    Side(RwHeld, Grant, u32),
    /// So many permits, and when they were asked for. Dropped, they stay away.
    Counted(CountingSemaphore, u32, i64),
}

/// What a hold is made of: one part, or a part for each lock of a set.
pub(super) struct Part {
    pub(super) name: String,
    pub(super) grant: Grant,
    /// Its fencing token; permits have none: 0.
    pub(super) token: u64,
    /// How many permits; of a lock 0.
    pub(super) permits: u32,
}

impl Part {
    fn lock(name: &str, grant: &Grant) -> Part {
        Part { name: name.to_owned(), grant: grant.clone(), token: grant.token(), permits: 0 }
    }

    /// Nobody else holds it beside this one: what it protects may be written.
    pub(super) fn is_alone(&self) -> bool {
        self.permits == 0 || self.permits == WRITER
    }
}

impl Holding {
    /// Of what has that name.
    pub(super) fn parts(&self, name: &str) -> Vec<Part> {
        let shared =
            |grant: &Grant, token, permits| Part { name: name.to_owned(), grant: grant.clone(), token, permits };
        match self {
            Holding::Lock(held) => vec![Part::lock(name, held)],
            Holding::Set(held) => held.grants().map(|(name, grant)| Part::lock(name, grant)).collect(),
            Holding::Permits(held, grant) => vec![shared(grant, 0, held.count())],
            Holding::Side(held, grant, permits) => vec![shared(grant, held.token(), *permits)],
            // Nothing says that they are held.
            Holding::Counted(..) => Vec::new(),
        }
    }

    /// When it is over: whether it was lost.
    pub(super) async fn lost(&self) -> bool {
        match self {
            Holding::Lock(held) => held.lost().await.is_some(),
            Holding::Set(held) => held.lost().await.is_some(),
            Holding::Permits(_, grant) | Holding::Side(_, grant, _) => grant.lost().await.is_some(),
            Holding::Counted(..) => std::future::pending().await,
        }
    }

    pub(super) async fn release(self) -> Result<()> {
        match self {
            Holding::Lock(held) => held.release().await,
            Holding::Set(held) => held.release().await,
            Holding::Permits(held, _) => held.release().await,
            Holding::Side(held, ..) => held.release().await,
            Holding::Counted(semaphore, permits, _) => semaphore.release_many(permits).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_says_what_it_is() {
        let (lock, semaphore) = (Contended::lock("alpha"), Contended::semaphore("delta", 5));
        for (word, what) in [
            ("alpha", lock),
            ("delta/5", semaphore),
            ("zeta/rw", Contended::rw_lock("zeta")),
            ("kappa/latches", Contended::latches("kappa")),
        ] {
            assert_eq!((word.parse(), what.to_string().as_str()), (Ok(what), word));
        }
        let set = Contended::set(&["alpha", "beta"]);
        assert_eq!(("alpha+beta".parse(), set.to_string().as_str()), (Ok(set.clone()), "alpha+beta"));
        let counting = Contended::counting("iota", 4);
        assert_eq!(("iota#4".parse(), counting.to_string().as_str()), (Ok(counting.clone()), "iota#4"));
        assert_eq!(Contended::semaphore("delta", 5).beside("queue"), "dlock_semaphore_queue:{delta}");
        assert_eq!(Contended::lock("alpha").beside("seen"), "dlock_seen:{alpha}");
    }
}
