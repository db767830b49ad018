//! Objects of different kinds with one name: `memory://` lets them exclude each other, and follow each other, as a server does.

use std::future::Future;
use std::time::Duration;

use libdlock::lease::Lease;
use libdlock::lock::LockOptions;
use libdlock::rw_lock::{RwLockOptions, RwLockSide};
use libdlock::{
    Client, Config, CountingSemaphore, Error, ErrorKind, Held, HeldAll, Latch, Lock, LockAll, ManualClock, Permits,
    Rate, RateLimiter, RwHeld, Semaphore,
};
use libdlock_testkit::Server;

/// Long enough for an attempt that waits to join the queue.
const SHORT: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Lock,
    LockAll,
    Read,
    Write,
    Semaphore,
    CountingSemaphore,
    Latch,
    RateLimiter,
}

const KINDS: [Kind; 8] = [
    Kind::Lock,
    Kind::LockAll,
    Kind::Read,
    Kind::Write,
    Kind::Semaphore,
    Kind::CountingSemaphore,
    Kind::Latch,
    Kind::RateLimiter,
];

/// An object of one of the kinds, and what this test holds of it.
enum Object {
    Lock(Lock, Option<Held>),
    LockAll(LockAll, Option<HeldAll>),
    Side(RwLockSide, Option<RwHeld>),
    Semaphore(Semaphore, Option<Permits>),
    CountingSemaphore(CountingSemaphore, bool),
    Latch(Latch),
    RateLimiter(RateLimiter),
}

/// What a call has come to, as the two places are compared by it.
fn outcome<T>(said: Result<T, Error>, show: impl FnOnce(T) -> String) -> String {
    said.map_or_else(|error| format!("{:?}", error.kind()), show)
}

/// Keeps what is granted; says whether anything is, or was before.
async fn take<T>(held: &mut Option<T>, granting: impl Future<Output = Result<Option<T>, Error>>) -> String {
    if held.is_some() {
        return "held already".to_owned();
    }
    outcome(granting.await, |granted| {
        let said = if granted.is_some() { "granted" } else { "not granted" };
        *held = granted;
        said.to_owned()
    })
}

async fn give_back<H, R: Future<Output = Result<(), Error>>>(held: &mut Option<H>, release: fn(H) -> R) -> String {
    match held.take() {
        Some(held) => outcome(release(held).await, |()| "released".to_owned()),
        None => "nothing to release".to_owned(),
    }
}

impl Object {
    fn open(kind: Kind, client: &Client, name: &str) -> Object {
        let rw_lock = || client.rw_lock(name).unwrap();
        match kind {
            Kind::Lock => Object::Lock(client.lock(name).unwrap(), None),
            Kind::LockAll => Object::LockAll(client.lock_all([name]).unwrap(), None),
            Kind::Read => Object::Side(rw_lock().read(), None),
            Kind::Write => Object::Side(rw_lock().write(), None),
            Kind::Semaphore => Object::Semaphore(client.semaphore(name, 3).unwrap(), None),
            Kind::CountingSemaphore => Object::CountingSemaphore(client.counting_semaphore(name).unwrap(), false),
            Kind::Latch => Object::Latch(client.latch(name).unwrap()),
            Kind::RateLimiter => {
                Object::RateLimiter(client.rate_limiter(name, Rate::new(5, Duration::from_secs(3_600))).unwrap())
            }
        }
    }

    /// Takes it without waiting, made before where it has to be.
    async fn begin(&mut self) -> String {
        match self {
            Object::Lock(lock, held) => take(held, lock.try_acquire()).await,
            Object::LockAll(lock, held) => take(held, lock.try_acquire()).await,
            Object::Side(side, held) => take(held, side.try_acquire()).await,
            Object::Semaphore(pool, held) => take(held, pool.try_acquire()).await,
            Object::CountingSemaphore(slots, held) => {
                let made = outcome(slots.try_set_permits(2).await, |made| format!("made {made}"));
                let taken = slots.try_acquire().await;
                *held |= taken.as_ref().is_ok_and(|taken| *taken);
                format!("{made}, {}", outcome(taken, |taken| format!("taken {taken}")))
            }
            Object::Latch(latch) => outcome(latch.try_set_count(2).await, |set| format!("set {set}")),
            Object::RateLimiter(limiter) => outcome(limiter.try_acquire(1).await, |said| said.allowed.to_string()),
        }
    }

    /// Takes it, or waits for a short time.
    async fn wait(&mut self) -> String {
        match self {
            Object::Lock(lock, held) => take(held, async { lock.acquire_timeout(SHORT).await.map(Some) }).await,
            Object::LockAll(lock, held) => take(held, async { lock.acquire_timeout(SHORT).await.map(Some) }).await,
            Object::Side(side, held) => take(held, async { side.acquire_timeout(SHORT).await.map(Some) }).await,
            Object::Semaphore(pool, held) => take(held, async { pool.acquire_timeout(SHORT).await.map(Some) }).await,
            Object::CountingSemaphore(slots, held) => {
                let taken = slots.acquire_timeout(SHORT).await;
                *held |= taken.is_ok();
                outcome(taken, |()| "taken".to_owned())
            }
            Object::Latch(latch) => outcome(latch.wait_timeout(SHORT).await, |open| format!("open {open}")),
            Object::RateLimiter(limiter) => outcome(limiter.try_acquire(1).await, |said| said.allowed.to_string()),
        }
    }

