//! A worker process, as a test sees it.
//!
//! Requests are lines `<id> <verb> <arguments>`, answers `<id> ok <values>` or `<id> err <KIND> <message>`, in any order;
//! what a worker says by itself (`lost ...`, `hold ...`) has no number. All times are of the monotonic clock in us, which
//! is one for all processes of a machine.

use std::{
    collections::HashMap,
    ffi::OsStr,
    process::Command,
    time::{Duration, Instant},
};

use libdlock_testkit::{Hold, Worker};

use crate::SOON;

/// The path of the worker program; to be used in the integration tests of this crate.
#[macro_export]
macro_rules! worker {
    () => {
        env!("CARGO_BIN_EXE_dlock-fault-worker")
    };
}

/// An answer: the values after `ok`, or kind and message after `err`.
pub type Answer = Result<Vec<String>, (String, String)>;

/// A grant, as the worker reported it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its fencing token.
    pub token: u64,
    /// Its owner field on the server.
    pub owner: String,
    /// When acquire returned.
    pub acquired_at: i64,
    /// Until when it was valid at that instant.
    pub valid_until: i64,
}

/// That a hold was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Which lock.
    pub name: String,
    /// Which loss reason.
    pub reason: String,
    /// When the worker was told.
    pub told_at: i64,
    /// Until when the hold would have been valid, by its own reckoning at the moment before.
    pub valid_until: i64,
}

/// A worker process with a client connected to `url`. Killed at drop.
#[derive(Debug)]
pub struct Peer {
    worker: Worker,
    next_id: u64,
    answers: HashMap<u64, Answer>,
    losses: Vec<Loss>,
    holds: Vec<Hold>,
}

impl Peer {
    /// Starts a worker whose client is connected to `url`.
    #[track_caller]
    pub fn start(program: &str, url: &str) -> Self {
        Self::start_with(program, url, &[])
    }

    /// The same with more in its environment.
    #[track_caller]
    pub fn start_with(program: &str, url: &str, environment: &[(&str, &OsStr)]) -> Self {
        let mut command = Command::new(program);
        command.arg(url).envs(environment.iter().copied());
        let worker = Worker::spawn_command(command);
        assert_eq!(worker.expect_line(SOON), "ready");
        Self { worker, next_id: 0, answers: HashMap::new(), losses: Vec::new(), holds: Vec::new() }
    }

    /// The process itself, for killing, stopping and resuming.
    pub fn process(&mut self) -> &mut Worker {
        &mut self.worker
    }

    /// Sends a request and returns its number.
    pub fn request(&mut self, request: &str) -> u64 {
        self.next_id += 1;
        self.worker.send(&format!("{} {request}", self.next_id));
        self.next_id
    }

