//! Callers that wait for tokens and give up: the limiter is as if they had never asked, on a server and with its answers, which
//! come in another order than the charges were made.

use std::time::{Duration, Instant};

use libdlock::limit::Algorithm;
use libdlock::{Client, Decision, ErrorKind, Rate, RateLimiter, Wait};
use libdlock_testkit::Server;
use tokio::task::JoinSet;

const SOON: Duration = Duration::from_secs(60);
/// Longest time for which a closing client waits for what it owes.
const LEAVING: Duration = Duration::from_millis(50);
const HOUR: Duration = Duration::from_secs(3_600);
const OWN: [Algorithm; 5] = [
    Algorithm::Gcra,
    Algorithm::FixedWindow,
    Algorithm::AlignedWindow,
    Algorithm::SlidingLog,
    Algorithm::SlidingCounter,
];

/// Returns the decision that another client sees.
async fn seen(theirs: &RateLimiter) -> Decision {
    theirs.peek().await.unwrap()
}

/// Looks until it finds this, or for as long as something that is bound to happen may take.
async fn sees(theirs: &RateLimiter, this: impl Fn(&Decision) -> bool) -> bool {
    let end = Instant::now() + SOON;
    while !this(&seen(theirs).await) {
        if Instant::now() > end {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    true
}

/// Callers that wait, with the costs in turn.
fn waiters(limiter: &RateLimiter, callers: usize, costs: &[u64]) -> JoinSet<()> {
    let mut waiters = JoinSet::new();
    for caller in 0..callers {
        let (limiter, cost) = (limiter.clone(), costs[caller % costs.len()]);
        waiters.spawn(async move {
            let error = limiter.acquire(cost, Wait::Forever).await.expect_err("no token comes");
            assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
        });
    }
    waiters
}

/// A client that waits for a busy machine.
async fn client(server: &Server) -> Client {
    let url = format!("{}/?response_timeout=10s&operation_timeout=20s", server.url());
    Client::connect(&url).await.unwrap()
}

/// Has callers of one client wait for a limiter that is used up, ends them by `end`, and asserts that others see nothing of them.
/// `end` says whether it had the time that it needs.
async fn nothing_stays(callers: usize, costs: &[u64], end: impl AsyncFn(Client, &mut JoinSet<()>) -> bool) {
    let server = Server::start();
    let others = client(&server).await;
    let mut open = OWN.to_vec();
    while let Some(by) = open.pop() {
        let rate = Rate::new(90_000, HOUR).by(by);
        let theirs = others.rate_limiter(by.as_str(), rate).unwrap();
        theirs.reset().await.unwrap();
        assert!(theirs.try_acquire(90_000).await.unwrap().allowed);
        // No token comes meanwhile, by any algorithm. 250 come in ten seconds otherwise: of 300 callers 50 reserve nothing.
        theirs.block(HOUR).await.unwrap();
        let before = seen(&theirs).await;
        let ours = client(&server).await;
        let limiter = ours.rate_limiter(by.as_str(), rate).unwrap();
        let mut waiting = waiters(&limiter, callers, costs);
        let waits = sees(&theirs, |now| now.reset_after > before.reset_after).await;
        assert!(waits, "{}: nobody waits: {:?}", by.as_str(), waiting.try_join_next());
        while ours.stats().limiter.waiting < callers as u64 {
            tokio::task::yield_now().await;
        }
        // Behind what they have asked for.
        seen(&limiter).await;
        let had_time = end(ours, &mut waiting).await;
        waiting.join_all().await;
        if !had_time {
            open.push(by);
            continue;
        }
        let gone = |now: &Decision| now.reset_after <= before.reset_after && now.retry_after <= before.retry_after;
        assert!(sees(&theirs, gone).await, "{}: {before:?}, and then {:?}", by.as_str(), seen(&theirs).await);
    }
}

async fn cancel(_client: Client, waiting: &mut JoinSet<()>) -> bool {
    waiting.abort_all();
    while waiting.join_next().await.is_some() {}
    true
}

async fn close(client: Client, _waiting: &mut JoinSet<()>) -> bool {
    let begun = Instant::now();
    client.close().await;
    begun.elapsed() < LEAVING
}

async fn close_releasing(client: Client, _waiting: &mut JoinSet<()>) -> bool {
    client.close_releasing().await.unwrap();
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_that_are_cancelled_leave_nothing() {
    for callers in [1, 10, 100, 300] {
        nothing_stays(callers, &[1], cancel).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_for_different_costs_leave_nothing() {
    nothing_stays(60, &[1, 7, 2], cancel).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_closes_leaves_nothing_of_its_waiters() {
    for callers in [1, 10, 100, 300] {
        nothing_stays(callers, &[1], close).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_closes_releasing_leaves_nothing() {
    for callers in [1, 10, 100, 300] {
        nothing_stays(callers, &[1], close_releasing).await;
    }
}
