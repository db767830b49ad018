//! Callers of one client that ask at the same time are asked for together, and get what each would have got alone.

use std::sync::Arc;
use std::time::Duration;

use libdlock::limit::Algorithm;
use libdlock::{Client, Decision, ErrorKind, Rate, RateLimiter};
use libdlock_testkit::Server;

const HOUR: Duration = Duration::from_secs(3_600);
const OWN: [Algorithm; 5] = [
    Algorithm::Gcra,
    Algorithm::FixedWindow,
    Algorithm::AlignedWindow,
    Algorithm::SlidingLog,
    Algorithm::SlidingCounter,
];

async fn limiter(server: &Server, name: &str, rate: Rate) -> Arc<RateLimiter> {
    let client = Client::connect(&server.url()).await.unwrap();
    Arc::new(client.rate_limiter(name, rate).unwrap())
}

fn scripts(server: &Server) -> u64 {
    let stats = server.cmd(&["INFO", "commandstats"]);
    let calls = stats.text().split("cmdstat_evalsha:calls=").nth(1);
    calls.map_or(0, |calls| calls.split(',').next().unwrap().parse().unwrap())
}

/// So many at once, each for so many tokens.
async fn all_at_once(limiter: &Arc<RateLimiter>, callers: usize, cost: u64) -> Vec<Decision> {
    let ask = |limiter: Arc<RateLimiter>| async move { limiter.try_acquire(cost).await.unwrap() };
    let asking: Vec<_> = (0..callers).map(|_| tokio::spawn(ask(limiter.clone()))).collect();
    let mut decisions = Vec::new();
    for one in asking {
        decisions.push(one.await.unwrap());
    }
    decisions
}

#[tokio::test]
async fn callers_of_one_moment_need_few_scripts() {
    let server = Server::start();
    for by in OWN {
        let limiter = limiter(&server, by.as_str(), Rate::new(10_000, 1_000 * HOUR).by(by)).await;
        limiter.try_acquire(1).await.unwrap();
        let before = scripts(&server);
        let decisions = all_at_once(&limiter, 64, 2).await;
        assert!(decisions.iter().all(|decision| decision.allowed && decision.granted == 2));
        let asked = scripts(&server) - before;
        assert!(asked <= 8, "{asked} scripts for 64 callers by {by:?}");
        assert_eq!(limiter.peek().await.unwrap().remaining, 10_000 - 1 - 128, "{by:?}");
    }
}

#[tokio::test]
async fn as_many_are_allowed_as_there_are_tokens() {
    let server = Server::start();
    for by in OWN {
        let limiter = limiter(&server, by.as_str(), Rate::new(100, 1_000 * HOUR).by(by)).await;
        let mut allowed = 0;
        for _ in 0..6 {
            allowed += all_at_once(&limiter, 7, 3).await.iter().filter(|decision| decision.allowed).count();
        }
        assert_eq!(allowed, 33, "{by:?}");
        assert_eq!(limiter.peek().await.unwrap().remaining, 1, "{by:?}");
    }
}

/// Whoever is to ask for the others gives up before it has.
#[tokio::test]
async fn a_caller_that_gives_up_leaves_no_other_waiting() {
    let server = Server::start();
    let limiter = limiter(&server, "api", Rate::new(100_000, 1_000 * HOUR)).await;
    for _ in 0..50 {
        let ask = |limiter: Arc<RateLimiter>| async move { limiter.try_acquire(1).await.unwrap().allowed };
        let asking: Vec<_> = (0..12).map(|_| tokio::spawn(ask(limiter.clone()))).collect();
        tokio::task::yield_now().await;
        for given_up in asking.iter().step_by(3) {
            given_up.abort();
        }
        for (at, one) in asking.into_iter().enumerate() {
            let answer = tokio::time::timeout(Duration::from_secs(5), one).await.expect("answered");
            assert!(at % 3 == 0 || answer.unwrap());
        }
    }
}

#[tokio::test]
async fn all_are_told_what_failed() {
    let server = Server::start();
    let limiter = limiter(&server, "api", Rate::new(100, HOUR)).await;
    server.cmd(&["HSET", "dlock_limit:{api}", "a", "hash"]);
    let ask = |limiter: Arc<RateLimiter>| async move { limiter.try_acquire(1).await.unwrap_err().kind() };
    let asking: Vec<_> = (0..20).map(|_| tokio::spawn(ask(limiter.clone()))).collect();
    for one in asking {
        assert_eq!(one.await.unwrap(), ErrorKind::WrongType);
    }
}
