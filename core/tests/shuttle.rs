//! The line of a lock's waiters under shuttle: the very file of the library, driven by threads in thousands of random
//! interleavings. A waiter that is forgotten shows as a deadlock.
//!
//! Two processes with a line each contend for one lock of a server. What the contender does about the network is not in it:
//! that is `tests/model`.

use std::sync::Arc;

use shuttle::sync::{Condvar, Mutex};
use shuttle::{check_random, thread};

#[allow(dead_code, reason = "the library's own file; not every function is of interest here")]
#[path = "../src/contended/line.rs"]
mod line;

/// The line only compares instants.
mod time {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) struct Tick;
}

use line::{Cohort, Line, Pass, Rest};

/// How many interleavings each property is tried with.
const RUNS: usize = 1_000;

/// Tokens of a grant: how many holders it can have.
const BLOCK: u64 = 3;

/// What a waiter wants to get; a hold of another kind is not passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Watchdog,
    Given,
}

/// One grant of the server, or what is passed on of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Grant {
    token: u64,
    kind: Kind,
}

/// Where a waiter is given its grant.
type Slot = Arc<(Mutex<Option<Grant>>, Condvar)>;

/// The lock on the server.
#[derive(Default)]
struct Server {
    keys: Mutex<Keys>,
    freed: Condvar,
}

#[derive(Default)]
struct Keys {
    held: bool,
    token: u64,
}

/// Who holds, as the holders see it.
#[derive(Default)]
struct Witness {
    inside: u32,
    tokens: Vec<u64>,
}

struct World {
    server: Server,
    witness: Mutex<Witness>,
}

/// A process and its line.
#[derive(Clone)]
struct Process {
    line: Arc<Mutex<Line<Slot, Kind>>>,
    /// Whether a contender is at work.
    contends: Arc<Mutex<bool>>,
    world: Arc<World>,
}

impl Server {
    fn try_take(&self, block: u64) -> Option<u64> {
        let mut keys = self.keys.lock().unwrap();
        (!keys.held).then(|| {
            keys.held = true;
            let token = keys.token + 1;
            keys.token += block;
            token
        })
    }

    /// Stands for asking, sleeping in the queue and being woken.
    fn take(&self, block: u64) -> u64 {
        let mut keys = self.keys.lock().unwrap();
        while keys.held {
            keys = self.freed.wait(keys).unwrap();
        }
        keys.held = true;
        let token = keys.token + 1;
        keys.token += block;
        token
    }

    fn free(&self) {
        let mut keys = self.keys.lock().unwrap();
        assert!(keys.held, "freed by its holder, once");
        keys.held = false;
        self.freed.notify_all();
    }
}

impl Process {
    fn new(world: &Arc<World>) -> Process {
        Process { line: Arc::default(), contends: Arc::default(), world: world.clone() }
    }

    /// Acquires, holds for a moment, and releases.
    fn acquire(&self, kind: Kind) {
        let slot = Slot::default();
        self.stand(kind, &slot);
        self.hold_and_release(given(&slot));
    }

    /// Waits, and gives up at some moment: what it is given all the same it gives back.
    fn give_up(&self, kind: Kind) {
        let slot = Slot::default();
        let number = self.stand(kind, &slot);
        thread::yield_now();
        let was_there = {
            let mut line = self.line.lock().unwrap();
            let before = line.len();
            let _last = line.leave(number);
            line.len() < before
        };
        if !was_there {
            self.release(given(&slot));
        }
    }

    /// Does not wait; beside the line if somebody contends or holds already.
    fn try_acquire(&self, kind: Kind) {
        let contends = self.line.lock().unwrap().begin();
        match self.world.server.try_take(1) {
            Some(token) => {
                if contends {
                    self.line.lock().unwrap().hold(Cohort { token, last_token: token, until: 1 });
                }
                self.hold_and_release(Grant { token, kind });
            }
            None if contends => self.rest(),
            None => {}
        }
    }

    fn stand(&self, kind: Kind, slot: &Slot) -> u64 {
        let mut line = self.line.lock().unwrap();
        let number = line.number();
        let contend = line.stand(number, kind, slot.clone());
        drop(line);
        if contend {
            self.start();
        }
        number
    }

    /// Goes on when contending is over.
    fn rest(&self) {
        let rest = self.line.lock().unwrap().rest();
        match rest {
            Rest::Idle => {}
            Rest::Waiting => self.start(),
            Rest::Queued => unreachable!("no message was sent"),
        }
    }

    fn start(&self) {
        let process = self.clone();
        thread::spawn(move || process.contend());
    }

    fn work(&self, begins: bool) {
        let before = std::mem::replace(&mut *self.contends.lock().unwrap(), begins);
        assert_ne!(before, begins, "one contender at a time");
    }

    fn contend(&self) {
        self.work(true);
        loop {
            let wanted = self.line.lock().unwrap().wanted();
            let Some(kind) = wanted else {
                self.work(false);
                return self.rest();
            };
            let block = if kind == Kind::Watchdog { BLOCK } else { 1 };
            let token = self.world.server.take(block);
            let mut line = self.line.lock().unwrap();
            match line.take_first(kind) {
                Some(slot) => {
                    self.work(false);
                    line.hold(Cohort { token, last_token: token + block - 1, until: 1 });
                    drop(line);
                    return give(&slot, Grant { token, kind });
                }
                // It gave up, or the first one wants another kind.
                None => {
                    drop(line);
                    self.world.server.free();
                }
            }
        }
    }

