//! faults.md 36 to 38, and 7's half for limiters, for every algorithm: numbers at the ends of their ranges, lost replies, keys that
//! others have spoilt, a server's clock that is set back.

use std::time::Duration;

use libdlock::limit::{Algorithm, LimiterOptions};
use libdlock::{Client, Decision, Error, ErrorKind, Rate, RateLimiter, Result, Wait};
use libdlock_faults::{SOON, bounded, client, kind};
use libdlock_testkit::{Action, Proxy, Server};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);
const CENTURY: Duration = Duration::from_secs(100 * 31_557_600);
const OWN: [Algorithm; 5] = [
    Algorithm::Gcra,
    Algorithm::FixedWindow,
    Algorithm::AlignedWindow,
    Algorithm::SlidingLog,
    Algorithm::SlidingCounter,
];
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

/// An error that says which object is concerned, and nothing of how the server is asked.
#[track_caller]
fn check_words(error: &Error) {
    let text = error.to_string().to_lowercase();
    for alien in ["lua", "script", "attempt to", "stack", "evalsha", "tonumber", "nil"] {
        assert!(!text.contains(alien), "{alien}: {error}");
    }
    assert!(text.contains("api"), "{error}");
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

fn prefetching(client: &Client) -> RateLimiter {
    let rate = Rate::new(3_000, SECOND);
    client.rate_limiter_with("api", LimiterOptions::new(rate).prefetch(1.0)).expect("a limiter")
}

/// What others may have left under a key, and what no limiter has written.
fn spoilt(key: &str) -> Vec<Vec<String>> {
    let most = u64::MAX.to_string();
    let beyond = "9".repeat(400);
    let mut all = vec![
        vec!["SADD".to_owned(), key.to_owned(), "a".to_owned()],
        vec!["HSET".to_owned(), key.to_owned(), "rate".to_owned(), "1".to_owned()],
        vec!["ZADD".to_owned(), key.to_owned(), "inf".to_owned(), "a".to_owned()],
    ];
    let texts = [
        "",
        "text",
        "-1",
        "1.5",
        "1e9",
        "0x10",
        "nan",
        "inf",
        ":",
        "::",
        "1:",
        ":::",
        "1:2",
        "-1:2:3",
        "1:2:3:4:5",
        "1 2",
        "1 2 3 4 5 6",
        "5 1 9",
        "!",
        "!1",
        "!1:",
        "!:1",
        "!1:1",
        "1!1:1",
        "1!x:y",
        "!1:1!1:1",
        "1+1/0",
        "0+0/0",
        "1+/1",
        "+1/1",
        "1+5/3",
        "\u{0}",
        "1\u{0}2",
        "é",
    ];
    let absurd = [
        most.clone(),
        beyond.clone(),
        format!("{most}:{most}:{most}"),
        format!("{beyond}:{beyond}:{beyond}"),
        format!("{beyond}:0:0"),
        format!("0:{beyond}:0"),
        format!("{beyond}:{beyond}:{beyond}:{beyond}"),
        format!("{most}:{most}:{most}:{most}"),
        format!("0:0:{beyond}:0"),
        format!("{beyond}+{beyond}/{beyond}"),
        format!("1+{beyond}/{beyond}0000000000000000"),
        format!("{beyond}+19999999999999999/30000000000000000"),
        format!("{beyond} {beyond} {beyond}"),
        format!("{beyond} {beyond} {beyond} {beyond} {beyond}"),
        format!("0 {most} {most}"),
        "9007199254740991 9007199254740991 1".to_owned(),
        "9007199254740991 9007199254740991 9007199254740991 9007199254740991 0".to_owned(),
        "1 9007199254740991 1 0 9007199254740991".to_owned(),
        format!("!{beyond}:{beyond}"),
        format!("!{beyond}:0"),
        format!("1!{beyond}:{beyond}"),
        format!("1:1:1!{beyond}:{beyond}"),
        "1 1 1!9007199254740991:0".to_owned(),
    ];
    for text in texts.map(str::to_owned).into_iter().chain(absurd) {
        all.push(vec!["SET".to_owned(), key.to_owned(), text.clone()]);
        all.push(vec!["RPUSH".to_owned(), key.to_owned(), text.clone()]);
        all.push(vec!["RPUSH".to_owned(), key.to_owned(), "1 1 1".to_owned(), text.clone(), "9 9 9".to_owned()]);
        all.push(vec!["RPUSH".to_owned(), key.to_owned(), text.clone(), text]);
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spoilt_keys_are_refused_or_read_within_bounds() {
    let server = Server::start();
    let client = client(&server.url()).await;
    let (mut refused, mut read) = (0, 0);
    for by in OWN {
        let limiter = limiter(&client, Rate::new(3, SECOND).by(by));
        // What fetches ahead has a script of its own.
        let fetches = (by == Algorithm::Gcra).then(|| prefetching(&client));
        for spoilt in spoilt(key(by)) {
            let words: Vec<&str> = spoilt.iter().map(String::as_str).collect();
            let what = format!("{by:?} {:.100}", format!("{:?}", &words[2..]));
            for call in 0..10 {
                server.cmd(&["FLUSHALL"]);
                server.cmd(&words);
                let before = server.cmd(&["DUMP", key(by)]);
                let asked = match call {
                    0 => limiter.peek().await.map(Some),
                    1 => limiter.try_acquire(2).await.map(Some),
                    2 => limiter.acquire(3, Wait::For(Duration::from_millis(1))).await.map(Some),
                    3 => limiter.reserve(3, Wait::Forever).await.map(Some),
                    4 => limiter.penalty(3).await.map(|()| None),
                    5 => limiter.reward(2).await.map(|()| None),
                    6 => limiter.block(SECOND).await.map(|()| None),
                    7 => limiter.block(Duration::ZERO).await.map(|()| None),
                    8 => limiter.try_acquire_many(&[("", 1)]).await.map(|_| None),
                    _ => match &fetches {
                        Some(limiter) => limiter.try_acquire(1).await.map(|_| None),
                        None => continue,
                    },
                };
                match asked {
                    Err(error) => {
                        refused += 1;
                        assert_eq!(error.kind(), ErrorKind::WrongType, "{what} {call}: {error}");
                        check_words(&error);
                        assert_eq!(server.cmd(&["DUMP", key(by)]), before, "{what} {call}");
                    }
                    Ok(decision) => {
                        read += 1;
                        if let Some(decision) = decision {
                            // A mark may say a hundred years, behind which a reservation may lie.
                            let bound = 2 * CENTURY + 2 * SECOND;
                            assert!(
                                decision.retry_after.is_none_or(|after| after <= bound),
                                "{what} {call}: {decision:?}"
                            );
                            assert!(
                                decision.remaining <= 3
                                    && decision.reset_after <= bound
                                    && decision.usable_after <= bound,
                                "{what} {call}: {decision:?}"
                            );
                        }
                        if (1..8).contains(&call) && server.cmd(&["DUMP", key(by)]) != before {
                            assert_ne!(server.cmd(&["PTTL", key(by)]).int(), -1, "{what} {call}");
                        }
                    }
                }
            }
            server.cmd(&["FLUSHALL"]);
            server.cmd(&words);
            match limiter.reset().await {
                Ok(()) => assert_eq!(limiter.try_acquire(3).await.expect("answered").granted, 3, "{what}"),
                Err(error) => {
                    assert!(!["SET", "RPUSH"].contains(&words[0]), "{what}: {error}");
                    assert_eq!(error.kind(), ErrorKind::WrongType, "{what}");
                    check_words(&error);
                }
            }
        }
    }
    println!("{refused} refused, {read} read");
}

/// Three names are open to others: those of the hash, of the value and of the log, of all clients.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spoilt_keys_of_redisson_are_refused_or_read_within_bounds() {
    let server = Server::start();
    let client = client(&server.url()).await;
    let rate = Rate::new(3, SECOND).by(REDISSON[0]);
    let limiter = limiter(&client, rate);
    let (most, beyond) = (u64::MAX.to_string(), "9".repeat(400));
    let member = "\u{10}0123456789abcdef\u{1}\u{0}\u{0}\u{0}";
    let field =
        |name: &'static str, text: &str| vec!["HSET".to_owned(), "api".to_owned(), name.to_owned(), text.to_owned()];
    let mut all = Vec::new();
    for name in ["rate", "interval", "type", "keepAliveTime"] {
        for text in ["", "-1", "0", "1.5", "1e9", "nan", "inf", "0x10", "999999999999999", &most, &beyond] {
            all.push(field(name, text));
        }
    }
    for text in
        ["", "-", "--1", "-1", "1.5", "1e9", "nan", "-inf", "999999999999999", "-999999999999999", &most, &beyond]
    {
        all.push(vec!["SET".to_owned(), "{api}:value".to_owned(), text.to_owned()]);
    }
    for score in ["-inf", "inf", "0", "-1", "1e308", "-1e308", "9007199254740993", "0.5"] {
        for member in [member, "", "\u{10}", "text", &beyond] {
            all.push(vec!["ZADD".to_owned(), "{api}:permits".to_owned(), score.to_owned(), member.to_owned()]);
        }
    }
    for key in ["api", "{api}:value", "{api}:permits"] {
        all.push(vec!["SADD".to_owned(), key.to_owned(), "a".to_owned()]);
    }
    let (mut refused, mut read) = (0, 0);
    for spoilt in all {
        let words: Vec<&str> = spoilt.iter().map(String::as_str).collect();
        let what = format!("{:.100}", format!("{words:?}"));
        for call in 0..4 {
            server.cmd(&["FLUSHALL"]);
            limiter.try_acquire(1).await.expect("a limiter that others know");
            if words[0] == "SADD" {
                server.cmd(&["DEL", words[1]]);
            }
            server.cmd(&words);
            let before = server.cmd(&["DUMP", words[1]]);
            let asked = match call {
                0 => limiter.peek().await.map(Some),
                1 => limiter.try_acquire(2).await.map(Some),
                2 => limiter.acquire(2, Wait::For(Duration::from_millis(1))).await.map(Some),
                _ => limiter.reset().await.map(|()| None),
            };
            match asked {
                Err(error) => {
                    refused += 1;
                    assert_eq!(error.kind(), ErrorKind::WrongType, "{what} {call}: {error}");
                    check_words(&error);
                    assert_eq!(server.cmd(&["DUMP", words[1]]), before, "{what} {call}");
                }
                Ok(decision) => {
                    read += 1;
                    if let Some(decision) = decision {
                        // An interval of 15 digits is the longest that is read.
                        let bound = Duration::from_millis(1_000_000_000_000_000) + SOON;
                        assert!(decision.retry_after.is_none_or(|after| after <= bound), "{what} {call}: {decision:?}");
                        assert!(decision.reset_after <= bound, "{what} {call}: {decision:?}");
                    }
                }
            }
        }
    }
    println!("{refused} refused, {read} read");
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
