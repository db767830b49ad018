//! Acquire and release, for some callers that share a socket.

use std::io;

use crate::Work;
use crate::lock::{Lock, Scripts, client_id};
use crate::resp::Connection;

/// Callers that share a socket and go through every pair together, each with a lock that nobody else wants.
pub struct Pairs {
    connection: Connection,
    scripts: Scripts,
    callers: Vec<(Lock, String)>, // and its owner
    client: String,
    attempts: u64,
}

impl Pairs {
    /// Callers number `first` to `first + count - 1`.
    pub fn new(mut connection: Connection, first: usize, count: usize) -> io::Result<Pairs> {
        let scripts = Scripts::load(&mut connection)?;
        let callers =
            (first..first + count).map(|caller| (Lock::new(&format!("bench-{caller}")), String::new())).collect();
        Ok(Pairs { connection, scripts, callers, client: client_id(first), attempts: 0 })
    }
}

impl Work for Pairs {
    /// Every caller takes its lock, then every caller releases it.
    fn round(&mut self) -> io::Result<usize> {
        for (lock, owner) in &mut self.callers {
            self.attempts += 1;
            *owner = format!("{}:{}", self.client, self.attempts);
            self.scripts.acquire(&mut self.connection, lock, owner);
        }
        self.connection.flush()?;
        for (lock, _) in &self.callers {
            if self.scripts.granted(&mut self.connection)?.is_none() {
                return Err(io::Error::other(format!("somebody else has {}", lock.name)));
            }
        }
        for (lock, owner) in &self.callers {
            self.scripts.release(&mut self.connection, lock, owner, false);
        }
        self.connection.flush()?;
        for _ in &self.callers {
            Scripts::released(&mut self.connection)?;
        }
        Ok(self.callers.len())
    }
}
