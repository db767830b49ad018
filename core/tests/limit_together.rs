//! Callers of one client that ask at the same time are asked for together, and get what each would have got alone.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
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

async fn poll_once<T>(mut asking: Pin<&mut impl Future<Output = T>>) {
    poll_fn(|context| {
        drop(asking.as_mut().poll(context));
        Poll::Ready(())
    })
    .await;
}

/// As in the body of a loop over a buffered stream, or behind another branch of a `select!`.
#[tokio::test]
async fn a_future_that_is_not_polled_holds_up_no_other() {
    let server = Server::start();
    let limiter = limiter(&server, "api", Rate::new(100, 1_000 * HOUR)).await;
    let ask = |limiter: Arc<RateLimiter>| async move { limiter.try_acquire(1).await.unwrap().allowed };
    for polls in 1..3 {
        let limiter = limiter.clone();
        let task = tokio::spawn(async move {
            let (mut first, mut second) = (pin!(limiter.try_acquire(1)), pin!(limiter.try_acquire(1)));
            poll_once(first.as_mut()).await;
            poll_once(second.as_mut()).await;
            let other = tokio::spawn(ask(limiter.clone()));
            for _ in 1..polls {
                tokio::task::yield_now().await;
                poll_once(second.as_mut()).await;
            }
            let soon = Duration::from_secs(5);
            let here = tokio::time::timeout(soon, limiter.try_acquire(1)).await;
            assert!(here.unwrap_or_else(|_| panic!("in the same task, {polls} polls")).unwrap().allowed);
            let there = tokio::time::timeout(soon, other).await;
            assert!(there.unwrap_or_else(|_| panic!("in another task, {polls} polls")).unwrap());
        });
        task.await.unwrap();
    }
}

#[tokio::test]
async fn who_gives_up_before_it_is_asked_for_spends_nothing() {
    let server = Server::start();
    let limiter = limiter(&server, "api", Rate::new(1_000, 1_000 * HOUR)).await;
    let task = tokio::spawn(async move {
        let mut first = Box::pin(limiter.try_acquire(1));
        poll_once(first.as_mut()).await;
        let mut given_up: Vec<_> = (0..10).map(|_| Box::pin(limiter.try_acquire(1))).collect();
        for one in &mut given_up {
            poll_once(one.as_mut()).await;
        }
        let mut last = Box::pin(limiter.try_acquire(1));
        poll_once(last.as_mut()).await;
        drop(given_up);
        assert!(last.await.unwrap().allowed && first.await.unwrap().allowed);
        assert_eq!(limiter.peek().await.unwrap().remaining, 1_000 - 2);
    });
    task.await.unwrap();
}

/// Each has the whole error, which says of what.
#[tokio::test]
async fn all_of_a_group_have_the_same_error() {
    let server = Server::start();
    let limiter = limiter(&server, "api", Rate::new(100, HOUR)).await;
    server.cmd(&["HSET", "dlock_limit:{api}", "a", "hash"]);
    let ask = |limiter: Arc<RateLimiter>| async move { limiter.try_acquire(1).await.unwrap_err().to_string() };
    let asking: Vec<_> = (0..20).map(|_| tokio::spawn(ask(limiter.clone()))).collect();
    for one in asking {
        let error = one.await.unwrap();
        assert!(error.contains("\"api\"") && error.contains("no rate limit by gcra"), "{error}");
    }
}

/// The runtime of one caller stands still while it is to ask for others, or ends with all that runs on it.
#[test]
fn a_runtime_that_stands_still_holds_up_no_other() {
    let build = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = Server::start();
    let client = Client::blocking_connect(&server.url()).unwrap();
    let limiter = Arc::new(client.rate_limiter("api", Rate::new(1_000, 1_000 * HOUR)).unwrap());
    let ask = |limiter: Arc<RateLimiter>| async move { limiter.try_acquire(1).await.unwrap().allowed };
    for drops in [false, true] {
        let (stands, runs) = (build(), build());
        stands.block_on(async {
            // Each of them is polled once.
            (0..3).for_each(|_| drop(tokio::spawn(ask(limiter.clone()))));
            tokio::task::yield_now().await;
        });
        let stands = Some(stands).filter(|_| !drops);
        runs.block_on(async {
            for _ in 0..5 {
                let asking: Vec<_> = (0..3).map(|_| tokio::spawn(ask(limiter.clone()))).collect();
                for one in asking {
                    let done = tokio::time::timeout(Duration::from_secs(5), one).await;
                    assert!(done.expect("held up by another runtime").unwrap());
                }
            }
        });
        drop(stands);
    }
}

/// Ten thousand that give up at any time leave no caller waiting and take no more than they have asked for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_callers_that_give_up_takes_no_more_than_was_asked() {
    let server = Server::start();
    let limiter = limiter(&server, "api", Rate::new(1_000_000, 1_000 * HOUR)).await;
    let mut finished = 0;
    for round in 0..50 {
        let ask = |limiter: Arc<RateLimiter>, cost| async move { limiter.try_acquire(cost).await.unwrap().granted };
        let asking: Vec<_> = (0..200).map(|at| tokio::spawn(ask(limiter.clone(), 1 + at % 3))).collect();
        tokio::time::sleep(Duration::from_micros(20 * round)).await;
        for (at, one) in asking.iter().enumerate() {
            if mixed(at as u64 + 200 * round).is_multiple_of(2) {
                one.abort();
            }
        }
        for (at, one) in asking.into_iter().enumerate() {
            match tokio::time::timeout(Duration::from_secs(10), one).await.expect("answered") {
                Ok(granted) => {
                    assert_eq!(granted, 1 + at as u64 % 3);
                    finished += granted;
                }
                Err(ended) => assert!(ended.is_cancelled(), "{ended}"),
            }
        }
    }
    let taken = 1_000_000 - limiter.peek().await.unwrap().remaining;
    assert!((finished..=50 * (67 + 2 * 67 + 3 * 66)).contains(&taken), "{taken} taken, {finished} granted");
}

/// The same mix in each run.
fn mixed(seed: u64) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

/// The scripts are forgotten between the requests of groups.
#[tokio::test]
async fn groups_outlive_forgotten_scripts() {
    let server = Server::start();
    let limiter = limiter(&server, "api", Rate::new(100_000, 1_000 * HOUR)).await;
    for round in 1..6 {
        server.cmd(&["SCRIPT", "FLUSH"]);
        let decisions = all_at_once(&limiter, 40, 1).await;
        assert!(decisions.iter().all(|decision| decision.allowed), "round {round}");
        assert_eq!(limiter.peek().await.unwrap().remaining, 100_000 - 40 * round);
    }
}
