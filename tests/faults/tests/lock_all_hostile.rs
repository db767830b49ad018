//! Several locks as one against servers and neighbours that no healthy fleet has: nothing is half held, and no wait is endless
//! that has an end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use libdlock::{Client, ErrorKind, LockAll, Result, Wait};
use libdlock::{lease::HolderId, lock::AcquireOptions};
use libdlock_faults::{Peer, SOON, bounded, client, is_held, slack, wait_until_waiting, with_options, worker};
use libdlock_testkit::{Action, Proxy, Scripted, Server, eventually, within};
use tokio::task::{JoinHandle, JoinSet};

const NAMES: [&str; 3] = ["a", "b", "c"];

fn set(client: &Client) -> LockAll {
    client.lock_all(NAMES).expect("names")
}

fn waits(set: LockAll) -> JoinHandle<Result<libdlock::HeldAll>> {
    tokio::spawn(async move { set.acquire().await })
}

fn now_us() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros()
}

/// A reply to the joint request, and whether it is one that a script can give.
fn absurd() -> Vec<(&'static str, String)> {
    let now = now_us();
    let list = |items: &[&str]| format!("*{}\r\n:{now}\r\n{}", items.len() + 1, items.concat());
    let (zero, one, four, nine) = (":0\r\n", ":1\r\n", ":4\r\n", ":9\r\n");
    let (text, token) = ("$0\r\n\r\n", ":1795478742250081\r\n");
    vec![
        ("nothing but a time", list(&[])),
        ("no time", "*0\r\n".to_owned()),
        ("one of three", list(&[zero, token, text])),
        ("four of three", list(&[zero, token, text].repeat(4))),
        ("a piece of one", list(&[zero, token, text, zero, token, text, zero])),
        ("a code from nowhere", list(&[nine, zero, text].repeat(3))),
        ("a holder that is none", list(&[one, one, zero].repeat(3))),
        ("a negative token", list(&[zero, ":-1\r\n", text].repeat(3))),
        ("no list", ":1\r\n".to_owned()),
        ("two granted and one busy", list(&[zero, token, text, one, one, text, zero, token, text])),
        ("all free and none granted", list(&[four, zero, text].repeat(3))),
        ("one granted and two free", list(&[zero, token, text, four, zero, text, four, zero, text])),
    ]
}

/// Whatever the server says, the call ends, in time, without a hold; what was said to be granted is released.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_absurd_reply_is_an_end_and_no_hold() {
    for (what, reply) in absurd() {
        let releases = Arc::new(AtomicU32::new(0));
        let released = releases.clone();
        let server = Scripted::start(move |words| {
            if !words[0].starts_with("EVALSHA") {
                return None;
            }
            match words[2].as_str() {
                "12" => Some(reply.clone()),
                // One alone is another's.
                "4" => Some(format!("*5\r\n:1\r\n:{}\r\n:60000\r\n$1\r\nx\r\n:0\r\n", now_us())),
                "3" => {
                    released.fetch_add(1, Ordering::SeqCst);
                    Some("*3\r\n:1\r\n:1\r\n:-1\r\n".to_owned())
                }
                _ => Some(":1\r\n".to_owned()),
            }
        });
        let client = client(&with_options(&server.url(), "operation_timeout=1s")).await;
        for wait in [Wait::Try, Wait::For(Duration::from_millis(300))] {
            let began = Instant::now();
            let how = AcquireOptions::default().wait(wait);
            let taken = bounded(SOON, what, set(&client).acquire_as(HolderId::fresh(), how)).await;
            let error = taken.map_or_else(|error| error.kind(), |held| panic!("{what}, {wait:?}: {held:?}"));
            let ends = [ErrorKind::Server, ErrorKind::Busy, ErrorKind::OutcomeUnknown, ErrorKind::Connection];
            assert!(ends.contains(&error), "{what}: {error:?}");
            assert!(began.elapsed() <= Duration::from_secs(1) + slack() * 4, "{what}: {:?}", began.elapsed());
        }
        let granted = what.contains("granted and");
        eventually(SOON, what, || !granted || releases.load(Ordering::SeqCst) > 0);
        assert_eq!(client.stats().lock.held, 0, "{what}");
    }
}

