//! Many worker processes, and what they say.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    path::PathBuf,
    process::Command,
    time::Duration,
};

use libdlock_testkit::{Worker, wait::monotonic_us};

use super::{
    contended::Contended,
    history::{History, Hold, Who},
    worker::Pace,
};

/// How many lines: several storms' worth.
const REMEMBERED: usize = 50_000;

/// How many there are, and how they are set up.
pub struct Plan {
    /// `dlock-soak`: a process is that program with the arguments of [`worker::run`](super::worker::run).
    pub program: PathBuf,
    /// With options.
    pub url: String,
    /// More options, in turn for the processes.
    pub options: &'static [&'static str],
    /// How many processes.
    pub processes: usize,
    /// How many waiters in each.
    pub waiters: u32,
    /// What they contend for.
    pub names: Vec<Contended>,
    /// How long they hold it.
    pub pace: Pace,
    /// The folder with a register for each lock.
    pub registers: PathBuf,
    /// What they decide at random follows from it.
    pub seed: u64,
}

/// One of them.
pub struct Process {
    /// No other has it.
    pub serial: u64,
    /// For killing and stopping.
    pub worker: Worker,
    /// Its client's id, once it has one.
    pub client: Option<String>,
    idle: HashSet<u32>,
    stopped: bool,
}

/// All of them.
pub struct Fleet {
    plan: Plan,
    /// Those that run, or stand still.
    pub processes: Vec<Process>,
    next_serial: u64,
    draining: bool,
    /// Nothing happens that a caller may notice: it is told of no server and no network.
    pub gentle: bool,
    /// What was said last, with the process that said it: for whoever looks for a cause.
    pub said: VecDeque<(u64, String)>,
    /// What acquires and releases came to, other than as wished.
    pub outcomes: BTreeMap<String, u64>,
    /// Holds whose release was called.
    leaving: HashMap<Who, (String, Hold)>,
    /// The largest token with which a write was acknowledged, and by whom, for each name.
    pub written: BTreeMap<String, (u64, String)>,
}

impl Fleet {
    /// Starts them; they begin at once.
    pub fn start(plan: Plan) -> Self {
        let mut fleet = Self {
            processes: Vec::new(),
            next_serial: 0,
            draining: false,
            gentle: false,
            said: VecDeque::new(),
            outcomes: BTreeMap::new(),
            leaving: HashMap::new(),
            written: BTreeMap::new(),
            plan,
        };
        for place in 0..fleet.plan.processes {
            let process = fleet.spawn(place);
            fleet.processes.push(process);
        }
        fleet
    }

    fn spawn(&mut self, place: usize) -> Process {
        let serial = self.next_serial;
        self.next_serial += 1;
        let plan = &self.plan;
        let mut command = Command::new(&plan.program);
        let seed = plan.seed.wrapping_add(serial.wrapping_mul(7919));
        command.arg("worker").arg(format!("{}{}", plan.url, plan.options[place % plan.options.len()]));
        let names: Vec<String> = plan.names.iter().map(Contended::to_string).collect();
        command.args([seed.to_string(), plan.waiters.to_string(), names.join(","), plan.pace.word().to_owned()]);
        command.arg(&plan.registers);
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
        self.leaving.retain(|who, _| who.0 != serial);
        self.note(format!("{serial} was killed"));
        self.processes[place] = self.spawn(place);
    }

    /// Writes something between what is said.
    pub fn note(&mut self, what: String) {
        self.remember(u64::MAX, format!("{} {what}", monotonic_us()));
    }

    fn remember(&mut self, serial: u64, line: String) {
        if self.said.len() >= REMEMBERED {
            self.said.pop_front();
        }
        self.said.push_back((serial, line));
    }

    /// Stops one (SIGSTOP).
    pub fn stop(&mut self, place: usize) {
        self.processes[place].worker.pause();
        self.processes[place].stopped = true;
        self.note(format!("{} stands still", self.processes[place].serial));
    }

