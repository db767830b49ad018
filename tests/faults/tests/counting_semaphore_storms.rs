//! Counting semaphores in storms: crowds that leave, processes that are killed, a primary that is none for a while, clients that
//! end with grants on their way, clocks that step, and replies that no version gives.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use libdlock::{Client, Config, CountingSemaphore, ErrorKind, Wait};
use libdlock_faults::{Peer, SOON, bounded, client, kind, permits::most_at_once, with_options, worker};
use libdlock_testkit::{Action, Proxy, Scripted, Server, eventually, within};
use tokio::task::JoinSet;

const QUEUE: &str = "dlock_counting_queue:{slots}";
const HOUR: i64 = 3_600_000_000;

fn available(server: &Server) -> i64 {
    available_of(server, "slots")
}

fn available_of(server: &Server, name: &str) -> i64 {
    let text = server.cmd(&["GET", name]);
    if text.is_nil() { 0 } else { text.text().parse().expect("a number") }
}

fn set(server: &Server, permits: i64) {
    server.cmd(&["SET", "slots", &permits.to_string()]);
}

#[track_caller]
fn is_whole(server: &Server, total: i64) {
    let seen = || (available(server), server.cmd(&["ZCARD", QUEUE]).int());
    if !within(SOON, || seen() == (total, 0)) {
        panic!("{:?} permits and waiters for {total}", seen());
    }
}

fn pause(most_us: u64) -> Duration {
    Duration::from_micros(fastrand::u64(..most_us))
}

/// So many callers draw one to three permits each, thrice; a fifth of them leave at any time. All of them are over in time.
async fn crowd_that_leaves(slots: &CountingSemaphore, callers: usize) {
    let mut tasks = JoinSet::new();
    for caller in 0..callers {
        let own = slots.clone();
        let one = async move {
            for round in 0..3 {
                let permits = 1 + ((caller + round) % 3) as u32;
                own.acquire_many(permits).await.expect("acquire");
                tokio::task::yield_now().await;
                // Whoever leaves with permits in its hands brings them back all the same.
                let back = own.clone();
                tokio::spawn(async move { back.release_many(permits).await })
                    .await
                    .expect("no panic")
                    .expect("release");
            }
        };
        if caller % 5 == 0 {
            let slots = slots.clone();
            tasks.spawn(async move {
                for _ in 0..3 {
                    let acquired = tokio::time::timeout(pause(20_000), slots.acquire_many(2)).await;
                    if let Ok(acquired) = acquired {
                        acquired.expect("acquire");
                        slots.release_many(2).await.expect("release");
                    }
                }
            });
        } else {
            tasks.spawn(one);
        }
    }
    bounded(SOON * 6, "all callers", async { while tasks.join_next().await.is_some_and(|one| one.is_ok()) {} }).await;
    assert!(tasks.is_empty(), "a caller failed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_callers_of_which_many_leave_cost_no_permit() {
    let server = Server::start();
    for url in ["memory://thousand".to_owned(), server.url()] {
        let clients = [client(&url).await, client(&url).await];
        let slots = clients.each_ref().map(|client| client.counting_semaphore("slots").expect("a name"));
        slots[0].release_many(10).await.expect("release");
        tokio::join!(crowd_that_leaves(&slots[0], 500), crowd_that_leaves(&slots[1], 500));
        let began = Instant::now();
        while slots[0].inspect().await.map(|seen| (seen.available, seen.queued)).expect("a look") != (10, 0) {
            assert!(began.elapsed() < SOON, "{:?}", slots[0].inspect().await);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(clients[0].stats().counting_semaphore.waiting, 0);
    }
}

/// What they had is gone; never is there more than there was, and those that live go on.
#[test]
fn killed_processes_cost_what_they_had_and_no_more() {
    const PERMITS: i64 = 12;
    const CALLERS: usize = 2;
    const MOST_EACH: i64 = 2;
    for round in 0..4 {
        let server = Server::start();
        set(&server, PERMITS);
        let mut peers: Vec<Peer> = (0..4).map(|_| Peer::start(worker!(), &server.url())).collect();
        let turns = |caller| format!("draw-turns {caller} slots {MOST_EACH} 150");
        let requests: Vec<Vec<u64>> =
            peers.iter_mut().map(|peer| (1..=CALLERS).map(|caller| peer.request(&turns(caller))).collect()).collect();
        let scripts = || server.info("commandstats", "cmdstat_evalsha:calls");
        let before = scripts();
        eventually(SOON, "turns", || scripts() > before + 40 + 30 * round);
        peers[0].process().kill();
        peers[1].process().kill();
        for (peer, requests) in peers.iter_mut().zip(&requests).skip(2) {
            for id in requests {
                peer.answer(*id, SOON * 3).expect("every turn ends well");
            }
        }
        let least = PERMITS - 2 * CALLERS as i64 * MOST_EACH;
        // A dead process may stand in the queue until the next waiter finds it.
        assert!((least..=PERMITS).contains(&available(&server)), "{} permits", available(&server));
        let holds: Vec<_> = peers.iter_mut().skip(2).flat_map(Peer::holds).collect();
        assert!(most_at_once(&holds) <= PERMITS as u64);
    }
}

#[test]
fn a_primary_that_is_none_for_a_while_costs_no_permit() {
    const TOTAL: i64 = 3;
    let server = Server::start();
    set(&server, TOTAL);
    let mut peers: Vec<Peer> = (0..3).map(|_| Peer::start(worker!(), &server.url())).collect();
    let turns = |caller| format!("draw-turns {caller} slots {TOTAL} 60");
    let requests: Vec<Vec<u64>> =
        peers.iter_mut().map(|peer| (1..=2).map(|caller| peer.request(&turns(caller))).collect()).collect();
    let done = AtomicBool::new(false);
    let holds = std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in (0..40).take_while(|_| !done.load(Ordering::Relaxed)) {
                std::thread::sleep(Duration::from_millis(60));
                server.cmd(&["REPLICAOF", "127.0.0.1", "1"]);
                std::thread::sleep(Duration::from_millis(40));
                server.cmd(&["REPLICAOF", "NO", "ONE"]);
            }
        });
        for (peer, requests) in peers.iter_mut().zip(&requests) {
            for id in requests {
                peer.answer(*id, SOON * 3).expect("every turn ends well");
            }
        }
        done.store(true, Ordering::Relaxed);
        peers.iter_mut().flat_map(Peer::holds).collect::<Vec<_>>()
    });
    assert_eq!(most_at_once(&holds), TOTAL as u64);
    is_whole(&server, TOTAL);
}

