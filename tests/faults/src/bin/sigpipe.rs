//! A host that does not ignore SIGPIPE: 32 threads that take and release locks until told to end, while its server is killed
//! and started again. `dlock-sigpipe URL` says `ready`, then `again` for each line on its input once calls succeed, and ends
//! with its input. A write that raises SIGPIPE ends it by that signal.

use std::{
    io::BufRead,
    process::ExitCode,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use libdlock::Client;
use libdlock_testkit::{eventually, process::restore_sigpipe};

const THREADS: usize = 32;

fn main() -> ExitCode {
    restore_sigpipe();
    let url = std::env::args().nth(1).expect("usage: dlock-sigpipe URL");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("runtime");
    let client = runtime.block_on(Client::connect(&url)).expect("connect");
    let (done, rounds) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|threads| {
        for thread in 0..THREADS {
            let (client, done, rounds, runtime) = (&client, &done, &rounds, &runtime);
            threads.spawn(move || {
                let lock = client.lock(&format!("job-{thread}")).expect("a name");
                while !done.load(Ordering::Relaxed) {
                    // Half of them on the runtime's connection, half on those of the blocking calls.
                    let pair = async { lock.acquire().await?.release().await };
                    let round = match thread % 2 {
                        0 => client.block_on(pair),
                        _ => runtime.block_on(pair),
                    };
                    // Without a server it fails, which is not what this is about.
                    rounds.fetch_add(u64::from(round.is_ok()), Ordering::Relaxed);
                }
            });
        }
        println!("ready");
        for _ in std::io::stdin().lock().lines() {
            let before = rounds.load(Ordering::Relaxed);
            eventually(Duration::from_secs(20), "calls succeed", || {
                rounds.load(Ordering::Relaxed) >= before + 10 * THREADS as u64
            });
            println!("again");
        }
        done.store(true, Ordering::Relaxed);
    });
    ExitCode::SUCCESS
}
