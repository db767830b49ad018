//! What the live view costs a server with ten thousand locks, of which a thousand change hands each second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::at;
use crate::common::served::Served;
use libdlock_testkit::{Server, eventually};

const LOCKS: usize = 10_000;
const CHANGES: usize = 1_000;

/// How long the server's time is measured, without the view and with it.
const SPAN: Duration = Duration::from_secs(5);

/// A sweep takes a few seconds by its pace, and longer where this machine is too busy to read what the server answers.
const SWEEPS: Duration = Duration::from_secs(120);

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
        let (goes_on, granted) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
        let (server, on, count) = (&server, goes_on.clone(), granted.clone());
        scope.spawn(move || {
            // Ten at a time, each lock every ten seconds, in an order that is not that of the names.
            let began = Instant::now();
            while on.load(Ordering::Relaxed) {
                let due = (began.elapsed().as_secs_f64() * CHANGES as f64) as usize;
                while count.load(Ordering::Relaxed) + 10 <= due {
                    let done = count.fetch_add(10, Ordering::Relaxed);
                    grant(server, (done..done + 10).map(|number| number * 7 % LOCKS));
                }
                thread::sleep(Duration::from_millis(5));
            }
        });
        let without = share(server);
        let served = Served::start(at(server, &["serve"]));
        let state = || served.json("/api/state?limit=1");
        let (before, began) = (granted.load(Ordering::Relaxed), Instant::now());
        // The first sweep asks what kind each object is, and only the second sees tokens change.
        let is_seen = || {
            let state = state();
            state["matching"] == LOCKS && state["complete"] == true && state["sweeps"].as_u64() > Some(2)
        };
        eventually(SWEEPS, "all locks are seen three times", is_seen);
        let with = share(server);
        let rate = (granted.load(Ordering::Relaxed) - before) as f64 / began.elapsed().as_secs_f64();
        goes_on.store(false, Ordering::Relaxed);
        let state = state();
        let told = state["grants_per_second"].as_f64().unwrap();
        println!(
            "without {:.1} %, with {:.1} %: {:.1} % for the view, {:.1} % as it says; a sweep in {} ms; {rate:.0} grants/s, \
             told as {told}",
            without * 100.0,
            with * 100.0,
            (with - without) * 100.0,
            state["server_share"].as_f64().unwrap() * 100.0,
            state["sweep_ms"]
        );
        assert!(with - without < 0.05, "the view costs {} of a processor", with - without);
        assert!(state["server_share"].as_f64().unwrap() < 0.05, "{state}");
        assert!(told > 0.0 && told < 1.4 * rate, "{rate} a second, shown {told}");
    });
}
