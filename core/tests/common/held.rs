//! What the tests of very many holds share.

use std::time::Duration;

use libdlock::{Client, Held};
use tokio::task::JoinSet;

/// User and system time that a process has used.
pub fn cpu_time(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace().skip(11).take(2);
    // A tick is 10 ms on Linux.
    Duration::from_millis(fields.map(|ticks| ticks.parse::<u64>().unwrap() * 10).sum())
}

/// Acquires so many locks, by a few tasks, so that nobody counts the memory of as many tasks.
pub async fn acquire_all(client: &Client, locks: usize) -> Vec<Held> {
    const TASKS: usize = 64;
    let mut acquiring = JoinSet::new();
    for task in 0..TASKS {
        let client = client.clone();
        acquiring.spawn(async move {
            let mut held = Vec::with_capacity(locks / TASKS + 1);
            for number in (task..locks).step_by(TASKS) {
                held.push(client.lock(&format!("shelf/{number}")).unwrap().acquire().await.unwrap());
            }
            held
        });
    }
    acquiring.join_all().await.into_iter().flatten().collect()
}
