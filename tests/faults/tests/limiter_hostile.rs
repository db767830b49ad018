//! Every algorithm of limiters meets numbers at the ends of their ranges, lost replies, and a server's clock that is set back.

use std::time::Duration;

use libdlock::limit::Algorithm;
use libdlock::{Client, Decision, ErrorKind, Rate, RateLimiter, Result, Wait};
use libdlock_faults::limiters::{OWN, check_words};
use libdlock_faults::{SOON, bounded, client, kind};
use libdlock_testkit::{Action, Proxy, Server};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);
const CENTURY: Duration = Duration::from_secs(100 * 31_557_600);
const REDISSON: [Algorithm; 2] = [Algorithm::Redisson { per_client: false }, Algorithm::Redisson { per_client: true }];

fn all() -> impl Iterator<Item = Algorithm> {
    OWN.into_iter().chain(REDISSON)
}

fn is_redisson(by: Algorithm) -> bool {
    matches!(by, Algorithm::Redisson { .. })
}

/// A key of the limiter `api` that each of its scripts names.
fn key(by: Algorithm) -> &'static str {
    if is_redisson(by) { "{api}:value" } else { "dlock_limit:{api}" }
}

fn limiter(client: &Client, rate: Rate) -> RateLimiter {
    client.rate_limiter("api", rate).expect("a limiter")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn costs_and_rates_at_the_ends_have_answers_by_each_algorithm() {
    let server = Server::start();
    for client in [client(&server.url()).await, client("memory://").await] {
        for by in all() {
            let most = if by == Algorithm::SlidingLog { 100_000 } else { 1_000_000_000 };
            let shortest = if is_redisson(by) { Duration::from_millis(1) } else { Duration::from_micros(1) };
            for (at, (tokens, per)) in
                [(3, HOUR), (1, CENTURY), (1, shortest), (most, shortest), (most, CENTURY)].into_iter().enumerate()
            {
                let name = format!("{by:?} {at}");
                let limiter = client.rate_limiter(&name, Rate::new(tokens, per).by(by)).expect("a limiter");
                let what = |decision: &Decision| format!("{name}: {decision:?}");
                // 0 looks and spends nothing, in every call.
                for _ in 0..2 {
                    let looked = limiter.try_acquire(0).await.expect("answered");
                    assert_eq!(
                        (looked.allowed, looked.granted, looked.remaining),
                        (true, 0, tokens),
                        "{}",
                        what(&looked)
                    );
                    let looked = limiter.acquire(0, Wait::Forever).await.expect("answered");
                    assert_eq!((looked.allowed, looked.granted), (true, 0), "{}", what(&looked));
                }
                // What can never be had is refused at once, also by a wait without end, and leaves nothing behind.
                for cost in [tokens + 1, u64::from(u32::MAX) + 1, u64::MAX] {
                    let mut never = vec![limiter.try_acquire(cost).await.expect("answered")];
                    never.push(bounded(SOON, "never", limiter.acquire(cost, Wait::Forever)).await.expect("answered"));
                    if !is_redisson(by) {
                        never.push(limiter.reserve(cost, Wait::Forever).await.expect("answered"));
                    }
                    for never in never {
                        let told = (never.allowed, never.granted, never.retry_after, never.remaining);
                        assert_eq!(told, (false, 0, None, tokens), "{cost} {}", what(&never));
                        assert!(never.usable_after.is_zero(), "{cost} {}", what(&never));
                    }
                    let many = limiter.try_acquire_many(&[("k", cost)]).await.expect("answered");
                    assert_eq!(many[0].as_ref().expect("answered").retry_after, None, "{name}");
                }
                let all = limiter.try_acquire(tokens).await.expect("answered");
                assert_eq!((all.allowed, all.granted, all.limit), (true, tokens, tokens), "{}", what(&all));
                if per < SECOND {
                    // However short the period is, a wait for all tokens ends.
                    let next = bounded(SOON, "its turn", limiter.acquire(tokens, Wait::For(SOON))).await;
                    assert!(next.expect("answered").allowed, "{name}");
                } else {
                    let refused = limiter.try_acquire(tokens).await.expect("answered");
                    assert!(
                        !refused.allowed && refused.retry_after.is_some_and(|after| after <= 2 * per),
                        "{}",
                        what(&refused)
                    );
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rates_beyond_the_ends_are_refused_by_each_algorithm() {
    let client = client("memory://").await;
    for by in all() {
        let mut beyond = vec![
            Rate::new(1, Duration::ZERO),
            Rate::new(1, CENTURY + Duration::from_millis(1)),
            Rate::new(1, Duration::MAX),
            Rate::new(1, Duration::from_nanos(1_500)),
            Rate::new(1_000_000_000_001, SECOND),
            Rate::new(u64::MAX, SECOND),
            Rate::new(1, SECOND).burst(0),
            Rate::new(1, SECOND).burst(u64::MAX),
        ];
        if is_redisson(by) {
            beyond.extend([Rate::new(0, SECOND), Rate::new(1 << 32, SECOND), Rate::new(1, Duration::from_micros(1))]);
        } else {
            let nothing = limiter(&client, Rate::new(0, SECOND).by(by));
            let refused = bounded(SOON, "never", nothing.acquire(1, Wait::Forever)).await.expect("answered");
            assert_eq!((refused.allowed, refused.retry_after, refused.limit), (false, None, 0), "{by:?}");
            // Of nothing, nothing can be taken or given back.
            for told in [nothing.penalty(1).await, nothing.reward(1).await] {
                assert_eq!(kind(told), ErrorKind::InvalidArgument, "{by:?}");
            }
        }
        for rate in beyond {
            let refused = client.rate_limiter("api", rate.by(by)).expect_err("refused");
            assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{rate:?}");
            assert!(refused.allowed().is_some(), "{refused}");
            check_words(&refused);
        }
    }
}

/// The call whose reply is lost, after which so many tokens are left.
async fn unknown<T>(
    proxy: &Proxy,
    limiter: &RateLimiter,
    what: &str,
    call: impl Future<Output = Result<T>>,
    left: u64,
) {
    let by = limiter.rates()[0].algorithm();
    let fault = proxy.on(&["EVALSHA", key(by)], Action::CutReply(0));
    let error = bounded(SOON, "an answer", call).await.map(drop).expect_err(what);
    assert_eq!((error.kind(), fault.hits()), (ErrorKind::OutcomeUnknown, 1), "{by:?} {what}: {error}");
    check_words(&error);
    let seen = bounded(SOON, "an answer", limiter.peek()).await.expect("answered");
    assert_eq!(seen.remaining, left, "{by:?} {what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_reply_is_spent_once_by_each_algorithm() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = client(&proxy.url()).await;
    for by in all() {
        server.cmd(&["FLUSHALL"]);
        let limiter = limiter(&client, Rate::new(10, HOUR).by(by));
        // The server is to know the scripts: else the reply that is lost is that it does not.
        if !is_redisson(by) {
            limiter.reward(1).await.expect("done");
            limiter.block(Duration::ZERO).await.expect("done");
        }
        limiter.reset().await.expect("done");
        assert_eq!(limiter.try_acquire(1).await.expect("answered").remaining, 9, "{by:?}");
        let mut left = 9;
        left -= 1;
        unknown(&proxy, &limiter, "try_acquire", limiter.try_acquire(1), left).await;
        left -= 1;
        unknown(&proxy, &limiter, "acquire", limiter.acquire(1, Wait::Forever), left).await;
        if !is_redisson(by) {
            left -= 1;
            unknown(&proxy, &limiter, "reserve", limiter.reserve(1, Wait::Forever), left).await;
            left -= 2;
            unknown(&proxy, &limiter, "penalty", limiter.penalty(2), left).await;
            left += 1;
            unknown(&proxy, &limiter, "reward", limiter.reward(1), left).await;
            // Idempotent, so it is sent again.
            let fault = proxy.on(&["EVALSHA", key(by)], Action::CutReply(0));
            bounded(SOON, "an answer", limiter.block(HOUR)).await.expect("blocked");
            assert_eq!(fault.hits(), 1);
            assert_eq!(limiter.try_acquire(1).await.expect("answered").refused_by, None, "{by:?}");
        }
        unknown(&proxy, &limiter, "reset", limiter.reset(), 10).await;
    }
}

/// The server's clock is set back under each algorithm: what is counted, reserved and blocked stays as far ahead as it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_back_locks_nobody_out_by_any_algorithm() {
    for back in [Duration::from_millis(3), 3 * SECOND, HOUR] {
        let (server, clock) = Server::with_clock();
        let client = client(&server.url()).await;
        for by in all() {
            let per = 20 * SECOND;
            let name = format!("{by:?}");
            let limiter = client.rate_limiter(&name, Rate::new(2, per).by(by)).expect("a limiter");
            let blocked = client.rate_limiter(&format!("{name} blocked"), Rate::new(2, per).by(by)).expect("a limiter");
            assert!(limiter.try_acquire(2).await.expect("answered").allowed, "{by:?}");
            let reserved = !is_redisson(by);
            if reserved {
                assert!(limiter.reserve(2, Wait::Forever).await.expect("answered").allowed, "{by:?}");
                blocked.block(per).await.expect("blocked");
            }
            clock.advance(-(back.as_micros() as i64));
            // An aligned window may lie whole windows ahead, in whose course the clock now is: one more than without.
            // Redisson's log is kept in milliseconds.
            let bound = if reserved { 4 * per } else { per + Duration::from_millis(2) };
            let refused = limiter.try_acquire(1).await.expect("answered");
            assert!(!refused.allowed, "{by:?} after -{back:?}: nothing is forgiven: {refused:?}");
            assert!(refused.retry_after.is_some_and(|after| after <= bound), "{by:?} after -{back:?}: {refused:?}");
            if reserved {
                let refused = blocked.try_acquire(1).await.expect("answered");
                assert_eq!((refused.allowed, refused.remaining), (false, 0), "{by:?} after -{back:?}: {refused:?}");
                assert!(refused.retry_after.is_some_and(|after| after <= per), "{by:?} after -{back:?}: {refused:?}");
            }
            clock.advance(bound.as_micros() as i64);
            assert!(limiter.try_acquire(1).await.expect("answered").allowed, "{by:?} after -{back:?}");
        }
    }
}