/// How a client ends with acquires under way.
#[derive(Clone, Copy, Debug)]
enum End {
    Closes,
    ClosesReleasing,
    Dropped,
}

/// Permits that no caller was told of are back, or the client has said that they may be missing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_ends_at_any_time_gives_back_or_says() {
    const TOTAL: i64 = 5;
    let server = Server::start();
    let (mut warned, mut granted_in_all) = (0, 0);
    for round in 0..90u64 {
        let end = [End::Closes, End::ClosesReleasing, End::Dropped][round as usize % 3];
        // A name for each round: what a client gives back after it said that permits may be missing comes late, and is its own.
        let name = format!("slots-{round}");
        server.cmd(&["SET", &name, &TOTAL.to_string()]);
        let told = Arc::new(Mutex::new(Vec::new()));
        let (seen, mut config) = (told.clone(), Config::from_url(&server.url()).expect("a URL"));
        config.on_event(Arc::new(move |event| seen.lock().expect("no panic").push(event.message.clone())));
        let client = Client::connect_with(config).await.expect("connect");
        let slots = client.counting_semaphore(&name).expect("a name");
        let callers: Vec<_> = (0..12)
            .map(|_| {
                let slots = slots.clone();
                tokio::spawn(async move { slots.acquire().await.is_ok() })
            })
            .collect();
        tokio::time::sleep(pause(round * 30 + 1)).await;
        match end {
            End::Closes => client.close().await,
            End::ClosesReleasing => client.close_releasing().await.expect("close"),
            End::Dropped => {
                callers.iter().for_each(|caller| caller.abort());
                drop(slots);
                drop(client);
            }
        }
        let mut granted = 0;
        for caller in callers {
            granted += i64::from(bounded(SOON, "a caller", caller).await.unwrap_or(false));
        }
        granted_in_all += granted;
        let whole = within(SOON, || {
            let said = told.lock().expect("no panic").iter().any(|event| event.contains("may be missing"));
            said || available_of(&server, &name) == TOTAL - granted
        });
        assert!(whole, "{end:?}: {} of {TOTAL}, {granted} granted: {:?}", available_of(&server, &name), told.lock());
        if available_of(&server, &name) != TOTAL - granted {
            assert!(!matches!(end, End::ClosesReleasing), "it had the time: {:?}", told.lock());
            warned += 1;
        }
    }
    println!("{granted_in_all} granted, {warned} times permits were missing and it was said");
}

