//! The Rust worker of `bench/run.py`: see bench/README.md for what it is asked to do and how it answers.
//!
//! `libdlock-bench WHAT URL CALLERS SECONDS`

mod contended;
mod handover;
mod held;
mod loops;
mod protocol;
mod waits;

use std::error::Error;
use std::time::Duration;

use libdlock::Client;

// One worker thread, as the runtime of the bindings has.
#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, url, callers, seconds] = arguments.as_slice() else {
        return Err("usage: libdlock-bench WHAT URL CALLERS SECONDS".into());
    };
    let (callers, length) = (callers.parse()?, Duration::from_secs_f64(seconds.parse()?));
    let client = Client::connect(url).await?;
    match what.as_str() {
        "contended" => contended::contended(&client, callers, length).await,
        "idle" => contended::idle(&client, callers).await,
        "handover" => handover::handover(&client, length).await,
        "hold" => held::hold(&client).await,
        "held" => held::held(&client, callers).await,
        "lost" => held::lost(&client, callers).await,
        other => loops::run(other, &client, callers, length).await,
    }
}
