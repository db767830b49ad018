//! The floor under every measurement: the library's own scripts over bare blocking sockets, and nothing else.
//!
//! No runtime, no watchdog, no time-outs, no retries. What a language needs beyond this is the price of its library.
//!
//! `libdlock-floor MODE WHAT URL CALLERS SECONDS` speaks the worker protocol of bench/README.md. Modes: `sockets`, a thread and
//! a socket for each caller; `pipeline`, one socket on which all callers' requests travel together, as they do in the library;
//! `queue`, for `contended` and `few_permits`, a process of many that want one lock or permits of one semaphore. A URL
//! `redis+quorum://` has several servers: every caller, or all of them together, has a socket to each.

/// What stands in front of each script: how it publishes.
macro_rules! prelude {
    () => {
        "local PUBLISH = 'PUBLISH'\n"
    };
}

mod bloom;
mod decisions;
mod jobs;
mod lock;
mod pairs;
mod permits;
mod pings;
#[path = "../../rust/src/protocol.rs"]
mod protocol;
mod queue;
mod resp;
mod rounds;
#[path = "../../rust/src/waits.rs"]
mod waits;

use std::io;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use bloom::Bloom;
use decisions::Decisions;
use jobs::Jobs;
use pairs::Pairs;
use pings::Pings;
use resp::Connection;
use rounds::Rounds;

/// What some callers that share a socket do, again and again.
trait Work: Send {
    /// Every caller does it once; returns how many there are.
    fn round(&mut self) -> io::Result<usize>;
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, what, url, callers, seconds] = arguments.as_slice() else {
        eprintln!("usage: libdlock-floor MODE WHAT URL CALLERS SECONDS");
        std::process::exit(2);
    };
    let addresses = url.trim_start_matches("redis+quorum://").trim_start_matches("redis://");
    let addresses: Vec<&str> = addresses.split(['/', '?']).next().unwrap_or_default().split(',').collect();
    let address = addresses[0];
    let callers: usize = callers.parse().map_err(io::Error::other)?;
    let length = Duration::from_secs_f64(seconds.parse().map_err(io::Error::other)?);
    if mode == "queue" {
        return match what.as_str() {
            "few_permits" => permits::contend(address, callers, length),
            _ => queue::contend(address, callers, length),
        };
    }
    // Callers on each socket: the first caller's number and how many follow.
    let sockets: Vec<(usize, usize)> = match mode.as_str() {
        "sockets" => (0..callers).map(|caller| (caller, 1)).collect(),
        "pipeline" => vec![(0, callers)],
        other => return Err(io::Error::other(format!("{other:?} is neither sockets nor pipeline"))),
    };

    let mut workers = Vec::new();
    for (first, count) in sockets {
        let connection = || Connection::open(address);
        let mut worker: Box<dyn Work> = match what.as_str() {
            "pairs" | "acquires" if addresses.len() > 1 => {
                Box::new(Rounds::new(&addresses, first, count, what == "pairs")?)
            }
            "pairs" => Box::new(Pairs::new(connection()?, first, count)?),
            "decisions" => Box::new(Decisions::new(connection()?, count, "gcra")?),
            of if of.starts_with("decisions:") => {
                Box::new(Decisions::new(connection()?, count, &of["decisions:".len()..])?)
            }
            "bloom_add" | "bloom_contains" => Box::new(Bloom::new(connection()?, what == "bloom_add")?),
            "jobs" | "job_batches" => Box::new(Jobs::new(connection()?, first, count, what == "job_batches")?),
            "pings" => Box::new(Pings(connection()?)),
            other => return Err(io::Error::other(format!("there is no {other:?}"))),
        };
        worker.round()?; // connections and keys are warm before the clock starts
        workers.push(worker);
    }
    protocol::ready()?;

    let start_line = Barrier::new(workers.len());
    let begun = Instant::now();
    let counts: Vec<io::Result<usize>> = thread::scope(|scope| {
        let threads: Vec<_> = workers
            .into_iter()
            .map(|mut worker| {
                let start_line = &start_line;
                scope.spawn(move || {
                    start_line.wait();
                    let mut done = 0;
                    while begun.elapsed() < length {
                        done += worker.round()?;
                    }
                    Ok(done)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a caller panicked")).collect()
    });
    let taken = begun.elapsed().as_secs_f64();
    let done: usize = counts.into_iter().sum::<io::Result<usize>>()?;
    protocol::answer(&format!(r#"{{"done": {done}, "seconds": {taken:.6}}}"#))
}