    /// The answer to a request; `None` when there is none within `bound`.
    pub fn answer_within(&mut self, id: u64, bound: Duration) -> Option<Answer> {
        let deadline = Instant::now() + bound;
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return Some(answer);
            }
            if !self.read_line(deadline) {
                return None;
            }
        }
    }

    /// The answer to a request, which must come within `bound`.
    #[track_caller]
    pub fn answer(&mut self, id: u64, bound: Duration) -> Answer {
        self.answer_within(id, bound).unwrap_or_else(|| panic!("request {id} was not answered within {bound:?}"))
    }

    /// Sends a request and waits for its answer.
    #[track_caller]
    pub fn call(&mut self, request: &str) -> Answer {
        let id = self.request(request);
        self.answer(id, SOON)
    }

    /// Sends a request that must succeed.
    #[track_caller]
    pub fn ok(&mut self, request: &str) -> Vec<String> {
        self.call(request).unwrap_or_else(|e| panic!("{request}: {e:?}"))
    }

    /// Acquires a lock for holder 1, waiting for ever, with the client's own lease.
    #[track_caller]
    pub fn acquire(&mut self, name: &str) -> Held {
        held(self.call(&format!("acquire 1 {name} -1 0")))
    }

    /// Acquires for holder 1 once more after a loss, which it has to release first.
    #[track_caller]
    pub fn acquire_after_a_loss(&mut self, name: &str) -> Held {
        let (kind, _) = self.call(&format!("release 1 {name}")).expect_err("it was lost");
        assert!(kind == "NOT_HELD" || kind == "LOST", "{kind}");
        self.acquire(name)
    }

    /// Starts to wait for a lock for holder 1.
    pub fn start_acquire(&mut self, name: &str) -> u64 {
        self.request(&format!("acquire 1 {name} -1 0"))
    }

    /// The grant that [`start_acquire`](Self::start_acquire) waits for.
    #[track_caller]
    pub fn granted(&mut self, id: u64, bound: Duration) -> Held {
        held(self.answer(id, bound))
    }

    /// Releases holder 1's lock: when release was called, and when it returned.
    #[track_caller]
    pub fn release(&mut self, name: &str) -> (i64, i64) {
        let values = self.ok(&format!("release 1 {name}"));
        (number(&values[0]), number(&values[1]))
    }

    /// Whether holder 1's hold is valid.
    #[track_caller]
    pub fn is_valid(&mut self, name: &str) -> bool {
        self.ok(&format!("valid 1 {name}"))[0] == "true"
    }

    /// The next loss that the worker reports; `None` when there is none within `bound`.
    pub fn loss_within(&mut self, bound: Duration) -> Option<Loss> {
        let deadline = Instant::now() + bound;
        while self.losses.is_empty() {
            if !self.read_line(deadline) {
                return None;
            }
        }
        Some(self.losses.remove(0))
    }

    /// The next loss, which must come within `bound`.
    #[track_caller]
    pub fn loss(&mut self, bound: Duration) -> Loss {
        self.loss_within(bound).unwrap_or_else(|| panic!("no loss was reported within {bound:?}"))
    }

    /// The holds that `contend` has reported so far, also by a worker that is gone.
    pub fn holds(&mut self) -> Vec<Hold> {
        while self.read_line(Instant::now()) {}
        std::mem::take(&mut self.holds)
    }

    /// Reads one line, if one comes until `deadline`.
    fn read_line(&mut self, deadline: Instant) -> bool {
        let Some(line) = self.worker.line(deadline.saturating_duration_since(Instant::now())) else { return false };
        let words: Vec<&str> = line.split(' ').collect();
        let text = |n: usize| words.get(n).copied().unwrap_or_else(|| panic!("cannot read {line:?}")).to_owned();
        match words[0] {
            "lost" => self.losses.push(Loss {
                name: text(1),
                reason: text(2),
                told_at: number(&text(3)),
                valid_until: number(&text(4)),
            }),
            "hold" => self.holds.push(Hold {
                who: format!("{}/{}", self.worker.pid(), text(1)),
                token: number(&text(2)) as u64,
                acquired_at: number(&text(3)),
                ended_at: number(&text(4)),
            }),
            id => {
                let answer = match words.get(1) {
                    Some(&"ok") => Ok(words[2..].iter().map(|w| w.to_string()).collect()),
                    Some(&"err") => Err((text(2), words[3..].join(" "))),
                    _ => panic!("cannot read {line:?}"),
                };
                self.answers.insert(id.parse().unwrap_or_else(|_| panic!("cannot read {line:?}")), answer);
            }
        }
        true
    }
}

/// The grant in an answer to `acquire`; panics when it was refused.
#[track_caller]
pub fn held(answer: Answer) -> Held {
    let values = answer.unwrap_or_else(|e| panic!("not acquired: {e:?}"));
    Held {
        token: number(&values[0]) as u64,
        owner: values[1].clone(),
        acquired_at: number(&values[2]),
        valid_until: number(&values[3]),
    }
}

/// A number that a worker sent.
#[track_caller]
pub fn number(text: &str) -> i64 {
    text.parse().unwrap_or_else(|_| panic!("no number: {text:?}"))
}
