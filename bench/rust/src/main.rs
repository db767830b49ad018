//! The Rust worker of `bench/run.py`: see bench/README.md for what it is asked to do and how it answers.
//!
//! `libdlock-bench tasks|blocking WHAT URL CALLERS SECONDS`

mod acquires;
mod blocking;
mod contended;
mod counting;
mod handover;
mod held;
mod keys;
mod latch;
mod loops;
mod protocol;
mod queue;
mod waits;

use std::error::Error;
use std::time::Duration;

use libdlock::Client;
use tokio::runtime::Builder;

/// How long `unequal` holds the lock.
const UNEQUAL_WORK: Duration = Duration::from_millis(2);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [callers_are, what, url, callers, seconds] = arguments.as_slice() else {
        return Err("usage: libdlock-bench tasks|blocking WHAT URL CALLERS SECONDS".into());
    };
    let (callers, length) = (callers.parse()?, Duration::from_secs_f64(seconds.parse()?));
    // One worker thread, as the runtime of the bindings has.
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let client = runtime.block_on(Client::connect(url))?;
    match (callers_are.as_str(), what.as_str()) {
        ("blocking", "pairs") => blocking::pairs(&client, callers, length),
        ("blocking", "acquires") => blocking::acquires(&client, callers, length),
        ("blocking", "contended") => blocking::contended(&client, callers, length),
        ("blocking", "jobs") => blocking::jobs(&client, callers, length),
        ("blocking", "reentry") => blocking::reentry(&client, length),
        (_, "counting") => counting::counting(length),
        ("tasks", what) => runtime.block_on(async {
            match what {
                "contended" => contended::contended(&client, callers, length, Duration::ZERO).await,
                "few_permits" => contended::few_permits(&client, callers, length).await,
                of if of.starts_with("tokens:") => {
                    contended::tokens(&client, of["tokens:".len()..].parse()?, callers, length).await
                }
                "many_reads" | "reads_and_writes" | "writes_now_and_then" => {
                    contended::sides(what, &client, callers, length).await
                }
                "unequal" => contended::contended(&client, callers, length, UNEQUAL_WORK).await,
                "idle" => contended::idle(&client, callers).await,
                "fill" => queue::fill(&client, callers).await,
                "due_puts" => queue::due_puts(&client, callers, length).await,
                "due_takes" => queue::due_takes(&client, callers, length).await,
                "idle_takes" => queue::idle(&client, callers).await,
                "handover" => handover::handover(&client, length).await,
                "latch_waits" => latch::waits(&client, callers).await,
                "latch_opens" => latch::opens(&client).await,
                "hold" => held::hold(&client).await,
                "held" => held::held(&client, callers).await,
                "keys" => keys::keys(&client, callers, "gcra").await,
                of if of.starts_with("keys:") => keys::keys(&client, callers, &of["keys:".len()..]).await,
                "waited" => held::waited(&client, callers).await,
                "lost" => held::lost(&client, callers).await,
                other => loops::run(other, &client, callers, length).await,
            }
        }),
        _ => Err(format!("{callers_are} callers do no {what}").into()),
    }
}
