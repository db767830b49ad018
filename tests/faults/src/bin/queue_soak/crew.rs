//! The processes: producers first, then consumers.

use std::{path::PathBuf, time::Duration};

use fastrand::Rng;
use libdlock_testkit::Worker;

use crate::{CONSUMERS, PRODUCERS, ledger::Ledger};

struct Member {
    worker: Worker,
    is_producer: bool,
    is_paused: bool,
    is_stopped: bool,
}

pub struct Crew {
    program: PathBuf,
    url: String,
    seed: u64,
    started: u64,
    members: Vec<Member>,
}

impl Crew {
    pub fn start(url: String, seed: u64) -> Crew {
        let mut crew = Crew { program: "/proc/self/exe".into(), url, seed, started: 0, members: Vec::new() };
        for at in 0..PRODUCERS + CONSUMERS {
            let member = crew.member(at < PRODUCERS);
            crew.members.push(member);
        }
        crew
    }

    /// Nobody.
    pub fn none() -> Crew {
        Crew { program: PathBuf::new(), url: String::new(), seed: 0, started: 0, members: Vec::new() }
    }

    fn member(&mut self, is_producer: bool) -> Member {
        self.started += 1;
        let role = if is_producer { "producer" } else { "consumer" };
        let (number, seed) = (self.started.to_string(), (self.seed + self.started).to_string());
        let worker = Worker::spawn(&self.program, &["worker", &self.url, role, &number, &seed]);
        Member { worker, is_producer, is_paused: false, is_stopped: false }
    }

    fn any(&self, rng: &mut Rng, is_producer: bool) -> usize {
        if is_producer { rng.usize(..PRODUCERS) } else { PRODUCERS + rng.usize(..CONSUMERS) }
    }

    /// Kills one with SIGKILL, in the middle of whatever it does, and starts another in its place.
    pub fn kill(&mut self, rng: &mut Rng, is_producer: bool, ledger: &mut Ledger) {
        let at = self.any(rng, is_producer);
        self.members[at].worker.kill();
        // What it has said counts. Its last line may be cut.
        while let Some(line) = self.members[at].worker.line(Duration::from_millis(200)) {
            hear(&mut self.members[at].is_paused, &line, ledger);
        }
        self.members[at] = self.member(is_producer);
    }

    /// Stops one with SIGSTOP.
    pub fn pause(&mut self, rng: &mut Rng, is_producer: bool) -> usize {
        let at = self.any(rng, is_producer);
        self.members[at].worker.pause();
        self.members[at].is_stopped = true;
        at
    }

    /// It goes on, unless another has taken its place.
    pub fn resume(&mut self, at: usize) {
        if std::mem::take(&mut self.members[at].is_stopped) {
            self.members[at].worker.resume();
        }
    }

    /// Reads what all have said.
    pub fn listen(&mut self, ledger: &mut Ledger) {
        for member in &mut self.members {
            while let Some(line) = member.worker.line(Duration::ZERO) {
                hear(&mut member.is_paused, &line, ledger);
            }
        }
    }

    /// Tells the producers.
    pub fn tell_producers(&mut self, line: &str) {
        for member in self.members.iter_mut().filter(|member| member.is_producer) {
            member.is_paused = false;
            member.worker.send(line);
        }
    }

    /// Whether all producers rest.
    pub fn is_paused(&self) -> bool {
        self.members.iter().all(|member| member.is_paused || !member.is_producer)
    }

    /// Ends them all; how many did not end well.
    pub fn finish(self) -> usize {
        let ended = self.members.into_iter().map(|member| member.worker.finish(Duration::from_secs(30)));
        ended.filter(|status| !status.success()).count()
    }
}

fn hear(is_paused: &mut bool, line: &str, ledger: &mut Ledger) {
    match line {
        "paused" => *is_paused = true,
        "ready" => {}
        line => ledger.read(line),
    }
}