/// A hundred sets at once, of three to six of twenty locks each, in five clients.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_sets_that_overlap_all_have_their_turns() {
    const LOCKS: usize = 20;
    const TURNS: u32 = 5;
    let server = Server::start();
    let inside: Arc<Vec<AtomicU32>> = Arc::new((0..LOCKS).map(|_| AtomicU32::new(0)).collect());
    let mut clients = Vec::new();
    for _ in 0..5 {
        clients.push(client(&server.url()).await);
    }
    let mut takers = JoinSet::new();
    for number in 0..100_usize {
        let (client, inside) = (clients[number % 5].clone(), inside.clone());
        takers.spawn(async move {
            for _ in 0..TURNS {
                let mut places: Vec<usize> = (0..LOCKS).collect();
                fastrand::shuffle(&mut places);
                places.truncate(fastrand::usize(3..=6));
                let all = client.lock_all(places.iter().map(|place| format!("job-{place}"))).expect("names");
                let held = all.acquire().await.expect("acquired");
                for place in &places {
                    assert_eq!(inside[*place].fetch_add(1, Ordering::SeqCst), 0, "job-{place} has one holder");
                }
                tokio::task::yield_now().await;
                for place in &places {
                    inside[*place].fetch_sub(1, Ordering::SeqCst);
                }
                held.release().await.expect("released");
            }
        });
    }
    bounded(SOON * 6, "all have had their turns", async {
        while let Some(done) = takers.join_next().await {
            done.expect("no panic");
        }
    })
    .await;
    eventually(SOON, "nothing is left", || server.keys().iter().all(|key| key.starts_with("redisson_lock_token:")));
}

/// It has `a` and waits for `b` when the server takes no writes any more, for longer than the lease and for less.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_turns_read_only_leaves_no_half_set() {
    for (outage, lease) in [(300, "60s"), (2_500, "1s")] {
        let server = Server::start();
        let (one, other) = (
            client(&with_options(&server.url(), &format!("lease={lease}&operation_timeout=1s"))).await,
            client(&with_options(&server.url(), "lease=1s&operation_timeout=1s")).await,
        );
        let busy = other.lock("b").expect("a name").acquire().await.expect("acquired");
        let waiter = waits(set(&one));
        wait_until_waiting(&server, "b");
        assert!(is_held(&server, "a"));
        // It never comes to a replication: nobody listens there.
        server.cmd(&["REPLICAOF", "127.0.0.1", "1"]);
        tokio::time::sleep(Duration::from_millis(outage)).await;
        server.cmd(&["REPLICAOF", "NO", "ONE"]);
        drop(busy);
        match bounded(SOON, "it ends", waiter).await.expect("no panic") {
            Ok(held) => {
                assert!(held.is_valid() && NAMES.iter().all(|name| is_held(&server, name)));
                held.release().await.expect("released");
            }
            Err(error) => assert!(matches!(error.kind(), ErrorKind::Connection | ErrorKind::Server), "{error}"),
        }
        eventually(SOON, "nobody holds any", || NAMES.iter().all(|name| !is_held(&server, name)));
    }
}

/// Redisson's hold has no libdlock owner, may be entered twice, and ends without a word to the queue.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redisson_hold_in_the_set_is_waited_for() {
    const OWNER: &str = "6e3814a1-e847-452b-a982-45baf93a1df2:31";
    let server = Server::start();
    let client = client(&server.url()).await;
    server.cmd(&["HSET", "b", OWNER, "2"]);
    server.cmd(&["PEXPIRE", "b", "30000"]);
    let error = set(&client).acquire_timeout(Duration::from_millis(200)).await.map(drop).expect_err("busy");
    assert_eq!((error.kind(), error.name()), (ErrorKind::Busy, Some("b")), "{error}");
    assert!(error.message().contains(OWNER), "{error}");
    let waiter = waits(set(&client));
    eventually(SOON, "it has the first", || is_held(&server, "a"));
    wait_until_waiting(&server, "b");
    assert!(!is_held(&server, "c"));
    server.cmd(&["DEL", "b"]);
    server.cmd(&["PUBLISH", "redisson_lock__channel:{b}", "0"]);
    let held = bounded(SOON, "it hears", waiter).await.expect("no panic").expect("acquired");
    held.release().await.expect("released");
    assert!(NAMES.iter().all(|name| !is_held(&server, name)));
}

/// What is in the way is of another kind, and appears while the set waits for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_turns_into_something_else_ends_the_wait() {
    let server = Server::start();
    let client = client(&with_options(&server.url(), "lease=60s")).await;
    for (key, value) in [("b", "x"), ("redisson_lock_token:{b}", "none")] {
        server.cmd(&["HSET", "b", "6e3814a1-e847-452b-a982-45baf93a1df2:31", "1"]);
        let waiter = waits(set(&client));
        wait_until_waiting(&server, "b");
        server.cmd(&["DEL", "b"]);
        server.cmd(&["SET", key, value]);
        server.cmd(&["PUBLISH", "redisson_lock__channel:{b}", "0"]);
        let error = bounded(SOON, "it ends", waiter).await.expect("no panic").map(drop).expect_err("no lock");
        assert_eq!((error.kind(), error.name()), (ErrorKind::WrongType, Some("b")), "{error}");
        eventually(SOON, "a and c are free", || !is_held(&server, "a") && !is_held(&server, "c"));
        assert_eq!(server.cmd(&["GET", key]).text(), value, "it was left alone");
        server.cmd(&["FLUSHALL"]);
    }
}

