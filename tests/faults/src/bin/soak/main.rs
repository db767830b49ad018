//! `dlock-soak MINUTES [SEED]`: processes that contend for a handful of locks, semaphores and read-write locks, and a random fault
//! every second, for as long as one likes. README.md says what is watched and what excuses what. The seed repeats the faults and what the workers want, not
//! the moments at which they meet.

mod keys;
mod place;
mod storm;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use fastrand::Rng;
use libdlock_testkit::{resource::Register, temp::TempDir, wait::monotonic_us};

use libdlock_faults::soak::{
    contended::Contended,
    fleet::{Fleet, Plan},
    history::History,
    worker::{self, Pace},
};
use place::Place;
use storm::Storm;

/// The workers' lease: short, so that much happens in an hour.
const LEASE: Duration = Duration::from_secs(2);
const OPTIONS: &str =
    "lease=2s&response_timeout=300ms&operation_timeout=3s&connect_timeout=1s&ping_interval=500ms&clock_drift=9";
const PROCESSES: usize = 5;
const WAITERS: u32 = 4;
const LOCKS: [&str; 3] = ["alpha", "beta", "gamma"];
/// With their permits: waiters want one to three, or all.
const SEMAPHORES: [(&str, u32); 2] = [("delta", 5), ("epsilon", 2)];
const RW_LOCKS: [&str; 2] = ["zeta", "eta"];
/// With its permits, which every calm finds or puts back.
const COUNTING: (&str, u32) = ("iota", 4);
/// What the names of latches begin with.
const LATCHES: &str = "kappa";
/// Of the locks above.
const SETS: [&[&str]; 2] = [&["alpha", "gamma"], &["beta", "gamma", "alpha"]];

/// How long it storms before it is calm again.
const STORM: Duration = Duration::from_secs(25);
/// Of so many storms one is such that no caller may notice.
const GENTLE: u64 = 3;
/// The longest timer of a waiter that is neither head nor next.
const LONG_POLL: Duration = Duration::from_secs(6);
/// What a dead head costs those behind it: its silence, and the next one's timer.
const DEAD_HEAD: Duration = Duration::from_millis(3_700);
/// New connections, and two busy cores.
const SLACK: Duration = Duration::from_secs(3);

/// A worker has some 8,000 KB in its first minutes.
const FAR_TOO_MUCH: u64 = 40_000;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |text: &String| text.parse::<u64>().unwrap_or_else(|_| panic!("no number: {text:?}"));
    match &args[..] {
        [verb, args @ ..] if verb == "worker" && worker::run(args) => ExitCode::SUCCESS,
        [minutes] => Soak::start(number(minutes), fastrand::u64(0..1_000_000)).run(),
        [minutes, seed] => Soak::start(number(minutes), number(seed)).run(),
        _ => {
            eprintln!("usage: dlock-soak MINUTES [SEED]");
            ExitCode::from(2)
        }
    }
}

struct Soak {
    minutes: u64,
    seed: u64,
    rng: Rng,
    place: Place,
    fleet: Fleet,
    history: History,
    storm: Storm,
    registers: TempDir,
    started: Instant,
    said: u64,
    violations: u64,
    longest_drain: Duration,
    /// Killed before the last calm: their places in queues nobody came by may still be there.
    killed_before: u32,
    calms: u64,
    /// Since when the counted permits have been all there.
    counted_from: i64,
}

impl Soak {
    fn start(minutes: u64, seed: u64) -> Self {
        println!(
            "soak: {minutes} minutes, seed {seed}, {PROCESSES} processes of {WAITERS} waiters, {} locks and {} sets of them, {} semaphores, one that counts, {} read-write locks, latches",
            LOCKS.len(),
            SETS.len(),
            SEMAPHORES.len(),
            RW_LOCKS.len()
        );
        let semaphores = SEMAPHORES.iter().map(|(name, permits)| Contended::semaphore(name, *permits));
        let rw_locks = RW_LOCKS.iter().map(|name| Contended::rw_lock(name));
        let locks = LOCKS.iter().map(|name| Contended::lock(name));
        let counting = Contended::counting(COUNTING.0, COUNTING.1);
        let contended: Vec<Contended> = locks.chain(semaphores).chain(rw_locks).chain([counting]).collect();
        let place = Place::start(contended.clone());
        let registers = TempDir::new();
        LOCKS.iter().chain(&RW_LOCKS).for_each(|name| drop(Register::create(&registers.path().join(name))));
        let latches = Contended::latches(LATCHES);
        let sets = SETS.iter().map(|names| Contended::set(names));
        let fleet = Fleet::start(Plan {
            // This program as it was started, also when it is built anew meanwhile.
            program: "/proc/self/exe".into(),
            // With and without hand-over inside a process. The last one asks so often that it notices a lease which ends early.
            options: &[
                "",
                "&cohort_max=1",
                "&strict_fifo=true",
                "&cohort_max=4&queue_poll_interval=2s",
                "&poll_interval=20ms&queue_poll_interval=20ms",
            ],
            pace: Pace::Varied,
            url: format!("{}/?{OPTIONS}", place.proxy.url()),
            processes: PROCESSES,
            waiters: WAITERS,
            names: contended.iter().cloned().chain(sets).chain([latches]).collect(),
            registers: registers.path().into(),
            seed,
        });
        Self {
            minutes,
            seed,
            rng: Rng::with_seed(seed),
            place,
            fleet,
            history: History::of(&contended),
            storm: Storm::default(),
            registers,
            started: Instant::now(),
            said: 0,
            violations: 0,
            longest_drain: Duration::ZERO,
            killed_before: 0,
            calms: 0,
            counted_from: 0,
        }
    }

