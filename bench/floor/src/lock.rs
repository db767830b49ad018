//! What is sent for a lock: the library's scripts and their keys and arguments.

use std::io;

use crate::resp::Connection;

const ACQUIRE: &str = concat!(
    prelude!(),
    include_str!("../../../core/src/contended/queue.lua"),
    include_str!("../../../core/src/contended/token.lua"),
    include_str!("../../../core/src/lock/step/acquire.lua")
);
const RELEASE: &str = concat!(
    prelude!(),
    include_str!("../../../core/src/contended/queue.lua"),
    include_str!("../../../core/src/lock/step/free.lua"),
    include_str!("../../../core/src/lock/step/release.lua")
);
const RAISE: &str = concat!(
    prelude!(),
    include_str!("../../../core/src/contended/token.lua"),
    include_str!("../../../core/src/lock/step/raise.lua")
);

pub const LEASE_MS: &str = "30000";
const TOKEN_TTL_MS: &str = "3600000";
/// Tokens that a grant reserves, as the library does for its hand-overs within a process.
const BLOCK: &str = "32";
/// How long after the server's last known time a request stays good, as in the library.
pub const BUDGET_US: i64 = 10_000_000;

/// The scripts on one server.
pub struct Scripts {
    acquire: String,
    release: String,
    /// Its time as last told; as good as any until the first reply.
    server_us: i64,
}

impl Scripts {
    /// Loads them.
    pub fn load(connection: &mut Connection) -> io::Result<Scripts> {
        let (acquire, release) = (connection.load(ACQUIRE)?, connection.load(RELEASE)?);
        Ok(Scripts { acquire, release, server_us: long_after() })
    }

    /// Adds an acquire that waits to what the connection sends next.
    pub fn acquire(&self, connection: &mut Connection, lock: &Lock, owner: &str) {
        self.ask(connection, lock, owner, BLOCK, "1");
    }

    /// The same for one of several servers: it does not wait, and reserves one token.
    pub fn acquire_at_one(&self, connection: &mut Connection, lock: &Lock, owner: &str) {
        self.ask(connection, lock, owner, "1", "0");
    }

    fn ask(&self, connection: &mut Connection, lock: &Lock, owner: &str, block: &str, waits: &str) {
        let not_after = (self.server_us + BUDGET_US).to_string();
        connection.push(&[
            "EVALSHA",
            &self.acquire,
            "4",
            &lock.name,
            &lock.token,
            &lock.queue,
            &lock.seen,
            owner,
            LEASE_MS,
            &not_after,
            TOKEN_TTL_MS,
            block,
            waits,
        ]);
    }

    /// The token of the acquire whose reply comes next; none: it was not granted.
    pub fn granted(&mut self, connection: &mut Connection) -> io::Result<Option<i64>> {
        match connection.integers()?[..] {
            [0, now, token] => {
                self.server_us = now;
                Ok(Some(token))
            }
            [1, now, _, _] | [3, now, _] => {
                self.server_us = now;
                Ok(None)
            }
            ref reply => Err(io::Error::other(format!("not granted: {reply:?}"))),
        }
    }

    /// Adds a release; `rejoins`: to stand in the queue again.
    pub fn release(&self, connection: &mut Connection, lock: &Lock, owner: &str, rejoins: bool) {
        let rejoins = if rejoins { "1" } else { "0" };
        connection.push(&[
            "EVALSHA",
            &self.release,
            "3",
            &lock.name,
            &lock.queue,
            &lock.seen,
            owner,
            &lock.channel,
            rejoins,
        ]);
    }

    /// The rank that the release whose reply comes next has got; -1 when it did not join.
    pub fn released(connection: &mut Connection) -> io::Result<i64> {
        match connection.integers()?[..] {
            [1, _told, rank] => Ok(rank),
            ref reply => Err(io::Error::other(format!("not released: {reply:?}"))),
        }
    }
}

/// The raise, which only several servers need.
pub struct Raise(String);

impl Raise {
    /// Loads it.
    pub fn load(connection: &mut Connection) -> io::Result<Raise> {
        Ok(Raise(connection.load(RAISE)?))
    }

    /// Adds it to what the connection sends next.
    pub fn push(&self, connection: &mut Connection, lock: &Lock, owner: &str, token: i64) {
        connection.push(&["EVALSHA", &self.0, "2", &lock.name, &lock.token, owner, &token.to_string(), TOKEN_TTL_MS]);
    }

    /// Checks the raise whose reply comes next.
    pub fn raised(connection: &mut Connection) -> io::Result<()> {
        match connection.integers()?[..] {
            [1, _now] => Ok(()),
            ref reply => Err(io::Error::other(format!("not raised: {reply:?}"))),
        }
    }
}

/// A lock's keys and channel.
pub struct Lock {
    /// The lock.
    pub name: String,
    token: String,
    queue: String,
    seen: String,
    channel: String,
}

impl Lock {
    /// Of that name, which has no braces.
    pub fn new(name: &str) -> Lock {
        Lock {
            name: name.to_owned(),
            token: format!("redisson_lock_token:{{{name}}}"),
            queue: format!("dlock_queue:{{{name}}}"),
            seen: format!("dlock_seen:{{{name}}}"),
            channel: format!("redisson_lock__channel:{{{name}}}"),
        }
    }
}

/// Stands for the server's time until it is told.
pub fn long_after() -> i64 {
    i64::MAX / 1024 - BUDGET_US
}

/// A client's id as the library makes them.
pub fn client_id(number: usize) -> String {
    format!("00000000-0000-8000-8000-{:012x}", u64::from(std::process::id()) << 16 | number as u64)
}
