//! Rate limiters: many clients on one bucket, lost replies, spoilt state, a server's clock that is set back, an absent server.

use std::time::{Duration, Instant, SystemTime};

use libdlock::limit::{Absent, LimiterOptions};
use libdlock::{Client, Decision, ErrorKind, Rate, RateLimiter, Wait};
use libdlock_faults::{Peer, SOON, bounded, client, kind, slack, with_options, worker};
use libdlock_testkit::{Action, Proxy, Server, Side, lateness};

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
async fn thirty_two_clients_get_the_rate_and_no_more() {
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
    let late = (lateness().as_secs_f64() * 500.0) as usize;
    assert!(got + 25 + late >= 50 + 700, "{got} grants where 50 and 700 were to be had, {late} of them late");
    // On a busy machine it may be over by now.
    assert_ne!(server.cmd(&["PTTL", KEY]).int(), -1, "the key has a time to live");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_whose_reply_is_lost_is_spent_once_and_unknown() {
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
    // A list may be a sliding log of this name.
    server.cmd(&["DEL", KEY]);
    server.cmd(&["RPUSH", KEY, "a"]);
    assert_eq!(kind(limiter.try_acquire(1).await), ErrorKind::WrongType);
    assert_eq!(server.cmd(&["LLEN", KEY]).int(), 1);
    limiter.reset().await.expect("mended");
    server.cmd(&["SADD", KEY, "a"]);
    assert_eq!(kind(limiter.try_acquire(1).await), ErrorKind::WrongType);
    assert_eq!(kind(limiter.reset().await), ErrorKind::WrongType);
    assert_eq!(server.cmd(&["SCARD", KEY]).int(), 1);
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
async fn a_clock_an_hour_back_locks_nobody_out_longer_than_the_bucket() {
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

/// Grants per client while both wait for tokens all the time, with so many callers each.
async fn shares(clients: [&Client; 2], callers: usize, rate: Rate) -> [u64; 2] {
    let until = Instant::now() + Duration::from_millis(2_500);
    let callers: Vec<_> = clients
        .iter()
        .enumerate()
        .flat_map(|(which, client)| {
            let limiter = api(client, rate);
            (0..callers).map(move |_| {
                let limiter = limiter.clone();
                tokio::spawn(async move {
                    let mut granted = 0;
                    while Instant::now() < until {
                        granted += limiter.acquire(1, Wait::For(SOON)).await.expect("answered").granted;
                    }
                    (which, granted)
                })
            })
        })
        .collect();
    let mut shares = [0; 2];
    for caller in callers {
        let (which, granted) = caller.await.expect("no panic");
        shares[which] += granted;
    }
    shares
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_near_and_a_far_process_are_served_alike() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    proxy.delay(Side::Replies, Duration::from_millis(4));
    let (near, far) = (client(&server.url()).await, client(&proxy.url()).await);
    // A single caller of the far one has to be back within one interval: 4 ms, and 16 for a busy machine.
    for (callers, per_second) in [(1, 50), (8, 200)] {
        let rate = Rate::new(per_second, Duration::from_secs(1)).burst(1);
        let [near, far] = shares([&near, &far], callers, rate).await;
        let share = near as f64 / (near + far) as f64;
        println!("{callers} callers each: near {near}, far {far}");
        assert!((0.45..=0.55).contains(&share), "{callers} callers each: near {near}, far {far}");
        // A fifth of the 2.5 s, and what it is late, is for a busy machine.
        let late = (lateness().as_secs_f64() * per_second as f64) as u64;
        assert!(near + far + late >= 2 * per_second, "{callers} callers each: near {near}, far {far}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_costs_two_scripts_at_most_with_32_waiting_clients() {
    let server = Server::start();
    let mut clients = Vec::new();
    for _ in 0..32 {
        clients.push(client(&server.url()).await);
    }
    let rate = Rate::new(100, Duration::from_secs(1)).burst(1);
    assert!(api(&clients[0], rate).try_acquire(1).await.expect("answered").allowed);
    let before = scripts(&server);
    let until = Instant::now() + Duration::from_millis(1_500);
    let waiters: Vec<_> = clients
        .iter()
        .map(|client| {
            let limiter = api(client, rate);
            tokio::spawn(async move {
                let mut granted = 0;
                while Instant::now() < until {
                    granted += limiter.acquire(1, Wait::For(SOON)).await.expect("answered").granted;
                }
                granted
            })
        })
        .collect();
    let mut granted = 0;
    for waiter in waiters {
        granted += waiter.await.expect("no panic");
    }
    let scripts = scripts(&server) - before;
    println!("{scripts} scripts for {granted} grants");
    assert!(granted >= 100 && scripts <= 2 * granted, "{scripts} scripts for {granted} grants");
}

/// Clients of several processes whose callers give up all the time, over a limit without room for what they leave: the next
/// callers of each take it, and nobody's time runs away.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_that_give_up_do_not_starve_the_others() {
    let server = Server::start();
    let clients = [client(&server.url()).await, client(&server.url()).await];
    let rate = Rate::new(50, Duration::from_secs(1)).burst(1);
    let until = Instant::now() + Duration::from_millis(2_000);
    let impatient: Vec<_> = (0..8)
        .map(|n| {
            let limiter = api(&clients[n % 2], rate);
            tokio::spawn(async move {
                while Instant::now() < until {
                    let short = Duration::from_millis(10);
                    let _ = tokio::time::timeout(short, limiter.acquire(1, Wait::Forever)).await;
                }
            })
        })
        .collect();
    for impatient in impatient {
        impatient.await.expect("no panic");
    }
    // At most the eight that waited together, 20 ms each, and what a busy machine adds.
    let wait = api(&clients[0], rate).peek().await.expect("answered").retry_after.expect("some day");
    assert!(wait <= Duration::from_millis(400) + lateness(), "{wait:?}");
}

/// Nobody is left to give back what it had reserved.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_process_leaves_ten_seconds_of_its_waiters() {
    let server = Server::start();
    let limiter = api(&client(&server.url()).await, Rate::new(1, Duration::from_secs(1)));
    let mut peer = Peer::start(worker!(), &server.url());
    peer.ok("crowd api 1 1000000 40");
    peer.process().kill();
    let left = limiter.peek().await.expect("answered").retry_after.expect("some day");
    // Ten seconds, and this process's own turn.
    let most = Duration::from_secs(11);
    assert!(left > Duration::from_secs(5) && left <= most, "{left:?}");
    let decision = limiter.acquire(1, Wait::For(most)).await.expect("answered");
    assert!(decision.allowed, "{decision:?}");
}

/// None of them has reserved when the last one comes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_that_comes_at_once_is_refused_at_once() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    proxy.delay(Side::Replies, Duration::from_millis(20));
    let client = client(&proxy.url()).await;
    let limiter = api(&client, Rate::new(1, Duration::from_secs(1)));
    let crowd: Vec<_> = (0..100)
        .map(|_| {
            let limiter = limiter.clone();
            tokio::spawn(async move { limiter.acquire(1, Wait::For(Duration::from_secs(20))).await })
        })
        .collect();
    let refused = || client.stats().limiter.refused;
    bounded(Duration::from_secs(5), "refusals", async {
        while refused() < 79 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    // One had its token at once. The last of those that wait may be late by a round trip.
    assert!(refused() <= 80, "{} of 100 were refused, where 21 tokens come", refused());
    crowd.iter().for_each(tokio::task::JoinHandle::abort);
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
    let with = |absent| client.rate_limiter_with("api", LimiterOptions::new(rate).absent(absent)).expect("a limiter");
    let share = with(Absent::LocalShare { of: 4 });
    assert_eq!(with(Absent::Deny).try_acquire(1).await.expect("answered").remaining, 7);
    proxy.hold_all();
    let started = Instant::now();
    let error = with(Absent::Fail).try_acquire(1).await.expect_err("no server");
    assert!(matches!(error.kind(), ErrorKind::OutcomeUnknown | ErrorKind::Connection), "{error}");
    assert!(started.elapsed() < Duration::from_secs(1) + slack());
    for (absent, allowed) in [(Absent::Deny, false), (Absent::Allow, true)] {
        let started = Instant::now();
        let decision = with(absent).try_acquire(1).await.expect("a policy");
        assert_eq!((decision.allowed, decision.server_time), (allowed, None));
        assert!(started.elapsed() < Duration::from_millis(200) + slack(), "{:?}", started.elapsed());
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

/// Fifty waiters and ten single calls under each policy while `away` is in force; every one is answered at once.
async fn answered_at_once(client: &Client, away: &str) {
    // One token an hour beyond the first: no waiter could be served by the server.
    let rate = Rate::new(1000, HOUR);
    for absent in [Absent::Allow, Absent::LocalShare { of: 2 }, Absent::Deny] {
        let limiter = client.rate_limiter_with("api", LimiterOptions::new(rate).absent(absent)).expect("a limiter");
        limiter.try_acquire(1).await.expect("a policy"); // from here on the server is known to be away
        let started = Instant::now();
        for _ in 0..10 {
            let decision = limiter.try_acquire(1).await.expect("a policy");
            assert_eq!((decision.allowed, decision.server_time), (absent != Absent::Deny, None), "{away}, {absent:?}");
        }
        let waiters: Vec<_> = (0..50)
            .map(|_| {
                let limiter = limiter.clone();
                tokio::spawn(async move { limiter.acquire(1, Wait::For(Duration::from_millis(400))).await })
            })
            .collect();
        for waiter in waiters {
            let decision = waiter.await.expect("no panic").expect("a policy");
            assert_eq!(decision.allowed, absent != Absent::Deny, "{away}, {absent:?}: {decision:?}");
        }
        // A round trip each for a server that refuses, nothing for one that is not there; the rest is for a busy machine.
        assert!(
            started.elapsed() < Duration::from_millis(300) + lateness(),
            "{away}, {absent:?}: {:?}",
            started.elapsed()
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_answers_at_once_while_the_server_is_away() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = client(&proxy.url()).await;
    proxy.refuse(true);
    proxy.reset_all();
    answered_at_once(&client, "refuses connections").await;
    proxy.refuse(false);
    let limiter = api(&client, Rate::new(1000, HOUR));
    limiter.peek().await.expect("the server is back");
    server.cmd(&["REPLICAOF", "127.0.0.1", "1"]);
    answered_at_once(&client, "is a replica").await;
}

const OPERATION_TIMEOUT: Duration = Duration::from_millis(800);

/// Ten calls and ten waits of a limiter without a policy, after a call that made it known that the server is away.
async fn failed_at_once(limiter: &RateLimiter, kinds: &[ErrorKind], away: &str) {
    let started = Instant::now();
    for _ in 0..10 {
        for wait in [Wait::Try, Wait::For(Duration::from_millis(400))] {
            let error = limiter.acquire(1, wait).await.expect_err("no server");
            assert!(kinds.contains(&error.kind()), "{away}: {error}");
        }
    }
    // Twenty in less time than one of them took before.
    assert!(started.elapsed() < OPERATION_TIMEOUT + lateness(), "{away}: {:?}", started.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_policy_a_limiter_fails_at_once_while_away() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = client(&with_options(&proxy.url(), "response_timeout=400ms&operation_timeout=800ms")).await;
    let limiter = api(&client, Rate::new(1000, HOUR));
    let back = || async {
        while let Err(error) = limiter.peek().await {
            assert_ne!(error.kind(), ErrorKind::OutcomeUnknown, "nothing was sent, or refused: {error}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    limiter.peek().await.expect("answered");

    proxy.refuse(true);
    proxy.reset_all();
    // A request that is sent before the client knows that the connection is gone has an unknown outcome, at once.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let begun = Instant::now();
    let error = limiter.try_acquire(1).await.expect_err("no server");
    assert!(error.kind() == ErrorKind::Connection && error.message().contains("(operation_timeout)"), "{error}");
    // It may come back soon, as after most outages.
    assert!(begun.elapsed() >= OPERATION_TIMEOUT.saturating_sub(slack()), "{:?}", begun.elapsed());
    failed_at_once(&limiter, &[ErrorKind::Connection], "refuses connections").await;
    proxy.refuse(false);
    bounded(SOON, "the server answers again", back()).await;

    server.cmd(&["REPLICAOF", "127.0.0.1", "1"]);
    assert_eq!(kind(limiter.try_acquire(1).await), ErrorKind::Server);
    failed_at_once(&limiter, &[ErrorKind::Server, ErrorKind::Connection], "is a replica").await;
    server.cmd(&["REPLICAOF", "NO", "ONE"]);
    bounded(SOON, "the server answers again", back()).await;

    proxy.hold_all();
    let begun = Instant::now();
    assert_eq!(kind(limiter.try_acquire(1).await), ErrorKind::OutcomeUnknown);
    assert!(begun.elapsed() < OPERATION_TIMEOUT + lateness(), "{:?}", begun.elapsed());
    failed_at_once(&limiter, &[ErrorKind::Connection], "is silent").await;
    proxy.heal();
    bounded(SOON, "the server answers again", back()).await;
}

/// A connection that breaks says nothing about the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_connection_is_no_server_that_is_away() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = client(&proxy.url()).await;
    let limiter = api(&client, Rate::new(1000, HOUR));
    for _ in 0..5 {
        proxy.on(&["EVALSHA", KEY], Action::CutReply(0));
        assert_eq!(kind(limiter.try_acquire(1).await), ErrorKind::OutcomeUnknown);
        limiter.try_acquire(1).await.expect("on another connection");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_under_way_get_the_policy_once_silence_is_known() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = client(&proxy.url()).await;
    let options = LimiterOptions::new(Rate::new(1, HOUR)).absent(Absent::Allow);
    let limiter = client.rate_limiter_with("api", options).expect("a limiter");
    limiter.try_acquire(1).await.expect("answered");
    proxy.hold_all();
    let ask = |after: u64| {
        let limiter = limiter.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(after)).await;
            let decision = limiter.acquire(1, Wait::For(SOON)).await.expect("a policy");
            (decision.allowed, Instant::now())
        })
    };
    let started = Instant::now();
    let asked: Vec<_> = [0, 300, 600, 900, 1_500].into_iter().map(ask).collect();
    for asked in asked {
        let (allowed, at) = asked.await.expect("no panic");
        // The first has its response_timeout of 1 s; what it learns holds for those behind it.
        assert!(allowed && at - started < Duration::from_millis(1_700) + lateness(), "{:?}", at - started);
    }
}

/// Each caller is the first that meets the silence, and what the share lets it wait for begins after that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_share_met_with_the_outage_does_not_outlast_the_wait() {
    const WAIT: Duration = Duration::from_millis(1_500);
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = client(&with_options(&proxy.url(), "response_timeout=500ms&operation_timeout=1s")).await;
    // The share's second token comes 1.4 s after the first: 1.9 s after the call, of which the silence takes 0.5 s.
    let options = LimiterOptions::new(Rate::new(1, Duration::from_millis(1_400)).burst(1));
    let limiter = client.rate_limiter_with("api", options.absent(Absent::LocalShare { of: 1 })).expect("a limiter");
    limiter.peek().await.expect("answered");
    proxy.hold_all();
    let ask = |_| {
        let limiter = limiter.clone();
        tokio::spawn(async move {
            let started = Instant::now();
            let decision = limiter.acquire(1, Wait::For(WAIT)).await.expect("a policy");
            (decision.allowed, started.elapsed())
        })
    };
    let asked: Vec<_> = [(); 2].into_iter().map(ask).collect();
    let mut granted = 0;
    for asked in asked {
        let (allowed, took) = asked.await.expect("no panic");
        assert!(took <= WAIT + slack(), "{took:?}");
        granted += u32::from(allowed);
    }
    assert_eq!(granted, 1, "the share has one token, and the next one comes too late");
}

/// As a client sees a failover, or a server that loads its data after a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_refuses_for_now_counts_as_absent() {
    let server = Server::start();
    let client = client(&with_options(&server.url(), "response_timeout=200ms&operation_timeout=600ms")).await;
    let with = |absent| {
        let rate = Rate::new(8, HOUR);
        client.rate_limiter_with("api", LimiterOptions::new(rate).absent(absent)).expect("a limiter")
    };
    assert!(with(Absent::Fail).try_acquire(1).await.expect("answered").allowed);
    server.cmd(&["REPLICAOF", "127.0.0.1", "1"]);
    for (absent, allowed) in [(Absent::Deny, false), (Absent::Allow, true), (Absent::LocalShare { of: 2 }, true)] {
        let started = Instant::now();
        let decision = with(absent).try_acquire(1).await.expect("a policy");
        assert_eq!((decision.allowed, decision.server_time), (allowed, None), "{absent:?}");
        assert!(started.elapsed() < Duration::from_millis(200) + slack(), "{:?}", started.elapsed());
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
    let denying = with(Absent::Deny);
    // The address is dialled again with pauses; until then the policy answers.
    let back = async { while denying.try_acquire(1).await.expect("answered").server_time.is_none() {} };
    bounded(SOON, "the server decides again", back).await;
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