    fn run(mut self) -> ExitCode {
        let end = self.started + Duration::from_secs(60 * self.minutes);
        // Nothing goes wrong before everybody is there.
        self.calm();
        while Instant::now() < end {
            let gentle = self.calms.is_multiple_of(GENTLE);
            (self.storm.gentle, self.fleet.gentle) = (gentle, gentle);
            self.fleet.go();
            let calm = (Instant::now() + STORM).min(end);
            while Instant::now() < calm {
                let Self { storm, rng, place, fleet, history, .. } = &mut self;
                storm.strike(rng, place, fleet, history);
                self.watch(Duration::from_secs(1));
            }
            self.calm();
        }
        self.finish()
    }

    /// Takes down what happens for a while.
    fn watch(&mut self, length: Duration) {
        let end = Instant::now() + length;
        while Instant::now() < end {
            self.look();
            std::thread::sleep(Duration::from_millis(5));
        }
        self.history.settle(monotonic_us());
        self.tell();
    }

    fn look(&mut self) {
        let Self { storm, place, fleet, history, .. } = self;
        storm.end_due(place, fleet, history);
        fleet.listen(history);
    }

    /// The faults pause: everybody gets what it waits for, in time, and then nothing is left.
    fn calm(&mut self) {
        let Self { storm, place, fleet, history, .. } = self;
        storm.end_all(place, fleet, history);
        fleet.drain();
        let began = Instant::now();
        let dead = self.storm.killed + self.killed_before;
        let bound = LEASE.max(LONG_POLL) + DEAD_HEAD * dead + SLACK;
        while !self.fleet.busy().is_empty() && began.elapsed() < bound {
            self.look();
            std::thread::sleep(Duration::from_millis(5));
        }
        self.longest_drain = self.longest_drain.max(began.elapsed());
        let busy = self.fleet.busy();
        if !busy.is_empty() {
            self.violation(format!("not served {bound:?} after the faults had paused: {}", busy.join(", ")));
            // Whether it ever comes back is worth knowing, and nothing else can be said before.
            while !self.fleet.busy().is_empty() && began.elapsed() < bound * 4 {
                self.look();
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        self.latches_are_open();
        self.nothing_is_left();
        self.registers_hold();
        self.permits_are_back();
        self.tell();
        self.killed_before = std::mem::take(&mut self.storm.killed);
        self.storm.revived = false;
        self.calms += 1;
    }

    /// A round that came to its end leaves no count; one that could not, and who was killed, may.
    fn latches_are_open(&mut self) {
        let gentle = self.fleet.gentle && self.calms > 0;
        let left = keys::counts(&self.place.server, LATCHES);
        left.iter().filter(|_| gentle).for_each(|name| self.violation(format!("left behind: the latch {name}")));
    }

    /// What an attempt without an answer left is taken back when its bytes can no longer arrive; what was revived by a restart
    /// or a clock that went back runs out.
    fn nothing_is_left(&mut self) {
        let bound = LEASE + SLACK + if self.storm.revived { Duration::from_secs(60) } else { Duration::ZERO };
        let began = Instant::now();
        loop {
            self.look();
            let mut wrong = keys::leftovers(&self.place.server, &self.place.contended, &self.fleet.clients());
            wrong.extend(self.place.strays().into_iter().map(|stray| format!("connected to the replica: {stray}")));
            if wrong.is_empty() {
                return;
            }
            if began.elapsed() > bound {
                return wrong.into_iter().for_each(|wrong| self.violation(format!("left behind: {wrong}")));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// No write that was acknowledged is lost behind one with a smaller token.
    fn registers_hold(&mut self) {
        for (name, (token, owner)) in self.fleet.written.clone() {
            let (last, by) = Register::open(&self.registers.path().join(&name)).read();
            if last < token || last == token && by != owner {
                self.violation(format!("{name}: {owner}'s write with token {token} is lost behind {by}'s with {last}"));
            }
        }
    }

    /// Of a counting semaphore none are missing after a storm in which nothing could be lost, and none are too many unless a fault
    /// brought some back. From here on all of them are there.
    fn permits_are_back(&mut self) {
        let (name, total) = COUNTING;
        let (gentle, began) = (self.fleet.gentle && self.calms > 0, Instant::now());
        // What nobody waits for any more is given back in the background.
        let available = loop {
            let available = keys::available(&self.place.server, name);
            if available == Some(i64::from(total)) || !gentle || began.elapsed() > LEASE + SLACK {
                break available;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let was_removed = self.history.was_removed(name, self.counted_from, monotonic_us());
        let (least, most) = (if gentle { total } else { 0 }, total);
        if !was_removed && available.is_some_and(|there| !(i64::from(least)..=i64::from(most)).contains(&there)) {
            self.violation(format!("{name}: {available:?} permits of {total} after a calm"));
        }
        keys::set_available(&self.place.server, name, total);
        let now = monotonic_us();
        self.history.counted_anew(now);
        self.counted_from = now + 1;
    }

    fn violation(&mut self, what: String) {
        self.history.violations.push(what);
        self.tell();
    }

    /// What is wrong, at once; how it goes, once a minute.
    fn tell(&mut self) {
        for what in std::mem::take(&mut self.history.violations) {
            self.violations += 1;
            eprintln!("VIOLATION at {:?}: {what}", self.started.elapsed());
            let now = monotonic_us();
            let recent = self.storm.recent.iter().map(|(at, fault)| format!("{} ms ago {fault}", (now - at) / 1_000));
            eprintln!("  before it, at {now}: {}", recent.collect::<Vec<_>>().join("; "));
            self.record();
        }
        let minute = self.started.elapsed().as_secs() / 60;
        if minute > self.said {
            self.said = minute;
            println!("{minute} min: {}", self.status());
        }
    }

    /// What was said before the first thing that is wrong, in a file.
    fn record(&mut self) {
        if self.violations > 1 {
            return;
        }
        let path = std::env::temp_dir().join(format!("dlock-soak-{}-{}.log", self.seed, std::process::id()));
        let lines = self.fleet.said.iter().map(|(serial, line)| match serial {
            &u64::MAX => format!("- {line}\n"),
            serial => format!("{serial} {line}\n"),
        });
        match std::fs::write(&path, lines.collect::<String>()) {
            Ok(()) => eprintln!("  what was said until then: {}", path.display()),
            Err(error) => eprintln!("  cannot write {}: {error}", path.display()),
        }
    }

    fn status(&self) -> String {
        let faults: u64 = self.storm.counts.values().sum();
        format!(
            "{} hand-overs, {faults} faults, {} calms, {} holds judged, {} excused, longest drain {:.1} s, {} violations; KB: this {}, first worker {}, server {}",
            self.history.holds,
            self.calms,
            self.history.judged,
            self.history.excused,
            self.longest_drain.as_secs_f64(),
            self.violations,
            resident_kb(std::process::id()),
            resident_kb(self.fleet.processes[0].worker.pid()),
            resident_kb(self.place.server.pid()),
        )
    }

    fn finish(mut self) -> ExitCode {
        self.history.settle(i64::MAX);
        self.tell();
        println!("{}", self.status());
        let memory = resident_kb(self.fleet.processes[0].worker.pid());
        for (fault, count) in &self.storm.counts {
            println!("  {count:6} {fault}");
        }
        for (outcome, count) in &self.fleet.outcomes {
            println!("  {count:6} {outcome}");
        }
        for process in std::mem::take(&mut self.fleet.processes) {
            let status = process.worker.finish(Duration::from_secs(10));
            if !status.success() {
                self.violation(format!("process {} ended with {status}", process.serial));
            }
        }
        // Two minutes later by the server's clock even the dead are forgotten, and what was counted.
        self.place.server.clock().advance(121_000_000);
        self.nothing_is_left();
        let dead: Vec<String> = self.place.server.keys().into_iter().filter(|k| k.starts_with("dlock_")).collect();
        if !dead.is_empty() {
            self.violation(format!("left for more than its time: {}", dead.join(", ")));
        }
        if memory > FAR_TOO_MUCH {
            self.violation(format!("the first worker, which ran all the time, has {memory} KB"));
        }
        if self.history.holds < 100 * self.minutes {
            self.violation(format!("only {} hand-overs: nothing was tested", self.history.holds));
        }
        println!("seed {}: SEED={} repeats the faults", self.seed, self.seed);
        let failed = u64::from(self.violations > 0);
        println!("{} passed, {failed} failed", 1 - failed);
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// What a process has in memory, in KB; 0 when it is gone.
fn resident_kb(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
}
