//! The worker processes of the soak, and what they say.

use std::{
    collections::{BTreeMap, HashSet},
    path::PathBuf,
    process::Command,
    time::Duration,
};

use libdlock_testkit::{Worker, wait::monotonic_us};

use crate::history::{History, Hold, Who};

/// How many there are, and how they are set up.
pub struct Plan {
    pub url: String,
    pub processes: usize,
    pub waiters: u32,
    pub names: Vec<String>,
    pub registers: PathBuf,
    pub seed: u64,
}

pub struct Process {
    pub serial: u64,
    pub worker: Worker,
    /// Its client's id, once it has one.
    pub client: Option<String>,
    idle: HashSet<u32>,
    pub stopped: bool,
}

pub struct Fleet {
    plan: Plan,
    pub processes: Vec<Process>,
    next_serial: u64,
    draining: bool,
    /// What acquires and releases came to, other than as wished.
    pub outcomes: BTreeMap<String, u64>,
    /// Whose hold was lost and has yet to be ended.
    lost: HashSet<Who>,
    /// The largest token with which a write was acknowledged, and by whom, for each name.
    pub written: BTreeMap<String, (u64, String)>,
}

impl Fleet {
    pub fn start(plan: Plan) -> Self {
        let mut fleet = Self {
            processes: Vec::new(),
            next_serial: 0,
            draining: false,
            outcomes: BTreeMap::new(),
            lost: HashSet::new(),
            written: BTreeMap::new(),
            plan,
        };
        for place in 0..fleet.plan.processes {
            let process = fleet.spawn(place);
            fleet.processes.push(process);
        }
        fleet
    }

    /// Every process is set up a little differently: with and without hand-over inside it.
    fn spawn(&mut self, place: usize) -> Process {
        let serial = self.next_serial;
        self.next_serial += 1;
        let options = ["", "&cohort_max=1", "&strict_fifo=true", "&cohort_max=4&queue_poll_interval=2s"];
        // This program as it was started, also when it is built anew meanwhile.
        let mut command = Command::new("/proc/self/exe");
        let seed = self.plan.seed.wrapping_add(serial.wrapping_mul(7919));
        command.arg("worker").arg(format!("{}{}", self.plan.url, options[place % options.len()]));
        command.args([seed.to_string(), self.plan.waiters.to_string(), self.plan.names.join(",")]);
        command.arg(&self.plan.registers);
        let worker = Worker::spawn_command(command);
        let mut process = Process { serial, worker, client: None, idle: HashSet::new(), stopped: false };
        if self.draining {
            process.worker.send("drain");
        }
        process
    }

    /// Ends one as a crash does, and starts another in its place.
    pub fn replace(&mut self, place: usize, history: &mut History) {
        self.processes[place].worker.kill();
        let died_at = monotonic_us();
        // What it said before.
        while let Some(line) = self.processes[place].worker.line(Duration::from_secs(1)) {
            self.read(place, &line, history);
        }
        let serial = self.processes[place].serial;
        history.died(serial, died_at);
        self.lost.retain(|who| who.0 != serial);
        self.processes[place] = self.spawn(place);
    }

    pub fn stop(&mut self, place: usize) {
        self.processes[place].worker.pause();
        self.processes[place].stopped = true;
    }

    pub fn resume(&mut self, place: usize) {
        if std::mem::take(&mut self.processes[place].stopped) {
            self.processes[place].worker.resume();
        }
    }

    /// Everybody finishes what it is at; nobody begins anything.
    pub fn drain(&mut self) {
        self.draining = true;
        self.processes.iter_mut().for_each(|process| process.worker.send("drain"));
    }

    pub fn go(&mut self) {
        self.draining = false;
        for process in &mut self.processes {
            process.idle.clear();
            process.worker.send("go");
        }
    }

    /// Everything that waits gives up.
    pub fn cancel(&mut self) {
        self.processes.iter_mut().for_each(|process| process.worker.send("cancel"));
    }

    /// Who still has something to finish.
    pub fn busy(&self) -> Vec<String> {
        let waiters = self.plan.waiters;
        let busy = |process: &Process| match process.client {
            None => vec![format!("process {} is not connected", process.serial)],
            Some(_) => (0..waiters)
                .filter(|waiter| !process.idle.contains(waiter))
                .map(|waiter| format!("process {} waiter {waiter}", process.serial))
                .collect(),
        };
        self.processes.iter().flat_map(busy).collect()
    }

