//! What else a lock on several servers can do: be shown, taken away, handed to another process, extended.

use std::time::{Duration, Instant};

use crate::common::quorum::{KEPT, NAME, PATIENCE, Servers};

use libdlock::lease::{HolderId, LossReason};
use libdlock::lock::{Held, LockOptions};
use libdlock::{Client, ErrorKind};
use libdlock_testkit::eventually;

/// A hold that none of them has yet to grant.
async fn hold_everywhere(servers: &Servers, client: &Client) -> Held {
    let held = client.lock(NAME).unwrap().acquire().await.unwrap();
    eventually(PATIENCE, "the last server has granted it", || servers.fields() == 3);
    held
}

#[tokio::test(flavor = "multi_thread")]
async fn a_majority_shows_who_holds_a_lock() {
    let servers = Servers::start(3);
    let (one, other) = (servers.client(KEPT).await, servers.client(KEPT).await);
    let free = other.lock(NAME).unwrap().inspect().await.unwrap();
    assert_eq!((free.holder, free.ttl, free.queued), (None, None, 0));
    let held = hold_everywhere(&servers, &one).await;
    // What one server shows alone is no holder.
    servers.servers[0].cmd(&["DEL", NAME]);
    let seen = other.lock(NAME).unwrap().inspect().await.unwrap();
    assert_eq!((seen.holder.as_deref(), seen.ours), (Some(held.owner()), false));
    assert!(seen.token >= Some(held.token()), "{seen:?}");
    assert!(seen.ttl.is_some_and(|left| left > Duration::from_secs(20)), "{seen:?}");
    // A renewal between the two takes it again at the first.
    let mut seen = seen.holder;
    for _ in 0..10 {
        (0..2).for_each(|at| drop(servers.servers[at].cmd(&["DEL", NAME])));
        seen = other.lock(NAME).unwrap().inspect().await.unwrap().holder;
        if seen.is_none() {
            break;
        }
    }
    assert_eq!(seen, None);
    assert!(one.lock(NAME).unwrap().inspect().await.unwrap().token >= Some(held.token()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_is_taken_away_everywhere_is_lost() {
    let servers = Servers::start(3);
    let (one, other) = (servers.client(KEPT).await, servers.client(KEPT).await);
    assert!(!other.lock(NAME).unwrap().force_release().await.unwrap(), "nobody holds it");
    let held = hold_everywhere(&servers, &one).await;
    assert!(other.lock(NAME).unwrap().force_release().await.unwrap());
    let began = Instant::now();
    // By the message, and not at the next renewal.
    assert_eq!(tokio::time::timeout(PATIENCE, held.lost()).await.unwrap(), Some(LossReason::Deleted));
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    let next = other.lock(NAME).unwrap().acquire_timeout(PATIENCE).await.unwrap();
    assert!(next.token() > held.token());
    assert_eq!(held.release().await.unwrap_err().kind(), ErrorKind::NotHeld);
    assert!(next.is_valid() && servers.fields() == 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_vanished_at_a_majority_is_lost_and_freed() {
    let servers = Servers::start(3);
    let client = servers.client("data_survives=true&lease=900ms").await;
    let held = hold_everywhere(&servers, &client).await;
    // A renewal between the two takes it again at the first.
    eventually(PATIENCE, "it is lost", || {
        servers.servers[..2].iter().for_each(|server| drop(server.cmd(&["DEL", NAME])));
        !held.is_valid()
    });
    assert_eq!(held.loss(), Some(LossReason::Deleted));
    // Sooner than the lease of the last one would end it.
    eventually(Duration::from_millis(500), "the third server is freed", || servers.fields() == 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_detached_hold_goes_to_one_that_attaches_it() {
    let servers = Servers::start(3);
    let (one, other) = (servers.client(KEPT).await, servers.client(KEPT).await);
    let held = hold_everywhere(&servers, &one).await;
    let token = held.token();
    let text = held.detach().await.unwrap();
    assert!(one.lock(NAME).unwrap().try_acquire().await.unwrap().is_none(), "it is still held");
    // At a majority it is there.
    servers.servers[2].cmd(&["DEL", NAME]);
    let attached = other.lock(NAME).unwrap().attach_as(HolderId::fresh(), &text).await.unwrap();
    assert_eq!(attached.token(), token);
    assert!(attached.is_valid());
    let again = one.lock(NAME).unwrap().attach_as(HolderId::fresh(), &text).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::NotHeld, "{again}");
    assert!(attached.is_valid());
    attached.release().await.unwrap();
    eventually(PATIENCE, "nothing is left", || servers.fields() == 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attach_at_a_minority_leaves_nothing() {
    let servers = Servers::start(3);
    let client = servers.client(KEPT).await;
    let text = hold_everywhere(&servers, &client).await.detach().await.unwrap();
    servers.servers[0].cmd(&["DEL", NAME]);
    servers.servers[1].cmd(&["DEL", NAME]);
    let refused = client.lock(NAME).unwrap().attach_as(HolderId::fresh(), &text).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotHeld, "{refused}");
    eventually(PATIENCE, "the third server is freed", || servers.fields() == 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extension_beyond_the_longest_lease_is_refused() {
    let servers = Servers::start(3);
    let client = servers.client(KEPT).await;
    let held = hold_everywhere(&servers, &client).await;
    held.extend(Duration::from_secs(59)).await.unwrap();
    assert!(held.remaining() > Duration::from_secs(40));
    let refused = held.extend(Duration::from_secs(61)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
    assert!(refused.message().contains("lease 61s is longer than longest_lease"), "{refused}");
    assert!(held.is_valid());
    held.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn holders_of_one_process_follow_one_another() {
    let servers = Servers::start(3);
    let client = servers.client(KEPT).await;
    let mut work = Vec::new();
    for _ in 0..20 {
        let lock = client.lock_with(NAME, LockOptions::default()).unwrap();
        work.push(tokio::spawn(async move {
            let mut tokens = Vec::new();
            for _ in 0..10 {
                let held = lock.acquire_timeout(PATIENCE).await.unwrap();
                tokens.push(held.token());
                held.release().await.unwrap();
            }
            tokens
        }));
    }
    let mut tokens = Vec::new();
    for work in work {
        tokens.extend(tokio::time::timeout(PATIENCE, work).await.unwrap().unwrap());
    }
    let number = tokens.len();
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), number, "each hold has a token of its own");
    // Tokens reserved together follow one another without a gap: those holders needed no server.
    let handed_on = tokens.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
    assert!(handed_on > number / 2, "{handed_on} of {number}");
    let last = servers
        .servers
        .iter()
        .map(|server| server.cmd(&["GET", "redisson_lock_token:{jobs}"]).text().parse::<u64>().unwrap());
    assert!(last.max().unwrap() >= *tokens.last().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extension_waits_for_servers_that_come_back() {
    let mut servers = Servers::start(3);
    let client = servers.client("data_survives=true&operation_timeout=10s").await;
    let held = hold_everywhere(&servers, &client).await;
    for server in &servers.servers[..2] {
        server.pause();
    }
    let extended = tokio::time::timeout(PATIENCE, async {
        let extending = held.extend(Duration::from_secs(50));
        let resuming = async {
            // Longer than one request may take.
            tokio::time::sleep(Duration::from_millis(700)).await;
            servers.servers[..2].iter_mut().for_each(|server| server.resume());
        };
        tokio::join!(extending, resuming).0
    });
    extended.await.unwrap().unwrap();
    assert!(held.remaining() > Duration::from_secs(40));
    held.release().await.unwrap();
}
