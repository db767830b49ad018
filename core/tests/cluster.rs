//! Objects on a cluster, whose nodes share the slots.

use std::time::{Duration, Instant};

use libdlock::{Client, Config, ErrorKind, Rate};
use libdlock_testkit::access::of_cluster;
use libdlock_testkit::{Cluster, Server, eventually, lateness};

/// Far beyond what a busy machine needs, and below `poll_interval` times a few.
const PATIENCE: Duration = Duration::from_secs(20);

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("jobs:{number}")).collect()
}

/// How many of the names each primary has.
fn spread(cluster: &Cluster, names: &[String]) -> Vec<usize> {
    let mut spread = vec![0; cluster.nodes.len()];
    for name in names {
        let slot = cluster.slot(name);
        spread[cluster.owner_seen_by(0, slot).expect("every slot is served")] += 1;
    }
    spread
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_over_all_slots_go_from_client_to_client() {
    let cluster = Cluster::start();
    let names = names(100);
    assert!(spread(&cluster, &names).iter().all(|names| *names > 10));
    // One node is enough to find the others.
    let seed = format!("redis+cluster://{}", cluster.address(1));
    let (one, other) = (Client::connect(&cluster.url()).await.unwrap(), Client::connect(&seed).await.unwrap());
    for name in &names {
        let held = one.lock(name).unwrap().acquire().await.unwrap();
        let lock = other.lock(name).unwrap();
        assert!(lock.try_acquire().await.unwrap().is_none(), "{name}");
        let waiting = tokio::spawn(async move { lock.acquire_timeout(PATIENCE).await });
        held.release().await.unwrap();
        let next = waiting.await.unwrap().unwrap();
        next.release().await.unwrap();
    }
    for node in &cluster.nodes {
        assert!(node.keys().iter().all(|key| key.starts_with("redisson_lock_token:")), "{:?}", node.keys());
    }
}

#[tokio::test]
async fn a_set_of_locks_needs_one_hash_tag() {
    let cluster = Cluster::start();
    let client = Client::connect(&cluster.url()).await.unwrap();
    let refused = client.lock_all(["a", "b"]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidName);
    assert!(refused.message().contains("one hash tag"), "{refused}");
    let all = client.lock_all(["{shop}a", "{shop}b"]).unwrap();
    all.acquire().await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_url_of_the_other_kind_says_which_to_write() {
    let (cluster, server) = (Cluster::start(), Server::options().rights(of_cluster()).start());
    let url = format!("redis+cluster://{}", server.address());
    let refused = Client::connect(&url).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    assert!(refused.message().contains("is no node of a cluster; write redis://"), "{refused}");
    let mut config = Config::from_url(&cluster.nodes[0].url()).unwrap();
    config.set("operation_timeout", "300ms").unwrap();
    let client = Client::connect_with(config).await.unwrap();
    let of_others =
        names(100).into_iter().find(|name| cluster.owner_seen_by(0, cluster.slot(name)) != Some(0)).unwrap();
    let refused = client.lock(&of_others).unwrap().try_acquire().await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    assert!(refused.message().contains("redis+cluster://"), "{refused}");
}

/// The names that a primary has, so many of them.
fn names_at(cluster: &Cluster, primary: usize, count: usize) -> Vec<String> {
    let (first, last) = cluster.part(primary);
    let is_there = |name: &String| (first..=last).contains(&cluster.slot(name));
    names(1_000).into_iter().filter(is_there).take(count).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_dies_is_followed_to_its_replica() {
    // Else the others refuse, too, until the replica is promoted.
    let mut cluster = Cluster::options(3).replicas(1).args(&["--cluster-require-full-coverage", "no"]).start();
    let (lost, others) = (names_at(&cluster, 0, 8), names_at(&cluster, 1, 8));
    let (one, other) = (Client::connect(&cluster.url()).await.unwrap(), Client::connect(&cluster.url()).await.unwrap());
    let mut holds = Vec::new();
    for name in &lost[..4] {
        holds.push(one.lock(name).unwrap().acquire().await.unwrap());
    }
    let waiting: Vec<_> = lost[..4].iter().map(|name| other.lock(name).unwrap()).collect();
    let waiting: Vec<_> =
        waiting.into_iter().map(|lock| tokio::spawn(async move { lock.acquire_timeout(PATIENCE).await })).collect();
    // What came before this write the replica has, too.
    assert_eq!(cluster.nodes[0].cmd(&["SET", &format!("{{{}}}:last", lost[0]), "1"]).text(), "OK");
    assert!(cluster.nodes[0].cmd(&["WAIT", "1", "5000"]).int() >= 1);
    cluster.nodes[0].stop();
    let killed = Instant::now();
    let trying: Vec<_> = lost[4..].iter().map(|name| one.lock(name).unwrap()).collect();
    let trying: Vec<_> = trying
        .into_iter()
        .map(|lock| {
            tokio::spawn(async move {
                lock.acquire_timeout(PATIENCE).await.unwrap().release().await.unwrap();
                Instant::now()
            })
        })
        .collect();
    // Meanwhile the others are as ever.
    let slot = cluster.slot_seen_by(1, &lost[0]);
    let mut names = others.iter().cycle();
    while cluster.owner_seen_by(1, slot) == Some(0) {
        let asked = Instant::now();
        other.lock(names.next().unwrap()).unwrap().acquire().await.unwrap().release().await.unwrap();
        assert!(asked.elapsed() < Duration::from_secs(1) + lateness(), "{:?}", asked.elapsed());
        assert!(killed.elapsed() < PATIENCE, "no replica is promoted");
    }
    let promoted = Instant::now();
    for trying in trying {
        let acquired = trying.await.unwrap();
        let after = acquired.saturating_duration_since(promoted);
        println!("followed {after:?} after the promotion, {:?} after the end", acquired - killed);
        assert!(after < Duration::from_secs(2) + lateness(), "{after:?}");
    }
    for held in holds {
        assert!(held.loss().is_none(), "{:?}", held.loss());
        held.release().await.unwrap();
    }
    for waiter in waiting {
        waiter.await.unwrap().unwrap().release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_hangs_delays_no_renewal_at_another() {
    let cluster = Cluster::options(3).args(&["--cluster-require-full-coverage", "no"]).start();
    let client = Client::connect(&format!("{}?lease=3s", cluster.url())).await.unwrap();
    let mut holds = Vec::new();
    for primary in 0..3 {
        // Far more than may be on their way at once.
        for name in names_at(&cluster, primary, 150) {
            holds.push((primary, client.lock(&name).unwrap().acquire().await.unwrap()));
        }
    }
    cluster.nodes[0].pause();
    let (there, hung): (Vec<_>, Vec<_>) = holds.into_iter().partition(|(primary, _)| *primary != 0);
    // Each of these is told of its end, which takes as long as the lease.
    for (_, held) in &hung {
        tokio::time::timeout(PATIENCE, held.lost()).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    for (primary, held) in &there {
        assert!(held.loss().is_none(), "a hold at node {primary}: {:?}", held.loss());
    }
    cluster.nodes[0].resume();
    for (_, held) in there {
        held.release().await.unwrap();
    }
}

#[tokio::test]
async fn every_kind_of_object_works_on_every_node() {
    let cluster = Cluster::start();
    let client = Client::connect(&cluster.url()).await.unwrap();
    for name in (0..3).flat_map(|primary| names_at(&cluster, primary, 3)) {
        let name = |kind: &str| format!("{kind}{{{name}}}");
        client.lock(&name("lock")).unwrap().acquire().await.unwrap().release().await.unwrap();
        let all = client.lock_all([name("a"), name("b")]).unwrap();
        all.acquire().await.unwrap().release().await.unwrap();
        let rw = client.rw_lock(&name("rw")).unwrap();
        rw.read().acquire().await.unwrap().release().await.unwrap();
        rw.write().acquire().await.unwrap().release().await.unwrap();
        client.semaphore(&name("permits"), 2).unwrap().acquire().await.unwrap().release().await.unwrap();
        let counting = client.counting_semaphore(&name("count")).unwrap();
        assert!(counting.try_set_permits(1).await.unwrap());
        counting.acquire().await.unwrap();
        counting.release().await.unwrap();
        let latch = client.latch(&name("latch")).unwrap();
        assert!(latch.try_set_count(1).await.unwrap());
        latch.count_down().await.unwrap();
        latch.wait().await.unwrap();
        let ids = client.id_generator(&name("ids")).unwrap();
        assert_eq!(ids.next_ids(6_000).await.unwrap().last(), Some(&6_000));
        let filter = client.bloom_filter(&name("seen"), 1_000, 0.01).unwrap();
        assert_eq!(filter.add(["a", "a"]).await.unwrap(), [true, false]);
        assert_eq!(filter.contains(["a", "b"]).await.unwrap(), [true, false]);
        assert!(filter.clear().await.unwrap());
        let limiter = client.rate_limiter(&name("rate"), Rate::new(1, Duration::from_secs(60))).unwrap();
        assert!(limiter.try_acquire(1).await.unwrap().allowed);
        assert!(!limiter.try_acquire(1).await.unwrap().allowed);
    }
}

/// Nothing is heard of it: a key that somebody removes tells nobody, and the channel of this latch lies in another slot.
#[tokio::test(flavor = "multi_thread")]
async fn what_has_moved_is_looked_at_again() {
    let cluster = Cluster::start();
    let client = Client::connect(&format!("{}?poll_interval=1h", cluster.url())).await.unwrap();
    let (latch, slot) = (client.latch("ready{1}x").unwrap(), cluster.slot("ready{1}x"));
    let owner = cluster.owner_seen_by(0, slot).unwrap();
    let channel = cluster.slot("redisson_countdownlatch__channel__{ready{1}x}");
    assert_ne!(channel, slot);
    assert!(latch.try_set_count(1).await.unwrap());
    let waiting = latch.clone();
    let waiting = tokio::spawn(async move { waiting.wait_timeout(PATIENCE).await });
    let listens = || cluster.nodes.iter().any(|node| !node.cmd(&["PUBSUB", "CHANNELS"]).array().is_empty());
    eventually(PATIENCE, "it waits", listens);
    // Its first look, and the one at the confirmation of its channel.
    let looks = || cluster.nodes[owner].info("commandstats", "cmdstat_evalsha:calls");
    eventually(PATIENCE, "it has looked", || looks() >= 2);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(cluster.nodes[owner].cmd(&["DEL", "ready{1}x"]).int(), 1);
    cluster.move_slot(slot, owner, (owner + 1) % 3);
    // A request that meets the move.
    let other = client.latch("other{1}x").unwrap();
    assert_eq!(other.count().await.unwrap(), 0);
    let moved = Instant::now();
    assert!(waiting.await.unwrap().unwrap());
    assert!(moved.elapsed() < Duration::from_secs(2) + lateness(), "{:?}", moved.elapsed());
}

#[tokio::test]
async fn a_request_is_sent_on_while_its_slot_is_being_moved() {
    let cluster = Cluster::start();
    let client = Client::connect(&cluster.url()).await.unwrap();
    let limiter = client.rate_limiter("calls", Rate::new(1, Duration::from_secs(600))).unwrap();
    let slot = cluster.slot("calls");
    let from = cluster.owner_seen_by(0, slot).unwrap();
    let to = (from + 1) % 3;
    cluster.begin_to_move(slot, from, to);
    assert!(limiter.try_acquire(1).await.unwrap().allowed);
    assert_eq!(cluster.nodes[to].info("commandstats", "cmdstat_asking:calls"), 2, "by its hash, and with its text");
    assert!(!limiter.try_acquire(1).await.unwrap().allowed, "the other node remembers");
    cluster.finish_moving(slot, from, to);
    assert!(!limiter.try_acquire(1).await.unwrap().allowed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_steps_down_is_left_without_an_error() {
    let cluster = Cluster::options(3).replicas(1).start();
    let url = format!("{}?client_name=leaver", cluster.url());
    let client = Client::connect(&url).await.unwrap();
    let names = names_at(&cluster, 0, 4);
    let held = client.lock(&names[0]).unwrap().acquire().await.unwrap();
    let connections = |cluster: &Cluster, node: usize| {
        let clients = cluster.nodes[node].cmd(&["CLIENT", "LIST"]);
        clients.text().lines().filter(|line| line.contains("name=leaver")).count()
    };
    assert!(connections(&cluster, 0) > 0);
    let slot = cluster.slot(&names[0]);
    let failing_over = tokio::task::spawn_blocking(move || {
        cluster.fail_over_to(3);
        eventually(PATIENCE, "both know", || [0, 3].iter().all(|node| cluster.owner_seen_by(*node, slot) == Some(3)));
        cluster
    });
    while !failing_over.is_finished() {
        for name in &names[1..] {
            client.lock(name).unwrap().acquire().await.unwrap().release().await.unwrap();
        }
    }
    let cluster = failing_over.await.unwrap();
    let connections = |node| connections(&cluster, node);
    for name in &names[1..] {
        client.lock(name).unwrap().acquire().await.unwrap().release().await.unwrap();
    }
    assert!(held.loss().is_none(), "{:?}", held.loss());
    held.release().await.unwrap();
    let left = || connections(0) == 0;
    eventually(Duration::from_secs(40), "the former primary is left", left);
    assert!(connections(3) > 0);
}

/// Without a runtime of the caller's: by connections of its own to each node.
#[test]
fn blocking_calls_reach_every_node() {
    let cluster = Cluster::start();
    let client = Client::blocking_connect(&cluster.url()).unwrap();
    // One for commands, one for messages, and at least one that blocks.
    let reached = |node: &Server| {
        let clients = node.cmd(&["CLIENT", "LIST"]);
        clients.text().lines().filter(|line| line.contains("name=libdlock")).count() > 2
    };
    // They are opened beside the calls, which do not wait for them.
    eventually(PATIENCE, "each node has connections of blocking calls", || {
        for name in names(20) {
            let held = client.block_on(client.lock(&name).unwrap().acquire()).unwrap();
            client.block_on(held.release()).unwrap();
        }
        cluster.nodes.iter().all(reached)
    });
}
