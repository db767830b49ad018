//! Replies that no healthy server gives: each is an error, at once, and never a panic or a loop.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use libdlock::{Client, ErrorKind};
use libdlock_faults::{SOON, bounded, client, kind, slack, with_options};
use libdlock_testkit::{Scripted, Server, scripted};
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_time_beyond_reason_is_refused_on_connecting() {
    const MOST: &str = "18446744073709551615";
    for (seconds, micros) in [(MOST, "0"), ("18446744073709", MOST), ("1", MOST), ("9007199255", "0"), ("-1", "0")] {
        let server = Scripted::start(move |words| {
            words[0].eq_ignore_ascii_case("TIME").then(|| scripted::time(seconds, micros))
        });
        let connected = bounded(SOON, "an answer", Client::connect(&server.url())).await;
        let error = connected.map(drop).expect_err("no such time");
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
        assert!(error.message().contains("TIME"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_with_a_time_beyond_reason_is_an_error() {
    // Granted, with a time and a token that are the largest number of the protocol.
    let server = Scripted::start(|words| {
        words[0].starts_with("EVAL").then(|| format!("*3\r\n:0\r\n:{0}\r\n:{0}\r\n", i64::MAX))
    });
    let client = client(&with_options(&server.url(), "operation_timeout=1s")).await;
    let tried = bounded(SOON, "an answer", client.lock("job").expect("a name").try_acquire()).await;
    assert_eq!(kind(tried), ErrorKind::Server);
    let rate = libdlock::Rate::new(1, Duration::from_secs(1));
    let limiter = client.rate_limiter("api", rate).expect("a name");
    assert_eq!(kind(bounded(SOON, "an answer", limiter.try_acquire(1)).await), ErrorKind::Server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_ends_at_a_reply_that_no_version_gives() {
    for reply in [":1\r\n", "-ERR unknown to everybody\r\n"] {
        let server = Scripted::start(move |words| words[0].starts_with("EVAL").then(|| reply.to_owned()));
        let client = client(&server.url()).await;
        let began = Instant::now();
        let waited = client.lock("job").expect("a name").acquire_timeout(SOON).await;
        assert_eq!(kind(waited), ErrorKind::Server, "{reply:?}");
        assert!(began.elapsed() < SOON / 5, "{reply:?}: retried until the deadline");
    }
}

const LOOKED_FOR: usize = 100;

fn now_us() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros()
}

/// One client waits without a deadline for locks that the server shows as held until the first look, which it answers by
/// `look`; every acquire after that is granted. The waits that were refused, and how many were not over in time.
async fn waits_after_a_look(look: fn(usize) -> String) -> (Vec<libdlock::Error>, usize) {
    let looked = AtomicBool::new(false);
    let server = Scripted::start(move |words| match (words[0].as_str(), words.get(2)?.parse::<usize>().ok()?) {
        ("EVALSHA", 4) if looked.load(Ordering::SeqCst) => Some(format!("*3\r\n:0\r\n:{0}\r\n:{0}\r\n", now_us())),
        ("EVALSHA", 4) => Some(format!("*5\r\n:1\r\n:{}\r\n:-1\r\n$1\r\nx\r\n:1\r\n", now_us())),
        ("EVALSHA", keys) if keys > 4 => {
            looked.store(true, Ordering::SeqCst);
            Some(look(keys / 3))
        }
        _ => None,
    });
    let client = client(&with_options(&server.url(), "poll_interval=200ms")).await;
    let mut waits = JoinSet::new();
    for number in 0..LOOKED_FOR {
        let lock = client.lock(&format!("job-{number}")).expect("a name");
        waits.spawn(async move { lock.acquire().await.map(|held| drop(libdlock::embed::into_grant(held))) });
    }
    let mut refused = Vec::new();
    while let Ok(Some(waited)) = tokio::time::timeout(SOON / 2, waits.join_next()).await {
        refused.extend(waited.expect("no panic").err());
    }
    (refused, waits.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_that_is_refused_for_good_ends_nobodys_wait() {
    for look in [|_| "-ERR unknown to everybody\r\n".to_owned(), |_| ":1\r\n".to_owned()] as [fn(usize) -> String; 2] {
        let (refused, waiting) = waits_after_a_look(look).await;
        assert!(refused.is_empty(), "{} waits ended, such as: {}", refused.len(), refused[0]);
        assert_eq!(waiting, 0, "waits that nobody granted");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_answered_for_too_few_locks_leaves_none_asleep() {
    let all_but_one = |locks: usize| {
        let free = ":-2\r\n$0\r\n\r\n:-1\r\n".repeat(locks - 1);
        format!("*{}\r\n:{}\r\n{free}", 1 + 3 * (locks - 1), now_us())
    };
    let (refused, waiting) = waits_after_a_look(all_but_one).await;
    assert_eq!((refused.len(), waiting), (0, 0), "refused, and still waiting");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_scripts_is_an_error_after_two() {
    let sent = Arc::new(AtomicU64::new(0));
    let counted = sent.clone();
    let server = Scripted::start(move |words| {
        // Which rights the user has is asked too, in the background.
        let is_of_the_call = words[0] == "EVAL" && !words[1].contains("acl_check_cmd");
        counted.fetch_add(u64::from(is_of_the_call), Ordering::SeqCst);
        words[0].starts_with("EVAL").then(|| "-NOSCRIPT No matching script. Please use EVAL.\r\n".to_owned())
    });
    let client = client(&server.url()).await;
    let begun = Instant::now();
    let error = client.lock("job").expect("a name").try_acquire().await.map(drop).expect_err("no script runs");
    assert!(begun.elapsed() < Duration::from_secs(1), "after {:?}", begun.elapsed());
    assert_eq!(error.kind(), ErrorKind::Server, "{error}");
    assert!(error.message().contains("NOSCRIPT"), "{error}");
    assert_eq!(sent.load(Ordering::SeqCst), 2);
}

/// The server says so in an error without a code of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_that_a_script_lacks_is_named_at_once() {
    for lacks in ["-hset", "-set", "-pexpire", "-time", "-evalsha -eval"] {
        let server = Server::options().user(&format!("app on >secret ~* &* +@all {lacks}")).start();
        let url = format!("redis://app:secret@{}", server.address());
        // Connecting needs TIME too, and says so.
        let client = match Client::connect(&url).await {
            Ok(client) => client,
            Err(error) => {
                assert_eq!((lacks, error.kind()), ("-time", ErrorKind::NoPermission), "{error}");
                continue;
            }
        };
        let begun = Instant::now();
        let waited = client.lock("job").expect("a name").acquire_timeout(SOON).await;
        let error = waited.map(drop).expect_err("forbidden");
        assert_eq!(error.kind(), ErrorKind::NoPermission, "{lacks}: {error}");
        assert!(error.message().contains("the user needs ~"), "{lacks}: {error}");
        assert!(begun.elapsed() <= slack() * 2, "{lacks}: after {:?}", begun.elapsed());
    }
}