    /// The ids of the clients that live.
    pub fn clients(&self) -> HashSet<&str> {
        self.processes.iter().filter_map(|process| process.client.as_deref()).collect()
    }

    /// Takes down what was said since the last time.
    pub fn listen(&mut self, history: &mut History) {
        for place in 0..self.processes.len() {
            while let Some(line) = self.processes[place].worker.line(Duration::ZERO) {
                self.read(place, &line, history);
            }
            let process = &mut self.processes[place];
            if let Some(status) = process.worker.exit(Duration::ZERO) {
                history.violations.push(format!("process {} ended by itself: {status}", process.serial));
                self.replace(place, history);
            }
        }
    }

    fn read(&mut self, place: usize, line: &str, history: &mut History) {
        let words: Vec<&str> = line.split(' ').collect();
        let process = &mut self.processes[place];
        let serial = process.serial;
        let who = |waiter: &str| (serial, waiter.parse::<u32>().expect("a waiter"));
        let us = |text: &str| text.parse::<i64>().expect("microseconds");
        match words[..] {
            ["ready", client] => process.client = Some(client.to_owned()),
            ["idle", waiter] => {
                process.idle.insert(who(waiter).1);
            }
            ["over", _, kind] => self.count(&format!("acquire: {kind}"), kind, &ALLOWED, line, history),
            ["got", waiter, name, token, owner, sent, acquired_at, lease] => {
                let hold = Hold {
                    who: who(waiter),
                    token: token.parse().expect("a token"),
                    owner: owner.to_owned(),
                    sent: us(sent),
                    acquired_at: us(acquired_at),
                    ended_at: 0,
                    lease: us(lease),
                };
                history.began(name, hold);
            }
            ["lost", waiter, reason, at] => {
                *self.outcomes.entry(format!("lost: {reason}")).or_default() += 1;
                let Some((name, hold)) = history.open(who(waiter)) else { return };
                let explained = reason == "expired" || history.was_removed(name, hold.sent, us(at));
                if !explained || ["closed", "internal"].contains(&reason) {
                    let violation = format!("{name}: lost as {reason} at {at} for no reason: {hold}");
                    history.violations.push(violation);
                }
                self.lost.insert(who(waiter));
            }
            ["end", waiter, ended, outcome, called, returned, valid_until, wrote] => {
                let Some((name, hold)) = history.open(who(waiter)).cloned() else {
                    return history.violations.push(format!("the record is wrong: {line}"));
                };
                // A hold that was told to be lost may be valid for a moment still, and its release says that it is lost.
                let was_lost = self.lost.remove(&who(waiter));
                let still_valid = !was_lost && us(returned) < us(valid_until) && us(ended) == us(called);
                if outcome == "NOT_HELD" && still_valid && !history.was_removed(&name, hold.sent, us(returned)) {
                    history.violations.push(format!("{name}: a valid hold was not to be found: {line}; {hold}"));
                }
                if wrote == "1" && self.written.get(&name).is_none_or(|(token, _)| *token < hold.token) {
                    self.written.insert(name, (hold.token, hold.owner));
                }
                history.ended(who(waiter), us(ended));
                if !["RELEASED", "DROPPED"].contains(&outcome) {
                    self.count(&format!("release: {outcome}"), outcome, &ALLOWED, line, history);
                }
            }
            _ => history.violations.push(format!("process {serial} said: {line}")),
        }
    }

    fn count(&mut self, what: &str, kind: &str, allowed: &[&str], line: &str, history: &mut History) {
        *self.outcomes.entry(what.to_owned()).or_default() += 1;
        if !allowed.contains(&kind) {
            history.violations.push(format!("no caller may be told {kind} here: {line}"));
        }
    }
}

/// What a caller may be told while servers and networks fail. `INTERNAL` and the like are not in it.
const ALLOWED: [&str; 11] = [
    "BUSY",
    "GAVE_UP",
    "CANCELLED",
    "TOO_LATE",
    "CONNECTION",
    "OUTCOME_UNKNOWN",
    "SERVER",
    "OUT_OF_MEMORY",
    "CLOCK",
    "NOT_HELD",
    "LOST",
];
