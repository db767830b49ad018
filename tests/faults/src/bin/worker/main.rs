//! One process of the fault tests: a client that does what the lines on its standard input say (see `peer.rs` for the
//! protocol). Several requests may be under way at once. It ends when its input does.
//!
//! The verbs are those of the modules, and `wall-clock`, `close`.

mod jobs;
mod locks;
mod numbers;
mod others;
mod resources;
mod semaphores;
mod sets;
mod sides;
mod words;

use std::collections::HashMap;
use std::io::BufRead;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use libdlock::queue::Delivery;
use libdlock::{Client, HeldAll, Lock, Permits, RwHeld, Snowflake, Worker};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use words::{Failure, Kept, failure};

#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() -> ExitCode {
    let Some(url) = std::env::args().nth(1) else {
        eprintln!("usage: dlock-fault-worker URL");
        return ExitCode::FAILURE;
    };
    let client = match Client::connect(&url).await {
        Ok(client) => client,
        Err(e) => {
            println!("failed {} {e}", e.kind().as_str());
            return ExitCode::FAILURE;
        }
    };
    println!("ready");
    let (sender, mut lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || std::io::stdin().lock().lines().map_while(Result::ok).try_for_each(|l| sender.send(l)));
    let process = Arc::new(Process {
        url,
        client,
        locks: Mutex::default(),
        taken: Kept::default(),
        sides: Kept::default(),
        sets: Kept::default(),
        jobs: Default::default(),
        number: Mutex::default(),
        check: Default::default(),
        is_over: AtomicBool::new(false),
    });
    while let Some(line) = lines.recv().await {
        let process = process.clone();
        tokio::spawn(async move {
            let (id, request) = line.split_once(' ').expect("<id> <verb> ...");
            match process.run(request).await {
                Ok(values) => println!("{id} ok {values}"),
                Err((kind, message)) => println!("{id} err {kind} {message}"),
            }
        });
    }
    ExitCode::SUCCESS
}

struct Process {
    url: String,
    client: Client,
    /// Every lock that was asked for: a lock that nobody has at hand any more is abandoned, and with it what it holds.
    locks: Mutex<HashMap<String, Lock>>,
    taken: Kept<Permits>,
    sides: Kept<RwHeld>,
    sets: Kept<HeldAll>,
    jobs: tokio::sync::Mutex<Vec<Delivery>>,
    /// The worker number that was leased last.
    number: Mutex<Option<(Worker, Snowflake)>>,
    /// What the first look at a hold after a stop of this process saw.
    check: tokio::sync::Mutex<Option<JoinHandle<bool>>>,
    /// Whether those who take part are to come to an end.
    is_over: AtomicBool,
}

impl Process {
    fn lock(&self, name: &str) -> Result<Lock, Failure> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = locks.get(name) {
            return Ok(lock.clone());
        }
        let lock = self.client.lock(name).map_err(failure)?;
        locks.insert(name.to_owned(), lock.clone());
        Ok(lock)
    }

    async fn run(&self, request: &str) -> Result<String, Failure> {
        let words: Vec<&str> = request.split(' ').collect();
        match words[..] {
            ["wall-clock"] => {
                let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
                return Ok(now.as_micros().to_string());
            }
            ["close"] => {
                self.client.close().await;
                return Ok(String::new());
            }
            _ => {}
        }
        if let Some(values) = locks::run(self, &words).await? {
            return Ok(values);
        }
        if let Some(values) = resources::run(&words).await? {
            return Ok(values);
        }
        if let Some(values) = semaphores::run(self, &words).await? {
            return Ok(values);
        }
        if let Some(values) = sides::run(self, &words).await? {
            return Ok(values);
        }
        if let Some(values) = sets::run(self, &words).await? {
            return Ok(values);
        }
        if let Some(values) = jobs::run(self, &words).await? {
            return Ok(values);
        }
        if let Some(values) = numbers::run(self, &words).await? {
            return Ok(values);
        }
        if let Some(values) = others::run(self, &words).await? {
            return Ok(values);
        }
        panic!("cannot read {request:?}")
    }
}
