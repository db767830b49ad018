//! Acquire and release, for some callers that share a socket.

use std::io;

use crate::Work;
use crate::resp::Connection;

const ACQUIRE: &str = include_str!("../../../core/src/lua/lock_acquire.lua");
const RELEASE: &str = include_str!("../../../core/src/lua/lock_release.lua");

const LEASE_MS: &str = "30000";
const TOKEN_TTL_MS: &str = "3600000";
/// How long after the server's last known time a request stays good, as in the library.
const BUDGET_US: i64 = 10_000_000;

/// A lock of one caller: nobody else wants it.
struct Caller {
    lock: String,
    token: String,
    channel: String,
    owner: String,
}

/// Callers that share a socket and go through every pair together.
pub struct Pairs {
    connection: Connection,
    acquire: String,
    release: String,
    callers: Vec<Caller>,
    client: String,
    attempts: u64,
    server_us: i64,
}

impl Pairs {
    /// Callers number `first` to `first + count - 1`.
    pub fn new(mut connection: Connection, first: usize, count: usize) -> io::Result<Pairs> {
        let (acquire, release) = (connection.load(ACQUIRE)?, connection.load(RELEASE)?);
        let callers = (first..first + count)
            .map(|caller| Caller {
                lock: format!("bench-{caller}"),
                token: format!("redisson_lock_token:{{bench-{caller}}}"),
                channel: format!("redisson_lock__channel:{{bench-{caller}}}"),
                owner: String::new(),
            })
            .collect();
        let client = format!("00000000-0000-8000-8000-{:012x}", u64::from(std::process::id()) << 16 | first as u64);
        // As good as any time until the first reply brings the server's own.
        let server_us = i64::MAX / 1024 - BUDGET_US;
        Ok(Pairs { connection, acquire, release, callers, client, attempts: 0, server_us })
    }
}

impl Work for Pairs {
    /// Every caller takes its lock, then every caller releases it.
    fn round(&mut self) -> io::Result<usize> {
        let not_after = (self.server_us + BUDGET_US).to_string();
        for caller in &mut self.callers {
            self.attempts += 1;
            caller.owner = format!("{}:{}", self.client, self.attempts);
            self.connection.push(&[
                "EVALSHA",
                &self.acquire,
                "2",
                &caller.lock,
                &caller.token,
                &caller.owner,
                LEASE_MS,
                &not_after,
                TOKEN_TTL_MS,
            ]);
        }
        self.connection.flush()?;
        for caller in &self.callers {
            match self.connection.integers()?[..] {
                [0, now, _token] => self.server_us = now,
                ref reply => return Err(io::Error::other(format!("{} was not granted: {reply:?}", caller.lock))),
            }
        }
        for caller in &self.callers {
            self.connection.push(&["EVALSHA", &self.release, "1", &caller.lock, &caller.owner, &caller.channel]);
        }
        self.connection.flush()?;
        for caller in &self.callers {
            match self.connection.integers()?[..] {
                [1, _receivers] => {}
                ref reply => return Err(io::Error::other(format!("{} was not released: {reply:?}", caller.lock))),
            }
        }
        Ok(self.callers.len())
    }
}
