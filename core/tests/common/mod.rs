//! What the tests of the primitives share: a client on `memory://` whose clock the test moves.

pub mod held;
pub mod quorum;
pub mod rules;

use libdlock::{Client, Config, ManualClock};

/// A client with a store of its own, and its clock.
pub async fn client() -> (Client, ManualClock) {
    let clock = ManualClock::new();
    let mut config = Config::from_url("memory://").unwrap();
    config.clock(clock.clone()).unwrap();
    (Client::connect_with(config).await.unwrap(), clock)
}

/// Lets the tasks that are ready run: with a clock that stands still there is nothing else to wait for.
pub async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}