    /// Lets it go on, if it stands still.
    pub fn resume(&mut self, place: usize) {
        if std::mem::take(&mut self.processes[place].stopped) {
            self.processes[place].worker.resume();
            self.note(format!("{} goes on", self.processes[place].serial));
        }
    }

    /// Everybody finishes what it is at; nobody begins anything.
    pub fn drain(&mut self) {
        self.draining = true;
        self.processes.iter_mut().for_each(|process| process.worker.send("drain"));
    }

    /// Everybody begins again.
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
        let serial = self.processes[place].serial;
        self.remember(serial, line.to_owned());
        let process = &mut self.processes[place];
        let who = |waiter: &str| (serial, waiter.parse::<u32>().expect("a waiter"));
        let us = |text: &str| text.parse::<i64>().expect("microseconds");
        match words[..] {
            ["ready", client] => process.client = Some(client.to_owned()),
            ["idle", waiter] => {
                process.idle.insert(who(waiter).1);
            }
            ["over" | "brief", _, kind, _] => self.count(&format!("acquire: {kind}"), kind, line, history),
            ["got", waiter, name, token, permits, owner, sent, acquired_at, validity] => {
                let hold = Hold {
                    who: who(waiter),
                    token: token.parse().expect("a token"),
                    permits: permits.parse().expect("a number"),
                    owner: owner.to_owned(),
                    sent: us(sent),
                    acquired_at: us(acquired_at),
                    ended_at: 0,
                    validity: us(validity),
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
            }
            ["leaves", waiter, ended, wrote] => {
                let Some((name, hold)) = history.open(who(waiter)).cloned() else {
                    return history.violations.push(format!("the record is wrong: {line}"));
                };
                if wrote == "1" && self.written.get(&name).is_none_or(|(token, _)| *token < hold.token) {
                    self.written.insert(name.clone(), (hold.token, hold.owner.clone()));
                }
                history.ended(who(waiter), us(ended));
                self.leaving.insert(who(waiter), (name, hold));
            }
            ["left", waiter, outcome, _, returned, valid_until] => {
                let Some((name, hold)) = self.leaving.remove(&who(waiter)) else {
                    return history.violations.push(format!("the record is wrong: {line}"));
                };
                let was_valid = us(returned) < us(valid_until);
                if outcome == "NOT_HELD" && was_valid && !history.was_removed(&name, hold.sent, us(returned)) {
                    history.violations.push(format!("{name}: a valid hold was not to be found: {line}; {hold}"));
                }
                if !["RELEASED", "DROPPED"].contains(&outcome) {
                    self.count(&format!("release: {outcome}"), outcome, line, history);
                }
            }
            ["latch", _, _, _, _, "TOLD", kind] => self.count(&format!("latch: {kind}"), kind, line, history),
            ["latch", _, name, from, to, verdict, _] => {
                *self.outcomes.entry(format!("latch: {verdict}")).or_default() += 1;
                if verdict != "KEPT" && !history.was_removed(name, us(from), us(to)) {
                    history.violations.push(format!("{name}: {line}"));
                }
            }
            _ => history.violations.push(format!("process {serial} said: {line}")),
        }
    }

    fn count(&mut self, what: &str, kind: &str, line: &str, history: &mut History) {
        // A wait may end just when the server stands still, or refuses because another takes over; a lease may end before the
        // grant has come.
        let allowed = if self.gentle && !line.starts_with("brief") { &GENTLE[..] } else { &ALLOWED[..] };
        *self.outcomes.entry(what.to_owned()).or_default() += 1;
        if !allowed.contains(&kind) {
            history.violations.push(format!("no caller may be told {kind} here: {line}"));
        }
    }
}

/// What a caller may be told when nothing is wrong: it waited for long enough, or its own lease is over.
const GENTLE: [&str; 6] = ["BUSY", "GAVE_UP", "CANCELLED", "TOO_LATE", "NOT_HELD", "LOST"];

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
