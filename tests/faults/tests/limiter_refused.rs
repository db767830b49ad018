//! Limiters while the server has no memory left, or the user lacks a right. Whichever algorithm counts, and whatever
//! is asked, nothing is half done; but for a missing right under a sliding log.

use std::time::Duration;

use libdlock::limit::Algorithm;
use libdlock::{Client, ErrorKind, Rate, RateLimiter, Result, Wait};
use libdlock_faults::client;
use libdlock_faults::limiters::OWN;
use libdlock_testkit::Server;

const HOUR: Duration = Duration::from_secs(3_600);
const CALLS: usize = 6;

/// One rate by each algorithm, and two by each of two.
fn rates() -> Vec<Vec<Rate>> {
    let hourly = |by| Rate::new(10, HOUR).by(by);
    let daily = |by| Rate::new(20, 24 * HOUR).by(by);
    let mut all: Vec<Vec<Rate>> = OWN.iter().map(|by| vec![hourly(*by)]).collect();
    all.extend(OWN.iter().map(|by| vec![hourly(Algorithm::Gcra), daily(*by)]));
    all.extend(OWN.iter().map(|by| vec![hourly(*by), daily(Algorithm::Gcra)]));
    all
}

fn limiter(client: &Client, rates: &[Rate]) -> RateLimiter {
    client.rate_limiter("api", rates).expect("a limiter")
}

async fn call(limiter: &RateLimiter, which: usize) -> Result<()> {
    match which {
        0 => limiter.try_acquire(2).await.map(drop),
        1 => limiter.reserve(2, Wait::Forever).await.map(drop),
        2 => limiter.penalty(3).await,
        // Of a log, more than its last entry.
        3 => limiter.reward(3).await,
        4 => limiter.block(HOUR).await,
        _ => limiter.reset().await,
    }
}

/// What all keys hold.
fn contents(server: &Server) -> Vec<(String, String)> {
    let mut keys = server.keys();
    keys.sort();
    let held = |key: &String| match server.cmd(&["TYPE", key]).text() {
        "list" => {
            let entries = server.cmd(&["LRANGE", key, "0", "-1"]);
            entries.array().iter().map(|entry| entry.text().to_owned()).collect::<Vec<_>>().join(",")
        }
        _ => server.cmd(&["GET", key]).text().to_owned(),
    };
    keys.iter().map(|key| (key.clone(), held(key))).collect()
}

/// Two charges of 2 tokens, and what the keys hold then.
async fn charged(server: &Server, admin: &Client, rates: &[Rate]) -> Vec<(String, String)> {
    server.cmd(&["FLUSHDB"]);
    for _ in 0..2 {
        assert!(limiter(admin, rates).try_acquire(2).await.expect("answered").allowed);
    }
    contents(server)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_memory_no_call_of_a_limiter_is_half_done() {
    let server = Server::options().maxmemory(0).start();
    let client = client(&server.url()).await;
    for rates in rates() {
        for which in 0..CALLS {
            let before = charged(&server, &client, &rates).await;
            let limiter = limiter(&client, &rates);
            server.cmd(&["CONFIG", "SET", "maxmemory", "1"]);
            let called = call(&limiter, which).await;
            server.cmd(&["CONFIG", "SET", "maxmemory", "0"]);
            match called {
                // What only frees memory is done.
                Ok(()) => assert!(which == 3 || which == 5, "{rates:?} {which}"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{rates:?} {which}: {error}");
                    assert_eq!(contents(&server), before, "{rates:?} {which}: nothing is changed");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_that_is_missing_is_told_and_halves_no_single_write() {
    const COMMANDS: [&str; 11] =
        ["get", "set", "del", "exists", "type", "pexpire", "lindex", "llen", "lset", "ltrim", "rpop"];
    let rules = "app on >secret ~* &* +eval +evalsha +time +ping +info +rpush";
    let every = COMMANDS.map(|command| format!(" +{command}")).concat();
    let server = Server::options().user(&format!("{rules}{every}")).start();
    let admin = client(&server.url()).await;
    let client = client(&format!("redis://app:secret@{}", server.address())).await;
    let mut refused = 0;
    for command in COMMANDS.into_iter().chain(["rpush"]) {
        for rates in rates() {
            for which in 0..CALLS {
                let before = charged(&server, &admin, &rates).await;
                server.cmd(&["ACL", "SETUSER", "app", &format!("-{command}")]);
                let called = call(&limiter(&client, &rates), which).await;
                server.cmd(&["ACL", "SETUSER", "app", &format!("+{command}")]);
                let Err(error) = called else { continue };
                refused += 1;
                assert_eq!(error.kind(), ErrorKind::NoPermission, "-{command} {rates:?} {which}: {error}");
                let after = contents(&server);
                // A log is written by several commands, of which the first may be allowed and another not.
                let in_one = rates.iter().all(|rate| rate.algorithm() != Algorithm::SlidingLog);
                assert!(!in_one || after == before, "-{command} {rates:?} {which}: {before:?} became {after:?}");
            }
        }
    }
    assert!(refused > 100, "{refused} refused");
}

/// An entry is pushed with its text: what a missing right leaves is a log, and the right to set an entry is not needed for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sliding_log_is_readable_when_a_right_is_missing() {
    let server = Server::options().user("app on >secret ~* &* +@all -lset").start();
    let client = client(&format!("redis://app:secret@{}", server.address())).await;
    let limiter = limiter(&client, &[Rate::new(10, HOUR).by(Algorithm::SlidingLog)]);
    for left in [8, 6] {
        assert_eq!(limiter.try_acquire(2).await.expect("allowed without +lset").remaining, left);
    }
}
