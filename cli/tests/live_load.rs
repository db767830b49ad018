//! What the live view costs a server with ten thousand locks, of which a thousand change hands each second.

mod common;
#[path = "common/served.rs"]
mod served;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{PATIENCE, at};
use libdlock_testkit::{Server, eventually};
use served::Served;

const LOCKS: usize = 10_000;
const CHANGES: usize = 1_000;

/// How long the server's time is measured, without the view and with it.
const SPAN: Duration = Duration::from_secs(5);

/// Grants some locks, as the library's script does: the holder, its lease, and the token, which is the server's time.
const GRANT: &str = "local time = redis.call('TIME') for _, number in ipairs(ARGV) do local name = 'orders/' .. number \
    redis.call('DEL', name) redis.call('HSET', name, '3e9b9a5c-6f34-4b9a-8d5e-0a1b2c3d4e5f:' .. number, '1') \
    redis.call('PEXPIRE', name, 600000) \
    redis.call('SET', 'redisson_lock_token:{' .. name .. '}', string.format('%.0f', time[1] * 1000000 + time[2] + number % 100), 'PX', 3600000) end";

fn grant(server: &Server, numbers: impl Iterator<Item = usize>) {
    let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
    let words = ["EVAL", GRANT, "0"].into_iter().chain(numbers.iter().map(String::as_str));
    server.cmd(&words.collect::<Vec<_>>());
}

/// Processor time of the server so far, in seconds.
fn spent(server: &Server) -> f64 {
    let info = server.cmd(&["INFO", "cpu"]);
    let of = |field: &str| -> f64 {
        let line = info.text().lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        line.expect("a field").trim().parse().expect("a number")
    };
    of("used_cpu_user") + of("used_cpu_sys")
}

/// The part of a processor that the server takes over a while.
fn share(server: &Server) -> f64 {
    let (before, began) = (spent(server), Instant::now());
    thread::sleep(SPAN);
    (spent(server) - before) / began.elapsed().as_secs_f64()
}

#[test]
fn ten_thousand_locks_cost_a_server_little() {
    let server = Server::options().rights(vec!["+scan".to_owned()]).start();
    for start in (0..LOCKS).step_by(500) {
        grant(&server, start..start + 500);
    }
    thread::scope(|scope| {
        let goes_on = Arc::new(AtomicBool::new(true));
        let (server, on) = (&server, goes_on.clone());
        scope.spawn(move || {
            // Ten at a time, each lock every ten seconds, in an order that is not that of the names.
            let (began, mut done) = (Instant::now(), 0);
            while on.load(Ordering::Relaxed) {
                let due = (began.elapsed().as_secs_f64() * CHANGES as f64) as usize;
                while done + 10 <= due {
                    grant(server, (done..done + 10).map(|number| number * 7 % LOCKS));
                    done += 10;
                }
                thread::sleep(Duration::from_millis(5));
            }
        });
        let without = share(server);
        let served = Served::start(at(server, &["serve"]));
        let state = || served.json("/api/state?limit=1");
        eventually(PATIENCE, "all locks are seen", || state()["matching"] == LOCKS && state()["complete"] == true);
        let with = share(server);
        let state = state();
        let rate = state["grants_per_second"].as_f64().unwrap();
        goes_on.store(false, Ordering::Relaxed);
        println!(
            "without {:.1} %, with {:.1} %: {:.1} % for the view, {:.1} % as it says; a sweep in {} ms; {rate} grants/s",
            without * 100.0,
            with * 100.0,
            (with - without) * 100.0,
            state["server_share"].as_f64().unwrap() * 100.0,
            state["sweep_ms"]
        );
        assert!(with - without < 0.05, "the view costs {} of a processor", with - without);
        assert!(state["sweep_ms"].as_u64().unwrap() < 20_000, "it still is a live view: {state}");
        assert!((600.0..1_500.0).contains(&rate), "{CHANGES} a second are told as {rate}");
    });
}
