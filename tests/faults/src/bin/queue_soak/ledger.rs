//! What the processes have said of each job since the last calm, and what that must add up to.

use std::collections::BTreeMap;

use libdlock::queue::ListedJob;

use crate::{MAX_ATTEMPTS, POISON, process::payload};

/// What was said of one job.
#[derive(Clone, Debug, Default)]
struct Fate {
    /// Its put was confirmed.
    put: bool,
    /// How often its put was tried again, after which the job may be another one of the same id.
    again: u32,
    /// Which attempts were delivered.
    delivered: Vec<u64>,
    /// How often somebody began to acknowledge it, and how often that was confirmed.
    acks: u32,
    confirmed: u32,
}

/// All jobs since the last calm.
#[derive(Default)]
pub struct Ledger {
    jobs: BTreeMap<String, Fate>,
    /// The server's clock was set ahead since: leases end while their workers rely on them.
    pub was_set_ahead: bool,
    pub put: u64,
    pub confirmed: u64,
    pub delivered: u64,
    pub acked: u64,
    pub dead: u64,
    /// Acknowledged twice after the clock was set ahead.
    pub excused: u64,
    pub said: BTreeMap<String, u64>,
    pub violations: Vec<String>,
}

impl Ledger {
    /// A line of a process.
    pub fn read(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["?", id] => {
                self.put += 1;
                self.jobs.entry(id.to_owned()).or_default();
            }
            ["~", id] => self.of(id).again += 1,
            ["+", id] => {
                self.confirmed += 1;
                self.of(id).put = true;
            }
            ["D", id, attempt] => {
                self.delivered += 1;
                let attempt = attempt.parse().expect("a number");
                self.of(id).delivered.push(attempt);
            }
            ["A", id] => self.of(id).acks += 1,
            ["K", id] => {
                self.acked += 1;
                self.of(id).confirmed += 1;
            }
            ["N", _] => {}
            ["X", ..] => self.violations.push(line.to_owned()),
            ["!", ..] => *self.said.entry(line[2..].to_owned()).or_default() += 1,
            _ => panic!("a process said {line:?}"),
        }
    }

    fn of(&mut self, id: &str) -> &mut Fate {
        self.jobs.entry(id.to_owned()).or_default()
    }

    /// Nothing waits and nothing is delivered any more: each job was acknowledged or is dead.
    pub fn judge(&mut self, dead: &[ListedJob]) {
        let mut wrong = Vec::new();
        let listed: BTreeMap<&str, &ListedJob> = dead.iter().map(|job| (job.id.as_str(), job)).collect();
        for (id, job) in &listed {
            let known = self.jobs.contains_key(*id) && id.starts_with(POISON);
            let reason = job.dead.as_ref().map_or("", |(_, reason)| reason.as_str());
            let may_be = ["poison", "its lease ran out", "its worker let it go"].contains(&reason);
            let delivered = job.attempts == u64::from(MAX_ATTEMPTS) && job.payload == payload(id);
            if !(known && may_be && delivered) {
                wrong.push(format!("{id} is dead after {} deliveries: {reason:?}", job.attempts));
            }
        }
        for (id, fate) in &self.jobs {
            let is_dead = listed.contains_key(id.as_str());
            let Fate { put, again, delivered, acks, confirmed } = fate;
            if *put && !is_dead && *acks == 0 {
                wrong.push(format!("{id} was put and is lost: {fate:?}"));
            }
            if is_dead && (*confirmed > 0 || *acks > 0 || delivered.len() > MAX_ATTEMPTS as usize) {
                wrong.push(format!("{id} is dead: {fate:?}"));
            }
            let mut attempts = delivered.clone();
            attempts.sort_unstable();
            attempts.dedup();
            if attempts.len() < delivered.len() && *again == 0 {
                wrong.push(format!("one delivery of {id} was given out twice: {fate:?}"));
            }
            match *confirmed {
                times if times <= 1 + again => {}
                _ if self.was_set_ahead => self.excused += 1,
                _ => wrong.push(format!("{id} was acknowledged {confirmed} times: {fate:?}")),
            }
        }
        self.dead += dead.len() as u64;
        self.violations.append(&mut wrong);
        self.jobs.clear();
        self.was_set_ahead = false;
    }
}