    async fn inspect(&mut self) -> String {
        match self {
            Object::Lock(lock, _) => outcome(lock.inspect().await, |seen| format!("held {}", seen.holder.is_some())),
            Object::LockAll(..) => String::new(),
            Object::Side(side, _) => outcome(side.rw_lock().inspect().await, |seen| {
                format!("held {:?}", (seen.writer.is_some(), seen.readers))
            }),
            Object::Semaphore(pool, _) => {
                outcome(pool.inspect().await, |seen| format!("{} of {:?}", seen.available, seen.permits))
            }
            Object::CountingSemaphore(slots, _) => outcome(slots.available().await, |count| count.to_string()),
            Object::Latch(latch) => outcome(latch.count().await, |count| count.to_string()),
            Object::RateLimiter(limiter) => outcome(limiter.peek().await, |said| said.remaining.to_string()),
        }
    }

    /// Gives back what is held; a latch opens.
    async fn end(&mut self) -> String {
        match self {
            Object::Lock(_, held) => give_back(held, Held::release).await,
            Object::LockAll(_, held) => give_back(held, HeldAll::release).await,
            Object::Side(_, held) => give_back(held, RwHeld::release).await,
            Object::Semaphore(_, held) => give_back(held, Permits::release).await,
            Object::CountingSemaphore(slots, held) => match std::mem::take(held) {
                true => outcome(slots.release().await, |()| "released".to_owned()),
                false => "nothing to release".to_owned(),
            },
            Object::Latch(latch) => outcome(latch.count_down_by(2).await, |left| format!("left {left}")),
            Object::RateLimiter(limiter) => outcome(limiter.reset().await, |()| "reset".to_owned()),
        }
    }

    /// The token of what is held, for the kinds that have one.
    fn token(&self) -> Option<u64> {
        match self {
            Object::Lock(_, held) => held.as_ref().map(|held| held.token()),
            Object::LockAll(_, held) => held.as_ref().map(|held| held.tokens().next().unwrap().1),
            Object::Side(_, held) => held.as_ref().map(|held| held.token()),
            _ => None,
        }
    }
}

/// What two objects with one name, of two clients, answer while they are used in turn.
async fn use_in_turn(url: &str, kinds: [Kind; 2]) -> Vec<String> {
    let clients = [Client::connect(url).await.unwrap(), Client::connect(url).await.unwrap()];
    let name = format!("{:?} and {:?}", kinds[0], kinds[1]);
    let mut objects = [0, 1].map(|at| Object::open(kinds[at], &clients[at], &name));
    let (mut said, mut last_token) = (Vec::new(), 0);
    for (at, action) in [
        (0, "begin"),
        (1, "begin"),
        (1, "wait"),
        (0, "inspect"),
        (1, "inspect"),
        (0, "end"),
        (1, "inspect"),
        (1, "begin"),
        (0, "begin"),
        (0, "inspect"),
        (1, "end"),
        (0, "wait"),
        (0, "end"),
        (1, "wait"),
        (1, "end"),
        (0, "begin"),
        (0, "end"),
    ] {
        let before = objects[at].token();
        let outcome = match action {
            "begin" => objects[at].begin().await,
            "wait" => objects[at].wait().await,
            "inspect" => objects[at].inspect().await,
            _ => objects[at].end().await,
        };
        said.push(format!("{:?} {action}: {outcome}", kinds[at]));
        if let Some(token) = objects[at].token().filter(|token| before != Some(*token)) {
            assert!(token > last_token, "{url}, {name}: token {token} after {last_token}; {said:#?}");
            last_token = token;
        }
    }
    for client in clients {
        client.close().await;
    }
    said
}

/// A key that is empty is gone; one that is not is of a kind.
#[tokio::test]
async fn memory_lets_kinds_share_a_name_as_a_server_does() {
    let server = Server::start();
    let mut differences = Vec::new();
    for first in KINDS {
        for second in KINDS {
            let expected = use_in_turn(&server.url(), [first, second]).await;
            let got = use_in_turn("memory://shared-names", [first, second]).await;
            let differs = expected.iter().zip(&got).find(|(expected, got)| expected != got);
            if let Some((expected, got)) = differs {
                differences.push(format!("{first:?} and {second:?}: {expected}; memory: {got}"));
            }
        }
    }
    assert!(differences.is_empty(), "{} of 64 pairs differ: {differences:#?}", differences.len());
}

#[tokio::test]
async fn a_lease_that_ran_out_leaves_the_name_to_any_kind() {
    let clock = ManualClock::new();
    let mut config = Config::from_url("memory://").unwrap();
    config.clock(clock.clone()).unwrap();
    let client = Client::connect_with(config).await.unwrap();
    let lease = Lease::Fixed(Duration::from_secs(1));
    for kind in KINDS {
        let [of_lock, of_rw_lock] = ["lock", "rw_lock"].map(|was| format!("{was} and {kind:?}"));
        let lock = client.lock_with(&of_lock, LockOptions::default().lease(lease)).unwrap();
        let rw_lock = client.rw_lock_with(&of_rw_lock, RwLockOptions::default().lease(lease)).unwrap();
        let held = (lock.acquire().await.unwrap(), rw_lock.write().acquire().await.unwrap());
        clock.advance(Duration::from_secs(2));
        for name in [&of_lock, &of_rw_lock] {
            let mut next = Object::open(kind, &client, name);
            let said = next.begin().await;
            assert!(ErrorKind::ALL.iter().all(|kind| !said.contains(&format!("{kind:?}"))), "{name}: {said}");
        }
        drop(held);
    }
}