/// A release is held up while the clock steps back, and its repeat is done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_up_release_brings_nothing_when_the_clock_stepped() {
    let (server, clock) = Server::with_clock();
    let proxy = Proxy::start(server.address());
    let slots = client(&with_options(&proxy.url(), "response_timeout=500ms")).await;
    let slots = slots.counting_semaphore("slots").expect("a name");
    let direct = client(&server.url()).await.counting_semaphore("slots").expect("a name");
    for step in [-HOUR, HOUR] {
        set(&server, 5);
        slots.add_permits(-1).await.expect("there");
        let held = proxy.on(&["EVALSHA", "slots"], Action::HoldRequest);
        let releasing = {
            let slots = slots.clone();
            tokio::spawn(async move { slots.release_many(2).await })
        };
        held.expect(SOON);
        clock.advance(step);
        let released = bounded(SOON, "the repeat", releasing).await.expect("no panic");
        // After a step ahead nobody knows whether it was done, and it was not.
        assert!(step > 0 && kind(released.clone()) == ErrorKind::OutcomeUnknown || released.is_ok(), "{released:?}");
        let after = if released.is_ok() { 6 } else { 4 };
        assert_eq!(available(&server), after);
        clock.advance(HOUR / 30);
        direct.release().await.expect("release");
        direct.release().await.expect("release");
        proxy.heal();
        assert!(!within(Duration::from_millis(700), || available(&server) != after + 2), "{}", available(&server));
    }
}

/// Each call ends with an error or an answer, at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn absurd_replies_end_every_call() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_micros();
    let numbers = [i64::MAX, i64::MIN, -1, 0, 1, 7];
    let mut replies = vec![
        ":1\r\n".to_owned(),
        "$-1\r\n".to_owned(),
        "*0\r\n".to_owned(),
        "*-1\r\n".to_owned(),
        "+OK\r\n".to_owned(),
        format!("*1\r\n:{now}\r\n"),
        format!("*2\r\n:{now}\r\n$3\r\nabc\r\n"),
        format!("*5\r\n:1\r\n:{now}\r\n:0\r\n$3\r\nabc\r\n:0\r\n"),
        "-ERR nobody says this\r\n".to_owned(),
    ];
    for number in numbers {
        replies.push(format!("*2\r\n:0\r\n:{number}\r\n"));
        replies.push(format!("*2\r\n:{now}\r\n:{number}\r\n"));
        replies.push(format!("*3\r\n:{now}\r\n:{number}\r\n:{number}\r\n"));
        replies.push(format!("*4\r\n:3\r\n:{now}\r\n:{number}\r\n:{number}\r\n"));
        replies.push(format!("*5\r\n:1\r\n:{now}\r\n:{number}\r\n:{number}\r\n:{number}\r\n"));
    }
    for reply in replies {
        let said = reply.clone();
        let server = Scripted::start(move |words| words[0].starts_with("EVAL").then(|| said.clone()));
        let client = client(&with_options(&server.url(), "operation_timeout=300ms&response_timeout=200ms")).await;
        let slots = client.counting_semaphore("slots").expect("a name");
        let calls = async {
            drop(slots.try_acquire_many(3).await);
            drop(slots.acquire_timeout(Duration::from_millis(200)).await);
            drop(slots.release().await);
            drop(slots.add_permits(-1).await);
            drop(slots.try_set_permits(1).await);
            drop(slots.drain().await);
            drop(slots.inspect().await);
            let several: Vec<_> = (0..8)
                .map(|_| {
                    let slots = slots.clone();
                    tokio::spawn(async move { slots.acquire_within(2, Wait::For(Duration::from_millis(200))).await })
                })
                .collect();
            for one in several {
                drop(one.await.expect("no panic"));
            }
        };
        bounded(SOON, "every call", calls).await;
        client.close().await;
    }
}
