//! One process of many that want permits of one semaphore: the scripts and an inbox, and nothing else.
//!
//! One request asks for all waiters of the process that stand in line; nothing is handed over within the process.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use crate::lock::{BUDGET_US, LEASE_MS, client_id, long_after};
use crate::protocol;
use crate::queue::{inbox_of, wait_for};
use crate::resp::Connection;
use crate::waits::{Waits, told};

/// What stands in front of each script of a semaphore.
macro_rules! with_permits {
    ($file:literal) => {
        concat!(
            prelude!(),
            include_str!("../../../core/src/contended/queue.lua"),
            "KIND = 'semaphore:'\n",
            include_str!("../../../core/src/contended/wants.lua"),
            include_str!("../../../core/src/contended/available.lua"),
            include_str!("../../../core/src/contended/turn.lua"),
            include_str!("../../../core/src/semaphore/step/permits.lua"),
            include_str!(concat!("../../../core/src/semaphore/step/", $file))
        )
    };
}
const ACQUIRE: &str = with_permits!("acquire.lua");
const RELEASE: &str = with_permits!("release.lua");

/// So many permits there are, as in the library's workers.
const FEW: &str = "10";

/// For so many waiters one request asks at most, as in the library.
const AT_ONCE: usize = 16;

/// Takes a permit of `bench` for each of the waiters in turn, and gives it back at once.
pub fn contend(address: &str, waiters: usize, length: Duration) -> io::Result<()> {
    let mut connection = Connection::open(address)?;
    let (acquire, release) = (connection.load(ACQUIRE)?, connection.load(RELEASE)?);
    let client = client_id(0);
    let mut inbox = inbox_of(&client, address)?;
    let keys = ["bench", "{bench}:timeout", "dlock_semaphore_queue:{bench}", "dlock_semaphore_seen:{bench}"];
    let channel = "redisson_sc:{bench}";
    let mut server_us = long_after();
    protocol::ready()?;

    let begun = Instant::now();
    let mut waits = Waits::new(begun, length);
    let mut line: VecDeque<Instant> = (0..waiters).map(|_| begun).collect();
    let mut attempts = 0;
    while !line.is_empty() {
        let bases: Vec<String> = line.iter().take(AT_ONCE).map(|_| base(&mut attempts)).collect();
        let not_after = (server_us + BUDGET_US).to_string();
        let mut words = vec!["EVALSHA", &acquire, "4"];
        words.extend(keys);
        words.extend([&client, LEASE_MS, &not_after, "1", FEW, channel]);
        words.extend(bases.iter().flat_map(|base| [base.as_str(), "1"]));
        connection.push(&words);
        connection.flush()?;
        let (now, granted) = match connection.integers()?[..] {
            [0, now] => (now, bases.len()),
            [1 | 3, now, granted, ..] => (now, usize::try_from(granted).map_err(io::Error::other)?),
            ref reply => return Err(io::Error::other(format!("not granted: {reply:?}"))),
        };
        server_us = now;
        for (base, asked) in bases.iter().take(granted).zip(line.drain(..granted).collect::<Vec<_>>()) {
            waits.granted(asked);
            if waits.goes_on(Instant::now()) {
                line.push_back(Instant::now());
            }
            let mut words = vec!["EVALSHA", &release, "4"];
            words.extend(keys);
            words.extend([base, "1", channel]);
            connection.push(&words);
        }
        connection.flush()?;
        for _ in 0..granted {
            connection.integers()?;
        }
        if granted < bases.len() {
            wait_for(&mut inbox, "semaphore:free;bench")?;
        }
    }
    protocol::answer(&told(&[waits], length))
}

/// 12 characters that no other acquire has.
fn base(attempts: &mut u64) -> String {
    *attempts += 1;
    format!("{:04x}{:08x}", std::process::id() & 0xffff, *attempts)
}
