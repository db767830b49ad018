//! One process that holds very many locks. In a process to itself: it looks at the memory and the threads
//! of that.

use std::time::{Duration, Instant};

use libdlock::Client;
use libdlock_testkit::Server;

use crate::common::held::{acquire_all, cpu_time};

const LOCKS: usize = 100_000;
/// Of `Renew`: a script renews as many.
const CHUNK: usize = 100;

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// Of its own: pages of its program that are touched for the first time belong to no hold.
fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

fn scripts(server: &Server) -> usize {
    let stats = server.cmd(&["INFO", "commandstats"]).text().to_owned();
    let calls = |verb: &str| {
        let line = stats.lines().find_map(|line| line.strip_prefix(verb)?.strip_prefix(":calls="));
        line.map_or(0, |rest| rest.split(',').next().unwrap().parse().unwrap())
    };
    calls("cmdstat_evalsha") + calls("cmdstat_eval")
}

/// `HELD_LEASE_MS=30000 cargo test --release -p libdlock --test core-tests -- held_many --ignored --nocapture` for the default lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[ignore = "long: 100,000 locks through two renewal intervals"]
async fn a_hundred_thousand_holds_cost_little_and_none_is_lost() {
    libdlock_testkit::own_process!();
    let lease_ms = std::env::var("HELD_LEASE_MS").map_or(10_000, |given| given.parse().unwrap());
    let interval = Duration::from_millis(lease_ms) / 3;
    let server = Server::start();
    let client = Client::connect(&format!("{}?lease={lease_ms}ms", server.url())).await.unwrap();
    drop(client.lock("warm").unwrap().acquire().await.unwrap());
    let (threads_before, memory_before) = (threads(), resident_bytes());
    let held = acquire_all(&client, LOCKS).await;
    // The first renewals form the chunks.
    tokio::time::sleep(interval).await;
    for _ in 0..2 {
        let (begun, before, cpu_before) = (Instant::now(), scripts(&server), cpu_time(server.pid()));
        // Looking takes some of it too. In a longer time a chunk that is due at both ends would count twice.
        tokio::time::sleep(interval - interval / 32).await;
        let (sent, took) = (scripts(&server) - before, begun.elapsed());
        let cpu = (cpu_time(server.pid()) - cpu_before).as_secs_f64() / took.as_secs_f64();
        let of_30_s = cpu * lease_ms as f64 / 30_000.0;
        println!("{sent} scripts in {took:?}; server {:.1} % of a core, {:.1} % at 30 s", cpu * 1e2, of_30_s * 1e2);
        assert!(took <= interval && sent <= LOCKS / CHUNK, "{sent} scripts in {took:?}");
    }
    let stats = client.stats().lock;
    assert_eq!((stats.held, stats.lost, stats.renewal_failures), (LOCKS as u64, 0, 0));
    assert!(held.iter().all(|held| held.is_valid()), "none is lost");
    assert_eq!(threads(), threads_before);
    let bytes = resident_bytes().saturating_sub(memory_before) / LOCKS;
    println!("{bytes} bytes each");
    // 1,021 to 1,042 were seen where nothing but the machine was another: the allocator's pages are among them.
    assert!(bytes <= 1100, "{bytes} bytes of memory for each hold");
    client.close().await;
}
