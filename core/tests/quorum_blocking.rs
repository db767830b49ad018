//! Locks on several servers for callers that block: they do the rounds on connections of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::quorum::{KEPT, NAME, PATIENCE, Servers};
use libdlock::{Client, ErrorKind};
use libdlock_testkit::{Server, eventually, lateness};

/// A client whose blocking calls have connections to a majority of the servers.
fn blocking_client(servers: &Servers) -> Client {
    let client = Client::blocking_connect(&servers.url(KEPT)).unwrap();
    let ready = client.lock("ready").unwrap();
    let cycle = || client.block_on(async { ready.acquire_timeout(PATIENCE).await?.release().await }).unwrap();
    // Redis 6.2 does not tell which they are.
    let tells = servers.servers[0].cmd(&["CLIENT", "LIST"]).text().contains(" resp=");
    (0..200).filter(|_| !tells).for_each(|_| cycle());
    eventually(PATIENCE, "blocking calls have connections", || {
        cycle();
        if !tells {
            return true;
        }
        servers.servers.iter().filter(|server| blocking_connections(server) > 0).count() > servers.servers.len() / 2
    });
    client
}

/// The connections on which scripts are run, and that hear no pushes: RESP2.
fn blocking_connections(server: &Server) -> usize {
    let clients = server.cmd(&["CLIENT", "LIST"]);
    let is_ours = |line: &&str| line.contains("libdlock") && line.contains(" cmd=eval") && line.contains(" resp=2");
    clients.text().lines().filter(is_ours).count()
}

#[test]
fn a_blocking_caller_holds_the_lock_at_all_servers() {
    let servers = Servers::start(5);
    let (one, other) = (blocking_client(&servers), blocking_client(&servers));
    let held = one.block_on(one.lock(NAME).unwrap().acquire()).unwrap();
    eventually(PATIENCE, "the others have granted it too", || servers.fields() == 5);
    assert!(servers.tokens().iter().filter(|token| **token >= Some(held.token())).count() >= 3);
    let refused = other.block_on(other.lock(NAME).unwrap().acquire_timeout(Duration::ZERO)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Busy, "{refused}");
    assert_eq!(refused.holder(), Some(held.owner()));
    let token = held.token();
    one.block_on(held.release()).unwrap();
    let next = other.block_on(other.lock(NAME).unwrap().acquire_timeout(PATIENCE)).unwrap();
    assert!(next.token() > token);
    other.block_on(next.release()).unwrap();
    servers.nothing_is_left();
}

#[test]
fn what_is_released_at_once_is_left_nowhere() {
    let servers = Servers::start(5);
    let client = blocking_client(&servers);
    let lock = client.lock(NAME).unwrap();
    for _ in 0..500 {
        client.block_on(async { lock.acquire().await?.release().await }).unwrap();
    }
    servers.nothing_is_left();
}

#[test]
fn a_server_that_hangs_costs_a_blocking_caller_a_moment() {
    let servers = Servers::start(5);
    let client = blocking_client(&servers);
    let lock = client.lock(NAME).unwrap();
    let mut last = 0;
    for server in &servers.servers[..2] {
        server.pause();
        let began = Instant::now();
        let held = client.block_on(lock.acquire()).unwrap();
        assert!(began.elapsed() < Duration::from_millis(600) + lateness(), "{:?}", began.elapsed());
        assert!(held.token() > last && held.is_valid());
        last = held.token();
        client.block_on(held.release()).unwrap();
    }
    servers.servers[..2].iter().for_each(Server::resume);
    // What they do late is undone.
    servers.nothing_is_left();
}

#[test]
fn no_two_blocking_callers_hold_it() {
    let servers = Servers::start(3);
    let (inside, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (clients, rounds) = (4, 50);
    let work = (0..clients).map(|_| {
        let (client, inside, done) = (blocking_client(&servers), inside.clone(), done.clone());
        thread::spawn(move || {
            let lock = client.lock(NAME).unwrap();
            for _ in 0..rounds {
                let held = client.block_on(lock.acquire_timeout(PATIENCE)).unwrap();
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "somebody else holds it");
                let last = done.swap(held.token(), Ordering::SeqCst);
                assert!(held.token() > last, "{} after {last}", held.token());
                inside.fetch_sub(1, Ordering::SeqCst);
                client.block_on(held.release()).unwrap();
            }
            client.block_on(client.close());
        })
    });
    work.collect::<Vec<_>>().into_iter().for_each(|work| work.join().unwrap());
    servers.nothing_is_left();
}
