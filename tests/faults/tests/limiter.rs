//! faults.md 35, 37, 38, and 7's half for limiters: many clients on one bucket, lost replies, spoilt state, an absent server.

use std::time::{Duration, Instant, SystemTime};

use libdlock::{Absent, Client, Decision, ErrorKind, LimiterOptions, Rate, RateLimiter, Wait};
use libdlock_faults::{Peer, SLACK, SOON, bounded, client, kind, with_options, worker};
use libdlock_testkit::{Action, Proxy, Server};

const HOUR: Duration = Duration::from_secs(3600);
const KEY: &str = "dlock_limit:{api}";

fn api(client: &Client, rate: Rate) -> RateLimiter {
    client.rate_limiter("api", rate).expect("a limiter")
}

/// Asserts that no window holds more than the burst and what the rate brings in it, by the server's clock.
fn check_windows(rate: Rate, grants: &mut [(SystemTime, u64)]) {
    grants.sort_unstable();
    let bound = |window: Duration| {
        u128::from(rate.limit()) * rate.per().as_micros() + window.as_micros() * u128::from(rate.tokens())
    };
    for (i, (from, _)) in grants.iter().enumerate() {
        let mut granted = 0;
        for (to, tokens) in &grants[i + 1..] {
            granted += u128::from(*tokens);
            let window = to.duration_since(*from).expect("sorted");
            assert!(granted * rate.per().as_micros() <= bound(window), "{granted} tokens in {window:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_two_clients_in_four_processes_never_get_more_than_the_rate_and_leave_nothing_unused() {
    let server = Server::start();
    let rate = Rate::new(500, Duration::from_secs(1)).burst(50);
    let mut peers: Vec<Peer> = (0..4).map(|_| Peer::start(worker!(), &server.url())).collect();
    // Eight clients each, for a second and a half: half of them wait for their tokens, half of them try all the time.
    let asked: Vec<u64> = peers.iter_mut().map(|peer| peer.request("ask api 500 1000000 50 8 1500")).collect();
    let mut grants = Vec::new();
    for (peer, asked) in peers.iter_mut().zip(asked) {
        for us in peer.answer(asked, SOON).expect("answered") {
            grants.push((SystemTime::UNIX_EPOCH + Duration::from_micros(us.parse().expect("us")), 1));
        }
    }
    check_windows(rate, &mut grants);
    // Before the end, when those whose time runs out let tokens lie. What came within the last 50 ms may wait for its
    // taker's timer.
    let end = grants[0].0 + Duration::from_millis(1400);
    let got = grants.iter().filter(|(at, _)| *at <= end).count();
    assert!(got + 25 >= 50 + 700, "{got} grants where 50 and 700 were to be had");
    assert!(server.cmd(&["PTTL", KEY]).int() > 0, "the key has a time to live");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_whose_reply_is_lost_is_spent_once_and_said_to_be_unknown() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = client(&proxy.url()).await;
    let limiter = api(&client, Rate::new(10, HOUR));
    assert_eq!(limiter.try_acquire(1).await.expect("answered").remaining, 9);
    for lost in 1..=3 {
        let fault = proxy.on(&["EVALSHA", KEY], Action::CutReply(0));
        assert_eq!(kind(bounded(SOON, "an answer", limiter.try_acquire(1)).await), ErrorKind::OutcomeUnknown);
        assert_eq!(fault.hits(), 1);
        let seen = bounded(SOON, "an answer", limiter.peek()).await.expect("answered");
        assert_eq!(seen.remaining, 9 - lost, "spent once, never asked for twice");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spoilt_state_is_refused_or_pulled_back_and_a_reset_mends_it() {
    let server = Server::start();
    let client = client(&server.url()).await;
    let limiter = api(&client, Rate::new(2, Duration::from_secs(1)));
    let text = |decision: libdlock::Result<Decision>| decision.expect_err("refused").to_string();
    for spoilt in ["text", "", "-1", "1.5"] {
        server.cmd(&["SET", KEY, spoilt]);
        let error = text(limiter.try_acquire(1).await);
        assert!(error.contains("api") && !error.to_lowercase().contains("lua") && !error.contains("script"), "{error}");
        assert_eq!(kind(limiter.try_acquire(1).await), ErrorKind::WrongType);
        assert_eq!(server.cmd(&["GET", KEY]).text(), spoilt, "left untouched");
        limiter.reset().await.expect("mended");
        assert!(limiter.try_acquire(2).await.expect("answered").allowed);
    }
    server.cmd(&["DEL", KEY]);
    server.cmd(&["RPUSH", KEY, "a"]);
    assert_eq!(kind(limiter.try_acquire(1).await), ErrorKind::WrongType);
    assert_eq!(kind(limiter.reset().await), ErrorKind::WrongType);
    assert_eq!(server.cmd(&["LLEN", KEY]).int(), 1);
    server.cmd(&["DEL", KEY]);
    // A time beyond all others, and without a time to live: nobody is locked out for longer than the bucket takes.
    for absurd in ["99999999999999999999999999", "9007199254740993"] {
        server.cmd(&["SET", KEY, absurd]);
        let refused = limiter.try_acquire(1).await.expect("answered");
        assert!(!refused.allowed && refused.reset_after <= Duration::from_secs(1), "{refused:?}");
        assert!(server.cmd(&["PTTL", KEY]).int() > 0);
        assert!(bounded(SOON, "served", limiter.acquire(1, Wait::Forever)).await.expect("answered").allowed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_clock_that_goes_back_an_hour_locks_nobody_out_for_longer_than_the_bucket_takes() {
    let (server, clock) = Server::with_clock();
    let client = client(&server.url()).await;
    let limiter = api(&client, Rate::new(10, Duration::from_secs(1)).burst(5));
    assert!(limiter.try_acquire(5).await.expect("answered").allowed);
    clock.offset(-3_600_000_000);
    let refused = limiter.try_acquire(1).await.expect("answered");
    assert!(refused.reset_after <= Duration::from_millis(500), "{refused:?}");
    assert!(bounded(SOON, "served", limiter.acquire(1, Wait::For(SOON))).await.expect("answered").allowed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_waiters_ask_once_each_and_nobody_polls() {
    let server = Server::start();
    let client = client(&server.url()).await;
    let limiter = api(&client, Rate::new(50, Duration::from_secs(1)).burst(1));
    assert!(limiter.try_acquire(1).await.expect("answered").allowed);
    let before = scripts(&server);
    let waiters: Vec<_> = (0..50)
        .map(|_| {
            let limiter = limiter.clone();
            tokio::spawn(async move { limiter.acquire(1, Wait::For(SOON)).await })
        })
        .collect();
    for waiter in waiters {
        assert!(waiter.await.expect("no panic").expect("answered").allowed);
    }
    // Each of the fifty is refused once, sleeps, and is granted.
    assert!(scripts(&server) - before <= 2 * 50 + 5, "{} scripts", scripts(&server) - before);
}

/// How many scripts the server has run.
fn scripts(server: &Server) -> u64 {
    let stats = server.cmd(&["INFO", "commandstats"]);
    let calls = stats.text().split("cmdstat_evalsha:calls=").nth(1).expect("scripts have run");
    calls.split(',').next().expect("a number").parse().expect("a number")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_server_each_policy_answers_as_it_says() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client =
        client(&with_options(&proxy.url(), "response_timeout=200ms&operation_timeout=1s&ping_interval=500ms")).await;
    let rate = Rate::new(8, HOUR);
    let with = |absent| client.rate_limiter_with("api", LimiterOptions { rate, absent }).expect("a limiter");
    let share = with(Absent::LocalShare { of: 4 });
    assert_eq!(with(Absent::Deny).try_acquire(1).await.expect("answered").remaining, 7);
    proxy.hold_all();
    let started = Instant::now();
    let error = with(Absent::Fail).try_acquire(1).await.expect_err("no server");
    assert!(matches!(error.kind(), ErrorKind::OutcomeUnknown | ErrorKind::Connection), "{error}");
    assert!(started.elapsed() < Duration::from_secs(1) + SLACK);
    for (absent, allowed) in [(Absent::Deny, false), (Absent::Allow, true)] {
        let started = Instant::now();
        let decision = with(absent).try_acquire(1).await.expect("a policy");
        assert_eq!((decision.allowed, decision.server_time), (allowed, None));
        assert!(started.elapsed() < Duration::from_millis(200) + SLACK, "{:?}", started.elapsed());
    }
    // One process of four: two of eight.
    let mut granted = 0;
    for _ in 0..4 {
        granted += share.try_acquire(1).await.expect("a policy").granted;
    }
    assert_eq!(granted, 2);
    assert!(!share.try_acquire(3).await.expect("a policy").allowed, "more than the share");
    proxy.heal();
    let decision = bounded(SOON, "the server decides again", async {
        loop {
            let decision = share.peek().await.expect("answered");
            if decision.server_time.is_some() {
                return decision;
            }
        }
    });
    assert!(decision.await.remaining <= 7);
}

/// As a client sees a failover, or a server that loads its data after a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_refuses_for_now_counts_as_absent() {
    let server = Server::start();
    let client = client(&with_options(&server.url(), "response_timeout=200ms&operation_timeout=600ms")).await;
    let with = |absent| {
        let rate = Rate::new(8, HOUR);
        client.rate_limiter_with("api", LimiterOptions { rate, absent }).expect("a limiter")
    };
    assert!(with(Absent::Fail).try_acquire(1).await.expect("answered").allowed);
    server.cmd(&["REPLICAOF", "127.0.0.1", "1"]);
    for (absent, allowed) in [(Absent::Deny, false), (Absent::Allow, true), (Absent::LocalShare { of: 2 }, true)] {
        let started = Instant::now();
        let decision = with(absent).try_acquire(1).await.expect("a policy");
        assert_eq!((decision.allowed, decision.server_time), (allowed, None), "{absent:?}");
        assert!(started.elapsed() < Duration::from_millis(200) + SLACK, "{:?}", started.elapsed());
    }
    let error = with(Absent::Fail).try_acquire(1).await.expect_err("no server");
    assert!(error.kind() == ErrorKind::Server && error.message().contains("READONLY"), "{error}");
    // A program may make its limiter anew for every request: the share is the client's.
    let mut granted = 0;
    for _ in 0..8 {
        granted += with(Absent::LocalShare { of: 2 }).try_acquire(1).await.expect("a policy").granted;
    }
    assert_eq!(granted, 3, "four in all, of which one was taken above");
    server.cmd(&["REPLICAOF", "NO", "ONE"]);
    assert!(with(Absent::Deny).try_acquire(1).await.expect("answered").server_time.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_without_the_right_is_told_which_one() {
    let server = Server::options().user("guest on >pw ~other:* +@all").start();
    let url = server.url().replace("redis://", "redis://guest:pw@");
    let limiter = api(&client(&url).await, Rate::new(1, HOUR));
    let error = limiter.try_acquire(1).await.expect_err("forbidden");
    assert_eq!(error.kind(), ErrorKind::NoPermission);
    assert!(error.message().contains("~dlock_limit:*") && !error.message().contains("redisson"), "{error}");
}