/// It has `a` and waits for `b` while the server's clock jumps: by an hour ahead, with which `a` is over, or back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_jumps_leaves_no_half_set() {
    for jump in [3_600_000_000, -3_600_000_000, 800_000, -800_000] {
        let (server, clock) = Server::with_clock();
        let url = with_options(&server.url(), "lease=1s");
        let (one, other) = (client(&url).await, client(&url).await);
        let busy = other.lock("b").expect("a name").acquire().await.expect("acquired");
        let waiter = waits(set(&one));
        eventually(SOON, "it has the first", || is_held(&server, "a"));
        wait_until_waiting(&server, "b");
        clock.advance(jump);
        // At the least it is there for as long as anybody believes in it.
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        drop(busy);
        let held = bounded(SOON, "it has all", waiter).await.expect("no panic").expect("acquired");
        assert!(held.is_valid(), "{jump}");
        for (name, token) in held.tokens() {
            assert!(is_held(&server, name), "{jump}: {name}");
            let last = server.cmd(&["GET", &format!("redisson_lock_token:{{{name}}}")]);
            assert!(last.text().parse::<u64>().expect("a token") >= token, "{jump}: {name}");
        }
        held.release().await.expect("released");
        assert!(NAMES.iter().all(|name| !is_held(&server, name)), "{jump}");
    }
}

/// What it had went to another while it stood still; it does not believe that it has it.
#[test]
fn a_waiter_that_stood_still_takes_anew_what_it_lost() {
    let server = Server::start();
    let mut waiter = Peer::start(worker!(), &with_options(&server.url(), "lease=1s"));
    let long = with_options(&server.url(), "lease=60s");
    let (mut holder, mut thief) = (Peer::start(worker!(), &long), Peer::start(worker!(), &long));
    holder.acquire("c");
    let waiting = waiter.request("take-all 1 a,b,c -1");
    eventually(SOON, "it has two", || is_held(&server, "a") && is_held(&server, "b"));
    wait_until_waiting(&server, "c");
    waiter.process().pause();
    let stolen = thief.acquire("b");
    holder.release("c");
    waiter.process().resume();
    assert!(waiter.answer_within(waiting, Duration::from_millis(1_500)).is_none(), "b is another's");
    thief.release("b");
    let values = waiter.answer(waiting, SOON).expect("it has all");
    let tokens: Vec<u64> = values[1..].iter().map(|token| token.parse().expect("a token")).collect();
    assert!(tokens.len() == 3 && tokens[1] > stolen.token, "{tokens:?} after {}", stolen.token);
    assert_eq!(waiter.ok("has-all 1 a,b,c"), ["true"]);
    waiter.ok("leave-all 1 a,b,c");
    eventually(SOON, "nobody holds any", || NAMES.iter().all(|name| !is_held(&server, name)));
}

/// Its caller goes while the reply of each request of a wait is held back: of the joint ones and of the single ones.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_goes_at_any_request_leaves_nothing() {
    for busy in NAMES {
        for requests in 0..6 {
            let server = Server::start();
            let proxy = Proxy::start(server.address());
            let (one, other) = (client(&with_options(&proxy.url(), "lease=60s")).await, client(&server.url()).await);
            let warm = one.lock_all(["warm-1", "warm-2"]).expect("names").acquire().await.expect("acquired");
            warm.release().await.expect("released");
            let in_the_way = other.lock(busy).expect("a name").acquire().await.expect("acquired");
            let held_back: Vec<_> = (0..=requests).map(|_| proxy.on(&["EVALSHA"], Action::HoldReply)).collect();
            let waiter = waits(set(&one));
            for (at, reply) in held_back.iter().enumerate() {
                if !within(Duration::from_millis(700), || reply.hits() == 1) {
                    break; // so many are not made
                }
                if at < requests {
                    reply.let_go();
                } else {
                    waiter.abort();
                }
            }
            waiter.abort();
            proxy.heal();
            in_the_way.release().await.expect("released");
            eventually(SOON, "nobody holds any and nobody waits", || {
                server.keys().iter().all(|key| key.starts_with("redisson_lock_token:"))
            });
        }
    }
}
