//! Every algorithm of limiters meets keys that others have spoilt.

use std::time::Duration;

use libdlock::limit::{Algorithm, LimiterOptions};
use libdlock::{Client, ErrorKind, Rate, RateLimiter, Wait};
use libdlock_faults::limiters::{OWN, check_words};
use libdlock_faults::{SOON, client};
use libdlock_testkit::Server;

const SECOND: Duration = Duration::from_secs(1);
const CENTURY: Duration = Duration::from_secs(100 * 31_557_600);

const KEY: &str = "dlock_limit:{api}";

fn limiter(client: &Client, rate: Rate) -> RateLimiter {
    client.rate_limiter("api", rate).expect("a limiter")
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
        for spoilt in spoilt(KEY) {
            let words: Vec<&str> = spoilt.iter().map(String::as_str).collect();
            let what = format!("{by:?} {:.100}", format!("{:?}", &words[2..]));
            for call in 0..10 {
                server.cmd(&["FLUSHALL"]);
                server.cmd(&words);
                let before = server.cmd(&["DUMP", KEY]);
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
                        assert_eq!(server.cmd(&["DUMP", KEY]), before, "{what} {call}");
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
                        if (1..8).contains(&call) && server.cmd(&["DUMP", KEY]) != before {
                            assert_ne!(server.cmd(&["PTTL", KEY]).int(), -1, "{what} {call}");
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
    let rate = Rate::new(3, SECOND).by(Algorithm::Redisson { per_client: false });
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
