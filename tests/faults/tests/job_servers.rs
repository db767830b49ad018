//! A delayed queue whose server restarts, with its data or without, or is replaced by a replica, and one in a cluster.

use std::time::{Duration, Instant};

use libdlock::queue::NewJob;
use libdlock::{Client, ErrorKind, Queue, Wait};
use libdlock_faults::failovers::{FAILOVER, Fault};
use libdlock_faults::jobs::{Traffic, work_on};
use libdlock_faults::{SOON, bounded, client, with_options};
use libdlock_testkit::sentinels::Node;
use libdlock_testkit::{Cluster, Proxy, Sentinels, Server, eventually};

const SECOND: Duration = Duration::from_secs(1);

/// Queues of so many clients.
async fn queues(url: &str, count: usize) -> (Vec<Client>, Vec<Queue>) {
    let (mut clients, mut queues) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let client = client(url).await;
        queues.push(client.queue("mails").expect("a name"));
        clients.push(client);
    }
    (clients, queues)
}

/// Every change is in the file before it is answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_keeps_its_file_loses_no_job() {
    // The server reads its file with the rights of the default user, which the kit limits elsewhere.
    let all = ["~*", "&*", "+@all"].map(str::to_owned).to_vec();
    let mut server = Server::options().args(&["--appendonly", "yes", "--appendfsync", "always"]).rights(all).start();
    let (_clients, queues) = queues(&with_options(&server.url(), "lease=1s&response_timeout=500ms"), 3).await;
    let traffic = Traffic::start(&queues[0], &queues[1..]);
    for _ in 0..4 {
        tokio::time::sleep(SECOND / 2).await;
        server.stop();
        server.start_again();
    }
    tokio::time::sleep(SECOND / 2).await;
    assert!(traffic.finish_exactly().await > 100, "hardly anything was put");
    assert_eq!(server.cmd(&["EXISTS", "dlock_queue_all:{mails}"]).int(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn takers_go_on_at_a_server_that_has_lost_everything() {
    let mut server = Server::start();
    let (_clients, queues) = queues(&with_options(&server.url(), "lease=3s"), 2).await;
    queues[0].put_many(["held", "waits"].map(|id| NewJob::new(id).id(id))).await.expect("put");
    let held = queues[0].take().await.expect("take");
    let gone = queues[0].take().await.expect("take");
    let waiting = tokio::spawn({
        let queue = queues[1].clone();
        async move { queue.take().await }
    });
    eventually(SOON, "it waits", || server.cmd(&["ZCARD", "dlock_queue_queue:{mails}"]).int() == 1);
    server.stop();
    server.start_again();
    let error = bounded(SOON, "an answer", held.ack()).await.expect_err("the job is gone");
    assert_eq!(error.kind(), ErrorKind::NotHeld, "{error}");
    assert!(error.message().contains("taken away or removed"), "{error}");
    // A third of the lease, and the way to the server.
    bounded(SECOND + SOON / 2, "its worker is told", gone.lost()).await.expect("a loss");
    let put = Instant::now();
    queues[0].put(NewJob::new("next").id("next")).await.expect("put");
    let delivery = bounded(SOON, "the next job", waiting).await.expect("no panic").expect("take");
    // A poll, and the way back into the line.
    assert!(delivery.id() == "next" && put.elapsed() < 2 * SECOND, "{:?}", put.elapsed());
    delivery.ack().await.expect("ack");
    assert!(queues[0].try_take().await.expect("take").is_none());
}

/// The operator's way: writes pause, the replica has everything, the roles change, the address leads to the new primary.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_planned_failover_loses_and_repeats_nothing() {
    let options = || Server::options().args(&["--repl-diskless-sync-delay", "0"]);
    let (mut old, mut new) = (options().start(), options().start());
    let proxy = Proxy::start(old.address());
    let follow = |replica: &Server, primary: &Server| {
        assert_eq!(replica.cmd(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()]).text(), "OK");
        eventually(SOON * 2, "the replica follows", || {
            replica.cmd(&["INFO", "replication"]).text().contains("master_link_status:up")
        });
    };
    follow(&new, &old);
    let (_clients, queues) = queues(&with_options(&proxy.url(), "lease=2s&response_timeout=500ms"), 3).await;
    let traffic = Traffic::start(&queues[0], &queues[1..]);
    for _ in 0..3 {
        tokio::time::sleep(SECOND / 2).await;
        let port = new.port().to_string();
        let told = old.cmd(&["FAILOVER", "TO", "127.0.0.1", &port, "TIMEOUT", "5000"]);
        assert_eq!(told.text(), "OK");
        eventually(SOON, "the roles change", || old.cmd(&["INFO", "replication"]).text().contains("role:slave"));
        proxy.point_at(new.address());
        std::mem::swap(&mut old, &mut new);
        eventually(SOON * 2, "the former primary follows", || {
            new.cmd(&["INFO", "replication"]).text().contains("master_link_status:up")
        });
    }
    tokio::time::sleep(SECOND / 2).await;
    assert!(traffic.finish_exactly().await > 100, "hardly anything was put");
}

