//! Jobs of one queue: put, taken and acknowledged, for some callers that share a socket.

use std::io;

use crate::Work;
use crate::lock::{BUDGET_US, LEASE_MS, client_id, long_after};
use crate::resp::Connection;

/// So many jobs in a batch, and so many bytes in a payload, in every language.
const BATCH: usize = 100;
const PAYLOAD: usize = 100;

/// So often a job is delivered until it is dead, as in the library.
const MOST: &str = "16";

macro_rules! queue_script {
    ($($file:literal),+) => {
        concat!(
            prelude!(),
            include_str!("../../../core/src/contended/queue.lua"),
            "KIND = 'queue:'\n",
            include_str!("../../../core/src/contended/wants.lua"),
            $(include_str!(concat!("../../../core/src/", $file))),+
        )
    };
}
const PUT: &str = queue_script!("step/once.lua", "queue/step/jobs.lua", "queue/step/put.lua");
const TAKE: &str = queue_script!("contended/turn.lua", "queue/step/jobs.lua", "queue/step/take.lua");
const ACK: &str = queue_script!("queue/step/jobs.lua", "queue/step/ack.lua");

const KEYS: [&str; 9] = [
    "dlock_queue_all:{bench}",
    "dlock_queue_done:{bench}",
    "dlock_queue_due:{bench}",
    "dlock_queue_leases:{bench}",
    "dlock_queue_held:{bench}",
    "dlock_queue_dead:{bench}",
    "dlock_queue_last:{bench}",
    "dlock_queue_queue:{bench}",
    "dlock_queue_seen:{bench}",
];

/// Callers that share a socket and go through every step together. Each puts one job or a batch, takes as many, and ends them.
pub struct Jobs {
    connection: Connection,
    put: String,
    take: String,
    ack: String,
    client: String,
    callers: usize,
    each: usize,
    number: u64,
    payload: String,
    server_us: i64,
}

impl Jobs {
    /// Callers number `first` to `first + callers - 1`.
    pub fn new(mut connection: Connection, first: usize, callers: usize, in_batches: bool) -> io::Result<Jobs> {
        let (put, take, ack) = (connection.load(PUT)?, connection.load(TAKE)?, connection.load(ACK)?);
        let each = if in_batches { BATCH } else { 1 };
        let (client, payload) = (client_id(first), "x".repeat(PAYLOAD));
        Ok(Jobs { connection, put, take, ack, client, callers, each, number: 0, payload, server_us: long_after() })
    }

    /// Names that nobody had before.
    fn names(&mut self) -> Vec<String> {
        let names = (0..self.each).map(|_| {
            self.number += 1;
            format!("{}:{}", self.client, self.number)
        });
        names.collect()
    }

    fn push(&mut self, script: &str, words: &[&str]) {
        let mut all = vec!["EVALSHA", script, "9"];
        all.extend(KEYS);
        all.push("bench");
        all.extend(words);
        self.connection.push(&all);
    }
}

impl Work for Jobs {
    fn round(&mut self) -> io::Result<usize> {
        let (put, take, ack) = (self.put.clone(), self.take.clone(), self.ack.clone());
        let not_after = (self.server_us + BUDGET_US).to_string();
        for _ in 0..self.callers {
            let (ids, payload) = (self.names(), self.payload.clone());
            let mut words = vec!["", &not_after, "0", MOST];
            words.extend(ids.iter().flat_map(|id| [id, "+0", "7fff", payload.as_str()]));
            self.push(&put, &words);
        }
        self.connection.flush()?;
        for _ in 0..self.callers {
            let said = self.connection.leaves()?;
            if said.len() != 1 + self.each || said[1..].iter().any(|each| each != "1") {
                return Err(io::Error::other(format!("not put: {said:?}")));
            }
            self.server_us = said[0].parse().map_err(io::Error::other)?;
        }
        let owners: Vec<Vec<String>> = (0..self.callers).map(|_| self.names()).collect();
        for owners in &owners {
            let client = self.client.clone();
            let mut words = vec![client.as_str(), LEASE_MS, &not_after, "1"];
            words.extend(owners.iter().map(String::as_str));
            self.push(&take, &words);
        }
        self.connection.flush()?;
        for _ in 0..self.callers {
            let said = self.connection.leaves()?;
            if said[0] != "0" {
                return Err(io::Error::other(format!("not taken: {said:?}")));
            }
        }
        for owners in &owners {
            let words: Vec<&str> = owners.iter().map(String::as_str).collect();
            self.push(&ack, &words);
        }
        self.connection.flush()?;
        for _ in 0..self.callers {
            let said = self.connection.leaves()?;
            if said.len() != self.each || said.iter().any(|each| each != "1") {
                return Err(io::Error::other(format!("not acknowledged: {said:?}")));
            }
        }
        Ok(self.callers * self.each)
    }
}
