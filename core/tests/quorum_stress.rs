//! Locks on several servers under loads and faults at once: what is left, and how long it takes.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use crate::common::quorum::{KEPT, NAME, PATIENCE, Servers, listening};
use libdlock_testkit::server::Data;
use libdlock_testkit::{Server, eventually};

/// How many of this process there are.
fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

/// How many scripts it has run.
fn scripts(server: &Server) -> usize {
    let stats = server.cmd(&["INFO", "commandstats"]).text().to_owned();
    let calls = |verb: &str| {
        let line = stats.lines().find_map(|line| line.strip_prefix(verb)?.strip_prefix(":calls="));
        line.map_or(0, |rest| rest.split(',').next().unwrap().parse().unwrap())
    };
    calls("cmdstat_evalsha") + calls("cmdstat_eval")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_restarts_again_and_again_stops_nothing() {
    let mut servers = Servers::start(3);
    let (client, said) = listening(&servers.url(&format!("{KEPT}&lease=3s")), &[]).await;
    let (client, mut held) = (client.unwrap(), Vec::new());
    for number in 0..300 {
        held.push(client.lock(&format!("held-{number}")).unwrap().acquire_timeout(PATIENCE).await.unwrap());
    }
    let (begun, mut restarts) = (Instant::now(), 0);
    // Two leases.
    while begun.elapsed() < Duration::from_secs(6) {
        let restarting = tokio::task::spawn_blocking(move || {
            servers.servers[1].restart(Data::Lost);
            servers
        });
        let extending = Instant::now();
        held[restarts % 300].extend(Duration::from_secs(4)).await.unwrap();
        assert!(extending.elapsed() < Duration::from_secs(2), "{:?}", extending.elapsed());
        servers = restarting.await.unwrap();
        restarts += 1;
    }
    let stats = client.stats().lock;
    assert_eq!((stats.held, stats.lost), (300, 0));
    assert!(said.warnings().len() < restarts / 2 + 20, "{} warnings, {restarts} restarts", said.warnings().len());
    drop(held);
    servers.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_locks_beside_a_hung_server_leave_nothing() {
    let servers = Servers::start(3);
    // A slow machine takes more than the default second to answer 2,000 requests that are made at once.
    let client = servers.ready_client(&format!("{KEPT}&lease=60s&response_timeout=20s&operation_timeout=60s")).await;
    servers.servers[2].pause();
    let take = |number| {
        let lock = client.lock(&format!("held-{number}")).unwrap();
        tokio::spawn(async move { lock.acquire_timeout(PATIENCE).await })
    };
    let tries: Vec<_> = (0..2_000).map(take).collect();
    let mut frees = Vec::new();
    for tried in tries {
        frees.push(tokio::spawn(tried.await.unwrap().unwrap().release()));
    }
    for freed in frees {
        freed.await.unwrap().unwrap();
    }
    servers.servers[2].resume();
    servers.nothing_is_left();
}

/// Polls it so often, with time in between for what it waits for, and drops it; whether it was done.
async fn done_after<T>(polls: usize, work: impl Future<Output = T>) -> bool {
    let mut work = pin!(work);
    for _ in 0..polls {
        if work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            return true;
        }
        tokio::time::sleep(Duration::from_micros(300)).await;
    }
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_may_go_at_any_point_while_a_server_hangs() {
    let servers = Servers::start(3);
    let client = servers.ready_client(&format!("{KEPT}&lease=60s")).await;
    let lock = client.lock(NAME).unwrap();
    for hung in [None, Some(1), Some(2)] {
        hung.iter().for_each(|hung: &usize| servers.servers[*hung].pause());
        let mut cut_off = 0;
        for polls in 0..40 {
            cut_off += usize::from(!done_after(polls, lock.acquire_timeout(PATIENCE)).await);
            cut_off += usize::from(!done_after(polls, lock.try_acquire()).await);
            let held = lock.acquire_timeout(PATIENCE).await.unwrap();
            done_after(polls, held.extend(Duration::from_secs(10))).await;
            done_after(polls, held.release()).await;
        }
        assert!((2..80).contains(&cut_off), "{cut_off} were cut off");
        hung.iter().for_each(|hung: &usize| servers.servers[*hung].resume());
        servers.nothing_is_left();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_at_any_point_while_a_server_hangs_takes_a_moment() {
    let servers = Servers::start(3);
    servers.ready_client(KEPT).await.close().await;
    for at in 0..24 {
        let client = servers.client(&format!("{KEPT}&lease=60s")).await;
        if at % 3 == 1 {
            servers.servers[1].pause();
        }
        let waiting: Vec<_> = (0..20)
            .map(|number| {
                let lock = client.lock(&format!("held-{at}-{}", number % 10)).unwrap();
                tokio::spawn(async move { lock.acquire().await })
            })
            .collect();
        tokio::time::sleep(Duration::from_micros(200 * at)).await;
        let (closing, releases) = (Instant::now(), at % 4 > 0);
        match releases {
            true => drop(client.close_releasing().await),
            false => client.close().await,
        }
        let took = closing.elapsed();
        servers.servers[1].resume();
        // A response_timeout is 300 ms, and a close without releases takes 50 ms.
        assert!(took < Duration::from_millis(if releases { 3_000 } else { 1_000 }), "{took:?}");
        for waited in waiting {
            drop(waited.await.unwrap());
        }
        if releases {
            let its = format!("held-{at}-");
            let left = || servers.servers.iter().any(|server| server.keys().iter().any(|key| key.starts_with(&its)));
            eventually(PATIENCE, "nothing is left of a client that released", || !left());
        }
    }
}

/// Each of them hears each message, and asks once or a little more.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_waiters_of_fifty_clients_do_not_stampede() {
    const EACH: usize = 3;
    let servers = Servers::start(3);
    let (mut clients, mut waiting) = (Vec::new(), Vec::new());
    for _ in 0..50 {
        clients.push(servers.client(&format!("{KEPT}&poll_interval=5s")).await);
    }
    let before = scripts(&servers.servers[0]);
    for client in &clients {
        let lock = client.lock(NAME).unwrap();
        waiting.push(tokio::spawn(async move {
            for _ in 0..EACH {
                lock.acquire_timeout(PATIENCE * 3).await.unwrap().release().await.unwrap();
            }
        }));
    }
    for waited in waiting {
        waited.await.unwrap();
    }
    let each = (scripts(&servers.servers[0]) - before) / (50 * EACH);
    assert!(each < 3 * 50, "{each} scripts for a hand-over");
    servers.nothing_is_left();
}

/// Both wait for a connection that is just being replaced, and may be sent in any order.
#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_overtakes_its_acquire_leaves_nothing() {
    let servers = Servers::start(3).behind_proxies();
    let client = servers.ready_client(&format!("{KEPT}&lease=60s")).await;
    for round in 0..150 {
        servers.ways[round % 3].reset_all();
        if let Ok(Some(held)) = client.lock(&format!("held-{round}")).unwrap().try_acquire().await {
            held.release().await.unwrap();
        }
    }
    servers.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: 12,000 locks"]
async fn what_is_owed_to_a_server_that_is_down_does_not_pile_up() {
    let mut servers = Servers::start(3);
    let client = servers.ready_client(&format!("{KEPT}&lease=20s")).await;
    servers.servers[2].stop();
    let (lock, before) = (client.lock(NAME).unwrap(), tasks());
    for _ in 0..12_000 {
        lock.acquire_timeout(PATIENCE).await.unwrap().release().await.unwrap();
    }
    assert!(tasks() < before + 10_500, "{} tasks more", tasks() - before);
    servers.servers[2].start_again();
    eventually(PATIENCE, "what is owed is done", || tasks() < before + 50);
}