    fn hold_and_release(&self, grant: Grant) {
        {
            let mut witness = self.world.witness.lock().unwrap();
            witness.inside += 1;
            assert_eq!(witness.inside, 1, "two holders at once");
            let last = witness.tokens.last().copied().unwrap_or(0);
            assert!(grant.token > last, "token {} after {last}", grant.token);
            witness.tokens.push(grant.token);
        }
        thread::yield_now();
        self.world.witness.lock().unwrap().inside -= 1;
        self.release(grant);
    }

    fn release(&self, Grant { token, kind }: Grant) {
        let pass = self.line.lock().unwrap().pass(token, kind, 0, |token| Some(Grant { token, kind }));
        match pass {
            Pass::To(slot, grant) => give(&slot, grant),
            Pass::Release { .. } => {
                self.world.server.free();
                self.rest();
            }
            Pass::Aside => self.world.server.free(),
        }
    }
}

fn give(slot: &Slot, grant: Grant) {
    assert_eq!(slot.0.lock().unwrap().replace(grant), None, "given twice");
    slot.1.notify_all();
}

fn given(slot: &Slot) -> Grant {
    let mut grant = slot.0.lock().unwrap();
    loop {
        match grant.take() {
            Some(grant) => return grant,
            None => grant = slot.1.wait(grant).unwrap(),
        }
    }
}

/// Runs what callers of two processes do, each in a thread, and looks at what is left. The tokens of the holds, in order.
fn run(callers: &[fn(&Process)], others: &[fn(&Process)]) -> Vec<u64> {
    let world = Arc::new(World { server: Server::default(), witness: Mutex::default() });
    let processes = [Process::new(&world), Process::new(&world)];
    let threads: Vec<_> = [callers, others]
        .into_iter()
        .zip(&processes)
        .flat_map(|(callers, process)| callers.iter().map(move |caller| (*caller, process.clone())))
        .map(|(caller, process)| thread::spawn(move || caller(&process)))
        .collect();
    threads.into_iter().for_each(|caller| caller.join().unwrap());
    for process in &processes {
        // A contender may be on its way out; whoever comes now must find the line in order.
        process.acquire(Kind::Given);
    }
    assert!(!world.server.keys.lock().unwrap().held);
    world.witness.lock().unwrap().tokens.clone()
}

fn watchdog(process: &Process) {
    process.acquire(Kind::Watchdog);
}

fn given_lease(process: &Process) {
    process.acquire(Kind::Given);
}

/// Fails when a release leaves the line to whoever comes meanwhile, who then contends beside it, or when `rest` forgets them.
#[test]
fn everybody_who_waits_is_served_once() {
    check_random(
        || {
            let tokens = run(&[watchdog, watchdog, watchdog, given_lease], &[watchdog, given_lease]);
            assert_eq!(tokens.len(), 6 + 2);
        },
        RUNS,
    );
}

/// Fails when a grant that is delivered while its waiter leaves is nobody's.
#[test]
fn who_gives_up_takes_nothing_along() {
    check_random(
        || {
            let gives_up = |process: &Process| process.give_up(Kind::Watchdog);
            let tokens = run(&[watchdog, gives_up, gives_up, watchdog], &[gives_up, given_lease]);
            assert_eq!(tokens.len(), 3 + 2);
        },
        RUNS,
    );
}

/// Fails when a try that begins the line keeps those who come meanwhile from contending.
#[test]
fn a_try_beside_the_line_leaves_it_in_order() {
    check_random(
        || {
            let tries = |process: &Process| process.try_acquire(Kind::Watchdog);
            let tokens = run(&[watchdog, tries, watchdog, tries], &[tries, watchdog]);
            assert!((3 + 2..=6 + 2).contains(&tokens.len()), "{tokens:?}");
        },
        RUNS,
    );
}

/// Fails when the block, the time, the kind or the grant is not looked at.
#[test]
fn a_hold_is_passed_on_no_longer_than_it_may() {
    let mut line: Line<u32, Kind> = Line::default();
    for number in 1..=4 {
        let _begun = line.stand(number, Kind::Watchdog, number as u32);
    }
    assert_eq!(line.take_first(Kind::Watchdog), Some(1));
    line.hold(Cohort { token: 10, last_token: 12, until: 100 });
    assert_eq!(line.pass(10, Kind::Watchdog, 99, Some), Pass::To(2, 11));
    assert_eq!(line.pass(10, Kind::Watchdog, 99, Some), Pass::Aside, "a hold that was passed on already");
    assert_eq!(line.pass(11, Kind::Watchdog, 99, Some), Pass::To(3, 12));
    assert_eq!(line.pass(12, Kind::Watchdog, 99, Some), Pass::Release { rejoin: true }, "no token is left");
    line.hold(Cohort { token: 20, last_token: 22, until: 100 });
    assert_eq!(line.pass(20, Kind::Watchdog, 100, Some), Pass::Release { rejoin: true }, "its time is over");
    line.hold(Cohort { token: 30, last_token: 32, until: 100 });
    assert_eq!(line.pass(30, Kind::Given, 0, Some), Pass::Release { rejoin: true }, "a hold of another kind");
    line.hold(Cohort { token: 40, last_token: 42, until: 100 });
    assert_eq!(
        line.pass(40, Kind::Watchdog, 0, |_| None::<u64>),
        Pass::Release { rejoin: true },
        "it is no hold any more"
    );
}
