//! Locks on several servers, some of which answer what no real server does, or nothing but errors.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::common::quorum::{KEPT, NAME, PATIENCE};
use libdlock::{Client, ErrorKind};
use libdlock_testkit::{Scripted, Server};

/// `URL` of servers that are real or not.
fn url(addresses: &[String], options: &str) -> String {
    let options = format!("response_timeout=300ms&operation_timeout=2s&{options}");
    format!("redis+quorum://{}?{options}", addresses.join(","))
}

fn of(server: &Server) -> String {
    server.address().to_string()
}

fn of_fake(server: &Scripted) -> String {
    server.url().trim_start_matches("redis://").to_owned()
}

fn is_script(words: &[String]) -> bool {
    words[0].starts_with("EVAL")
}

/// How many arguments a script has behind its keys.
fn arguments(words: &[String]) -> usize {
    words.len() - 3 - words[2].parse::<usize>().unwrap()
}

const NOW: u64 = 1_795_000_000_000_000;

/// Grants and frees whatever is asked for.
fn obliging(words: &[String], token: &AtomicU64) -> Option<String> {
    if !is_script(words) {
        return None;
    }
    Some(match arguments(words) {
        6 => format!("*3\r\n:0\r\n:{NOW}\r\n:{}\r\n", token.fetch_add(1, Ordering::SeqCst)),
        3 if words[2] == "2" => format!("*2\r\n:1\r\n:{NOW}\r\n"),
        3 if words[2] == "1" => "*1\r\n:1000\r\n".to_owned(),
        3 => "*3\r\n:1\r\n:1\r\n:-1\r\n".to_owned(),
        _ => ":1\r\n".to_owned(),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn an_absurd_uptime_is_a_long_one() {
    for uptime in [u64::MAX.to_string(), "1000000000000000000".to_owned()] {
        let fake = |number: usize| {
            let (info, token) = (format!("run_id:fake{number}\r\nuptime_in_seconds:{uptime}\r\n"), AtomicU64::new(1));
            Scripted::start(move |words| match words[0].as_str() {
                "INFO" => Some(format!("${}\r\n{info}\r\n", info.len())),
                _ => obliging(words, &token),
            })
        };
        let fakes: Vec<Scripted> = (0..3).map(fake).collect();
        let client = Client::connect(&url(&fakes.iter().map(of_fake).collect::<Vec<_>>(), "")).await.unwrap();
        let lock = client.lock(NAME).unwrap();
        let begun = Instant::now();
        // Beyond what a count of seconds leaves room for.
        while begun.elapsed() < Duration::from_millis(1_200) {
            lock.acquire_timeout(PATIENCE).await.unwrap().release().await.unwrap();
        }
    }
}

/// One of three answers each script by this.
async fn one_of_three_says(answer: &'static str) {
    let fake = Scripted::start(move |words| is_script(words).then(|| answer.replace("NOW", &NOW.to_string())));
    let real = [Server::start(), Server::start()];
    let client = Client::connect(&url(&[of(&real[0]), of_fake(&fake), of(&real[1])], KEPT)).await.unwrap();
    let lock = client.lock(NAME).unwrap();
    for _ in 0..5 {
        let held = lock.acquire_timeout(PATIENCE).await.unwrap_or_else(|error| panic!("{answer}: {error}"));
        held.extend(Duration::from_secs(5)).await.unwrap_or_else(|error| panic!("{answer}: {error}"));
        held.release().await.unwrap_or_else(|error| panic!("{answer}: {error}"));
    }
    client.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_three_that_talks_nonsense_stops_nothing() {
    for answer in [
        "*3\r\n:0\r\n:NOW\r\n:0\r\n",
        "*3\r\n:0\r\n:NOW\r\n:-7\r\n",
        "*3\r\n:0\r\n:NOW\r\n$3\r\nabc\r\n",
        "*3\r\n:0\r\n:NOW\r\n",
        "*5\r\n:1\r\n:NOW\r\n:-1\r\n$0\r\n\r\n:-1\r\n",
        "*5\r\n:1\r\n:NOW\r\n:-9223372036854775808\r\n$1\r\nx\r\n:9223372036854775807\r\n",
        "*2\r\n:2\r\n:NOW\r\n",
        "*3\r\n:3\r\n:NOW\r\n:0\r\n",
        "*2\r\n:9\r\n:NOW\r\n",
        "*0\r\n",
        "_\r\n",
        ":-1\r\n",
        "%1\r\n+a\r\n+b\r\n",
        "-WRONGTYPE Operation against a key\r\n",
        "-NOPERM no\r\n",
        "-OOM command not allowed\r\n",
        "-MISCONF disk\r\n",
        "-LOADING loading\r\n",
        "-BUSY busy\r\n",
        "-READONLY You can't write\r\n",
        "-NOSCRIPT none\r\n",
        "-ERR nonsense\r\n",
        "-CLUSTERDOWN down\r\n",
        "-MOVED 1 127.0.0.1:1\r\n",
        "-EXECABORT x\r\n",
    ] {
        one_of_three_says(answer).await;
    }
}

/// No server gives it, and those that were to write it could give no other ever after.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_beyond_all_is_not_told_to_the_other_servers() {
    one_of_three_says("*3\r\n:0\r\n:NOW\r\n:9223372036854775807\r\n").await;
}

/// One of three shows a holder.
fn held_at_one() -> Server {
    let real = Server::start();
    real.cmd(&["HSET", NAME, "11111111-2222-4333-8444-555555555555:1", "1"]);
    real.cmd(&["PEXPIRE", NAME, "600000"]);
    real
}

/// What a holder at the third server says changes nothing: no wait has a chance.
#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_when_a_majority_refuses_for_good() {
    for (says, kind, part) in [
        ("-WRONGTYPE Operation against a key\r\n", ErrorKind::WrongType, "Choose another name"),
        ("-NOPERM no permissions\r\n", ErrorKind::NoPermission, "access"),
    ] {
        let real = held_at_one();
        let fakes = [0, 1].map(|_| Scripted::start(move |words| is_script(words).then(|| says.to_owned())));
        let client = Client::connect(&url(&[of(&real), of_fake(&fakes[0]), of_fake(&fakes[1])], KEPT)).await.unwrap();
        let lock = client.lock(NAME).unwrap();
        let waited = tokio::time::timeout(Duration::from_secs(5), lock.acquire()).await;
        let error = waited.expect("an endless wait ends").unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains("2 of 3") && error.message().contains(part), "{error}");
    }
}

/// Nobody can tell whether the lock is free.
#[tokio::test(flavor = "multi_thread")]
async fn a_holder_at_the_only_server_left_is_an_outage() {
    let (real, mut others) = (held_at_one(), [Server::start(), Server::start()]);
    let client = Client::connect(&url(&[of(&real), of(&others[0]), of(&others[1])], KEPT)).await.unwrap();
    let lock = client.lock(NAME).unwrap();
    assert!(lock.try_acquire().await.is_ok());
    others.iter_mut().for_each(Server::stop);
    for _ in 0..5 {
        let error = lock.try_acquire().await.map(|held| held.is_some()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
        assert!(error.message().contains("2 of 3"), "{error}");
    }
    let error = lock.acquire_timeout(Duration::from_secs(1)).await.map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    let waited = tokio::time::timeout(Duration::from_secs(10), lock.acquire()).await;
    assert_eq!(waited.expect("an endless wait ends").unwrap_err().kind(), ErrorKind::Connection);
}
