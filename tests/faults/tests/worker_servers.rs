//! Worker numbers where there is more than one server, where replies are lost, and where the server has no room.

use std::time::Duration;

use libdlock::id::{Layout, WorkerOptions};
use libdlock::{Client, ErrorKind};
use libdlock_faults::{
    Peer, SOON, bounded, client,
    failovers::{FAILOVER, Fault},
    kind,
    peer::number,
    with_options, worker,
};
use libdlock_testkit::{Action, Cluster, Proxy, Sentinels, Server, eventually, sentinels::Node};

#[test]
fn a_cluster_leases_numbers_in_every_slot() {
    let cluster = Cluster::options(3).start();
    let (mut one, mut two) = (Peer::start(worker!(), &cluster.url()), Peer::start(worker!(), &cluster.url()));
    for pool in ["a", "b", "c", "d", "{x}y"] {
        assert_eq!(number(&one.ok(&format!("lease {pool} 3 600"))[0]), 0, "{pool}");
        assert_eq!(number(&two.ok(&format!("lease {pool} 3 600"))[0]), 1, "{pool}");
        // Two renewals at least.
        std::thread::sleep(Duration::from_millis(500));
        one.ok("make 1000");
        one.ok("give-back");
        two.ok("give-back");
    }
}

fn numbers_are_kept_after(fault: Fault) {
    let mut deployment = Sentinels::start();
    let url = with_options(&deployment.url(), "lease=60s");
    let (mut one, mut two) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    let former = deployment.master();
    assert_eq!(number(&one.ok("lease orders 3 60000")[0]), 0);
    let before = one.ok("make 1000");
    eventually(SOON, "the replicas have heard of it", || {
        let leases = |node: &Node| node.server.cmd(&["ZCARD", "dlock_id_leases:{orders}"]).int();
        deployment.nodes.iter().all(|node| leases(node) == 1)
    });
    fault.begin(&mut deployment, former);
    deployment.promotion(former, FAILOVER);
    assert_eq!(number(&two.ok("lease orders 3 60000")[0]), 1, "the new master knows who has 0");
    let after = one.ok("make 1000");
    assert!(number(&after[0]) > number(&before[1]));
    one.ok("give-back");
    fault.end(&mut deployment, former);
}

#[test]
fn numbers_survive_a_failover_by_command() {
    numbers_are_kept_after(Fault::Command);
}

#[test]
fn numbers_survive_a_master_that_is_killed() {
    numbers_are_kept_after(Fault::Killed);
}

#[test]
fn a_number_that_no_replica_has_is_lost_at_the_new_master() {
    let mut deployment = Sentinels::start();
    let url = with_options(&deployment.url(), "lease=60s");
    let (mut one, mut two) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    let former = deployment.master();
    deployment.nodes[former].leave_replicas_behind();
    assert_eq!(number(&one.ok("lease orders 3 60000")[0]), 0);
    one.ok("make 1000");
    Fault::Killed.begin(&mut deployment, former);
    deployment.promotion(former, FAILOVER);
    eventually(SOON, "its holder is told", || one.call("make 1").is_err_and(|(kind, _)| kind == "LOST"));
    assert_eq!(number(&two.ok("lease orders 3 60000")[0]), 0);
}

#[tokio::test]
async fn several_independent_servers_lease_no_numbers() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start()).collect();
    let hosts: Vec<String> = servers.iter().map(|server| server.address().to_string()).collect();
    let client = Client::connect(&format!("redis+quorum://{}", hosts.join(","))).await.expect("a majority");
    assert_eq!(kind(client.worker("orders").await), ErrorKind::Unsupported);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_whose_reply_is_lost_takes_one_number() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = client(&proxy.url()).await;
    // The server knows the scripts from here on.
    client.worker("warm").await.expect("a number").release().await.expect("it is held");
    let leases = || server.cmd(&["ZCARD", "dlock_id_leases:{orders}"]).int();
    for round in 0..5 {
        let cut = proxy.on(&["EVALSHA", "dlock_id_pool:{orders}"], Action::CutReply(0));
        let worker = bounded(SOON, "the repeat is answered", client.worker("orders")).await.expect("a number");
        assert_eq!(cut.hits(), 1, "the fault was met");
        assert_eq!((worker.number(), leases()), (0, 1), "round {round}");
        let ids = worker.snowflake(Layout::DEFAULT).expect("room");
        ids.next_ids(100).expect("it is held");
        let cut = proxy.on(&["EVALSHA", "dlock_id_pool:{orders}"], Action::CutReply(0));
        bounded(SOON, "the release is repeated", worker.release()).await.expect("it was held");
        assert_eq!((cut.hits(), leases()), (1, 0), "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_server_leases_nothing_and_renews_and_releases() {
    let server = Server::options().maxmemory(0).start();
    let client = client(&server.url()).await;
    let options = WorkerOptions::default().lease(Duration::from_millis(600));
    let worker = client.worker_with("orders", options).await.expect("room");
    let ids = worker.snowflake(Layout::DEFAULT).expect("room");
    assert_eq!(server.cmd(&["CONFIG", "SET", "maxmemory", "1"]).text(), "OK");
    assert_eq!(kind(client.worker("orders").await), ErrorKind::OutOfMemory);
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    ids.next_ids(100).expect("it was renewed");
    worker.release().await.expect("a full server takes it back");
    assert_eq!(server.cmd(&["CONFIG", "SET", "maxmemory", "0"]).text(), "OK");
    assert_eq!(client.worker("orders").await.expect("room").number(), 0);
}
