//! One process of many that want a lock: the queue's scripts and an inbox, and nothing else.
//!
//! One contender for all waiters of the process, which stand in line behind it; nothing is handed over within the process.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use crate::lock::{Lock, Scripts, client_id};
use crate::protocol;
use crate::resp::Connection;
use crate::waits::{Waits, told};

/// Head and next look again after so long.
const TIMER: Duration = Duration::from_secs(1);

/// Takes `bench` for each of the waiters in turn, and lets go of it at once.
pub fn contend(address: &str, waiters: usize, length: Duration) -> io::Result<()> {
    let mut connection = Connection::open(address)?;
    let mut scripts = Scripts::load(&mut connection)?;
    let client = client_id(0);
    let mut inbox = inbox_of(&client, address)?;
    let lock = Lock::new("bench");
    let free = format!("free;{}", lock.name);
    protocol::ready()?;

    let begun = Instant::now();
    let mut waits = Waits::new(begun, length);
    let mut line: VecDeque<Instant> = (0..waiters).map(|_| begun).collect();
    let mut attempts = 0;
    while let Some(asked) = line.pop_front() {
        let owner = loop {
            attempts += 1;
            let owner = format!("{client}:{attempts}");
            scripts.acquire(&mut connection, &lock, &owner);
            connection.flush()?;
            if scripts.granted(&mut connection)?.is_some() {
                break owner;
            }
            wait_for(&mut inbox, &free)?;
        };
        waits.granted(asked);
        if waits.goes_on(Instant::now()) {
            line.push_back(Instant::now());
        }
        scripts.release(&mut connection, &lock, &owner, !line.is_empty());
        connection.flush()?;
        if Scripts::released(&mut connection)? > 0 {
            wait_for(&mut inbox, &free)?;
        }
    }
    protocol::answer(&told(&[waits], length))
}

/// A connection that hears what the client is told.
pub fn inbox_of(client: &str, address: &str) -> io::Result<Connection> {
    let mut inbox = Connection::open(address)?;
    inbox.push(&["SUBSCRIBE", &format!("dlock_inbox:{client}")]);
    inbox.flush()?;
    inbox.last()?;
    inbox.patience(TIMER)?;
    Ok(inbox)
}

/// Returns when the message comes, or after the timer.
pub fn wait_for(inbox: &mut Connection, message: &str) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        match inbox.last() {
            Ok(found) if found == message || begun.elapsed() >= TIMER => return Ok(()),
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}
