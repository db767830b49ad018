//! Many processes with many waiters each contend for one lock; some waiters give up and some processes are killed. No overlap,
//! everybody who stays is served, and a hand-over costs a few scripts however many wait.

use std::{collections::HashSet, path::PathBuf, time::Duration};

use libdlock_faults::{
    SOON,
    soak::{
        contended::Contended,
        fleet::{Fleet, Plan},
        history::History,
        worker::Pace,
    },
    with_options,
};
use libdlock_testkit::{Server, eventually, resource::Register, temp::TempDir, wait::monotonic_us};

const WAITERS: u32 = 8;
/// A process that was killed as the head is noticed after 2.5 s, by one that looks every second, give or take 20 %.
const DEAD_HEAD: Duration = Duration::from_millis(3_700);

fn scripts(server: &Server) -> u64 {
    ["evalsha", "eval"].iter().map(|name| server.info("commandstats", &format!("cmdstat_{name}:calls"))).sum()
}

struct Crowd {
    server: Server,
    registers: TempDir,
    fleet: Fleet,
    history: History,
}

impl Crowd {
    fn start(processes: usize, options: &'static [&'static str]) -> Self {
        let server = Server::start();
        let registers = TempDir::new();
        Register::create(&registers.path().join("job"));
        let fleet = Fleet::start(Plan {
            program: PathBuf::from(env!("CARGO_BIN_EXE_dlock-soak")),
            url: with_options(&server.url(), "lease=2s"),
            options,
            processes,
            waiters: WAITERS,
            names: vec![Contended::lock("job")],
            pace: Pace::Brisk,
            registers: registers.path().into(),
            seed: 24,
        });
        let mut crowd = Self { server, registers, fleet, history: History::default() };
        crowd.watch_until(Duration::from_secs(60), "all are there", |c| c.fleet.clients().len() == processes);
        crowd
    }

    /// Takes down what they say until something is so.
    #[track_caller]
    fn watch_until(&mut self, bound: Duration, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        eventually(bound, what, || {
            self.fleet.listen(&mut self.history);
            self.history.settle(monotonic_us());
            assert_eq!(self.history.violations, [""; 0]);
            holds(self)
        });
    }

    fn watch(&mut self, length: Duration) {
        let end = monotonic_us() + length.as_micros() as i64;
        self.watch_until(length + SOON, "the time is over", |_| monotonic_us() >= end);
    }

    /// Everybody finishes: all end, and nothing of those who live is left.
    fn finish(mut self, bound: Duration) {
        self.fleet.drain();
        let mut busy = usize::MAX;
        self.watch_until(bound, "everybody is served", |c| {
            busy = c.fleet.busy().len();
            busy == 0
        });
        self.history.settle(i64::MAX);
        assert_eq!(self.history.violations, [""; 0]);
        let (token, owner) = Register::open(&self.registers.path().join("job")).read();
        assert_eq!(Some(&(token, owner)), self.fleet.written.get("job"), "no acknowledged write is lost");
        let live: HashSet<String> = self.fleet.clients().into_iter().map(str::to_owned).collect();
        let left = || {
            let queued = self.server.cmd(&["ZRANGE", "dlock_queue:{job}", "0", "-1"]);
            let queued = queued.array().iter().filter(|client| live.contains(client.text())).count();
            queued + usize::from(libdlock_faults::is_held(&self.server, "job"))
        };
        eventually(SOON, "nothing of the living is left", || left() == 0);
    }
}

/// Without a hand-over inside a process, so that every one of them costs scripts.
fn a_crowd_is_served_with_few_scripts(processes: usize, length: Duration) {
    let mut crowd = Crowd::start(processes, &["&cohort_max=1"]);
    let (before, held) = (scripts(&crowd.server), crowd.history.holds);
    crowd.watch(length);
    crowd.watch_until(SOON * 3, "a hundred hand-overs", |c| c.history.holds - held > 100);
    let (scripts, hand_overs) = (scripts(&crowd.server) - before, crowd.history.holds - held);
    println!("{processes} processes: {hand_overs} hand-overs with {scripts} scripts");
    // Those who give up included: a cancel is a script too.
    assert!(scripts <= 4 * hand_overs, "{scripts} scripts for {hand_overs} hand-overs");
    crowd.finish(SOON * 3);
}

/// The same with hand-overs inside them, and now and then one is killed, wherever it stands.
fn a_crowd_with_kills_ends(processes: usize, kills: u32) {
    let mut crowd = Crowd::start(processes, &["", "&cohort_max=1", "&strict_fifo=true"]);
    for kill in 0..kills {
        let Crowd { fleet, history, .. } = &mut crowd;
        fleet.replace(kill as usize * 7 % processes, history);
        let holds = crowd.history.holds;
        // It may have been the holder, and those behind it dead heads.
        let bound = Duration::from_secs(2) + DEAD_HEAD * (kill + 1) + SOON;
        crowd.watch_until(bound, "it goes on", |c| c.history.holds > holds + 20);
    }
    crowd.finish(Duration::from_secs(2) + DEAD_HEAD * kills + SOON * 3);
}

#[test]
fn eight_times_eight_waiters_cost_four_scripts_a_hand_over() {
    a_crowd_is_served_with_few_scripts(8, Duration::from_secs(2));
}

#[test]
fn six_processes_of_which_some_are_killed_never_overlap() {
    a_crowd_with_kills_ends(6, 2);
}

#[test]
#[ignore = "long: make check-long"]
fn sixty_four_processes_cost_four_scripts_a_hand_over() {
    a_crowd_is_served_with_few_scripts(64, Duration::from_secs(20));
}

#[test]
#[ignore = "long: make check-long"]
fn sixty_four_processes_of_which_some_are_killed_never_overlap() {
    a_crowd_with_kills_ends(64, 20);
}