async fn sentinels_keep_what_replicas_have(fault: Fault) {
    const JOBS: usize = 200;
    let mut deployment = Sentinels::start();
    let (_clients, queues) = queues(&with_options(&deployment.url(), "lease=60s"), 2).await;
    queues[0].put_many((0..JOBS).map(|id| NewJob::new("x").id(id.to_string()))).await.expect("put");
    let held = queues[0].take_many(10, Wait::Try).await.expect("take");
    eventually(SOON, "the replicas have all of it", || {
        let leases = |node: &Node| node.server.cmd(&["ZCARD", "dlock_queue_leases:{mails}"]).int();
        deployment.nodes.iter().all(|node| leases(node) == 10)
    });
    let former = deployment.master();
    fault.begin(&mut deployment, former);
    deployment.promotion(former, FAILOVER);
    // What the former master takes part in while it does not know better is lost, and comes again.
    let done = bounded(FAILOVER, "the others are done", work_on(&queues[1], JOBS - held.len())).await;
    assert!(held.iter().all(|delivery| !done.contains(delivery.id())));
    eventually(SOON, "the former master is left", || {
        let now = &deployment.nodes[deployment.master()].server;
        now.cmd(&["ZCARD", "dlock_queue_leases:{mails}"]).int() == 10
    });
    for delivery in held {
        delivery.ack().await.expect("the new master knows whose it is");
    }
    let counts = queues[1].counts().await.expect("counts");
    assert_eq!((counts.ready, counts.delayed, counts.in_flight, counts.dead), (0, 0, 0, 0));
    fault.end(&mut deployment, former);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_replace_the_master_by_command() {
    sentinels_keep_what_replicas_have(Fault::Command).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_replace_a_master_that_is_killed() {
    sentinels_keep_what_replicas_have(Fault::Killed).await;
}

/// A script needs all keys of a queue on one node, and so has them while they move.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_that_moves_takes_its_queue_along() {
    let cluster = Cluster::options(3).start();
    let (_clients, queues) = queues(&with_options(&cluster.url(), "lease=2s&response_timeout=500ms"), 3).await;
    let slot = cluster.slot("dlock_queue_all:{mails}");
    for kind in ["payloads", "due", "leases", "held", "dead", "last", "done", "queue", "seen"] {
        assert_eq!(cluster.slot(&format!("dlock_queue_{kind}:{{mails}}")), slot, "{kind}");
    }
    let traffic = Traffic::start(&queues[0], &queues[1..]);
    for _ in 0..3 {
        tokio::time::sleep(SECOND / 2).await;
        let from = cluster.owner_seen_by(0, slot).expect("it is served");
        cluster.move_slot(slot, from, (from + 1) % 3);
        cluster.settle();
    }
    tokio::time::sleep(SECOND / 2).await;
    assert!(traffic.finish_exactly().await > 100, "hardly anything was put");
}
