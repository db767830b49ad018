//! Servers of a lock on several whose clocks differ, or are set while it is held: tokens grow, and a hold stands on the others.

use std::time::{Duration, Instant};

use crate::common::quorum::{KEPT, NAME, PATIENCE, Servers, has_field};
use libdlock::Client;
use libdlock_testkit::eventually;

const SECOND: i64 = 1_000_000;
const OFFSETS: [i64; 6] = [SECOND / 5, -SECOND / 5, 10 * SECOND, -10 * SECOND, 3_600 * SECOND, -3_600 * SECOND];

/// The lock goes from one client to the other, by a wait.
async fn hand_over(one: &Client, other: &Client, last: u64) -> u64 {
    let held = one.lock(NAME).unwrap().acquire_timeout(PATIENCE).await.unwrap();
    assert!(held.token() > last, "{} after {last}", held.token());
    let lock = other.lock(NAME).unwrap();
    assert!(lock.try_acquire().await.unwrap().is_none());
    let waiting = tokio::spawn(async move { lock.acquire_timeout(PATIENCE).await });
    let first = held.token();
    held.release().await.unwrap();
    let next = waiting.await.unwrap().unwrap();
    assert!(next.token() > first, "{} after {first}", next.token());
    let token = next.token();
    next.release().await.unwrap();
    token
}

/// The odd server is needed: another one is stopped, and then the one with the last token comes back empty.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_ahead_or_behind_stops_no_lock() {
    for offset in OFFSETS {
        let servers = Servers::with_clocks(&[0, offset, 0]);
        let (one, other) = (servers.ready_client(KEPT).await, servers.client(KEPT).await);
        let mut last = 0;
        for still in [None, Some(2), Some(0), Some(1), None] {
            still.into_iter().for_each(|at: usize| servers.servers[at].pause());
            for _ in 0..3 {
                last = hand_over(&one, &other, last).await;
            }
            still.into_iter().for_each(|at: usize| servers.servers[at].resume());
        }
        servers.nothing_is_left();
    }
}

/// Each majority has one server in common with the one before, and the next clock is behind.
#[tokio::test(flavor = "multi_thread")]
async fn tokens_grow_over_majorities_that_share_one_server() {
    let servers = Servers::with_clocks(&[20, 10, 0, -10, -20].map(|ahead| ahead * SECOND));
    let clients = [servers.ready_client(KEPT).await, servers.ready_client(KEPT).await];
    let mut last = 0;
    for (round, still) in [(3, 4), (0, 1), (2, 4), (0, 3), (1, 2), (0, 4), (1, 3), (0, 2)].into_iter().enumerate() {
        let still = [&servers.servers[still.0], &servers.servers[still.1]];
        still.iter().for_each(|server| server.pause());
        let lock = clients[round % 2].lock(NAME).unwrap();
        let held = lock.acquire_timeout(PATIENCE).await.unwrap();
        assert!(held.token() > last, "{} after {last}, round {round}", held.token());
        last = held.token();
        held.release().await.unwrap();
        still.iter().for_each(|server| server.resume());
        // What was sent to them meanwhile is done with.
        servers.nothing_is_left();
    }
}

/// What a holder writes is known to a majority before it has the lock.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_at_a_majority_before_it_is_given_out() {
    let servers = Servers::with_clocks(&[0, 10 * SECOND, -10 * SECOND]);
    let client = servers.client(KEPT).await;
    let lock = client.lock(NAME).unwrap();
    for _ in 0..20 {
        let held = lock.acquire().await.unwrap();
        let known = servers.tokens();
        let knowing = known.iter().filter(|known| known.is_some_and(|known| known >= held.token())).count();
        assert!(knowing >= 2, "{} is known as {known:?}", held.token());
        held.release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_ahead_ends_the_lease_there_and_the_hold_goes_on() {
    for ahead in [10 * SECOND, 3_600 * SECOND] {
        let servers = Servers::with_clocks(&[0, 0, 0]);
        let options = format!("{KEPT}&lease=3s");
        let (one, other) = (servers.client(&options).await, servers.client(&options).await);
        let held = one.lock(NAME).unwrap().acquire().await.unwrap();
        eventually(PATIENCE, "all have granted", || servers.fields() == 3);
        servers.servers[0].clock().advance(ahead);
        assert!(!has_field(&servers.servers[0]), "the lease is over there");
        let lock = other.lock(NAME).unwrap();
        let mut refused = 0;
        let began = Instant::now();
        while servers.servers[0].cmd(&["HGET", NAME, held.owner()]).is_nil() {
            assert!(began.elapsed() < PATIENCE, "the holder takes it again there");
            assert!(!matches!(lock.try_acquire().await, Ok(Some(_))), "two holders");
            refused += 1;
            // The field that this attempt has there for a moment is not to keep the holder out.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(held.is_valid() && refused > 0);
        servers.is_handed_on(held, &lock).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_back_neither_ends_a_hold_nor_keeps_its_lock() {
    for back in [SECOND / 5, 10 * SECOND, 3_600 * SECOND] {
        let servers = Servers::with_clocks(&[0, 0, 0]);
        let options = format!("{KEPT}&lease=2s");
        let (one, other) = (servers.client(&options).await, servers.client(&options).await);
        let held = one.lock(NAME).unwrap().acquire().await.unwrap();
        eventually(PATIENCE, "all have granted", || servers.fields() == 3);
        servers.servers[0].clock().advance(-back);
        tokio::time::sleep(Duration::from_millis(2500)).await;
        assert!(held.is_valid(), "renewed by all");
        let token = held.token();
        held.release().await.unwrap();
        servers.nothing_is_left();
        let next = other.lock(NAME).unwrap().acquire_timeout(PATIENCE).await.unwrap();
        assert!(next.token() > token);
        next.release().await.unwrap();
        // Nor does a holder that is gone, whose lease lasts for longer there.
        let last = next_holder_is_gone(&servers, &options, -back).await;
        let next = other.lock(NAME).unwrap().acquire_timeout(PATIENCE).await.unwrap();
        assert!(next.token() > last);
        next.release().await.unwrap();
    }
}

/// A holder whose client ends without a release while the clock of one server is set by this; its token.
async fn next_holder_is_gone(servers: &Servers, options: &str, set: i64) -> u64 {
    let client = servers.client(options).await;
    let held = client.lock(NAME).unwrap().acquire_timeout(PATIENCE).await.unwrap();
    eventually(PATIENCE, "all have granted", || servers.fields() == 3);
    servers.servers[0].clock().advance(set);
    let token = held.token();
    client.close().await;
    token
}

/// As with one server: else a holder that dies leaves it there for an hour, when the loss of one more server stops the lock.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_a_step_back_made_longer_is_mended() {
    let servers = Servers::with_clocks(&[0, 0, 0]);
    let client = servers.ready_client(&format!("{KEPT}&lease=1s")).await;
    let held = client.lock(NAME).unwrap().acquire().await.unwrap();
    eventually(PATIENCE, "all have granted", || servers.fields() == 3);
    servers.servers[0].clock().advance(-3_600 * SECOND);
    let left = || servers.servers[0].cmd(&["PTTL", NAME]).int();
    assert!(left() > 3_000_000);
    eventually(Duration::from_secs(5), "the holder mends it", || left() <= 2_000);
    assert!(held.is_valid());
    held.release().await.unwrap();
}
