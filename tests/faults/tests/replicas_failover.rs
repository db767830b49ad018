//! Grants that count only if replicas have them (option `replicas`), when another server takes the place of the one that made
//! them.

use libdlock_faults::failovers::{FAILOVER, Fault};
use libdlock_faults::replicas::{assert_short, each_replica, next_wait, requiring};
use libdlock_faults::{SOON, bounded, client, is_held, with_options};
use libdlock_testkit::{Action, Proxy, Replicated, Sentinels, Server, eventually};

/// Without the option it is given out, and lost with the master: see `sentinel_holds`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_that_no_replica_has_is_not_given_out() {
    let deployment = Sentinels::start();
    let client = requiring(1, &deployment.url()).await;
    let lock = client.lock("job").unwrap();
    bounded(SOON, "acquired", lock.acquire()).await.unwrap().release().await.unwrap();
    let master = &deployment.nodes[deployment.master()];
    tokio::task::block_in_place(|| master.leave_replicas_behind());
    let error = bounded(SOON, "told", lock.acquire()).await.expect_err("no replica hears of it");
    assert_short(&error, "job", "no replica", 1, &master.server);
}

/// Neither the new master nor its replica has it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_of_the_former_master_is_made_again_by_the_new_one() {
    let mut deployment = Sentinels::start();
    let options = "replicas=1&replica_timeout=10s&lease=60s&poll_interval=30s";
    let client = client(&with_options(&deployment.url(), options)).await;
    let lock = client.lock("job").unwrap();
    bounded(SOON, "acquired", lock.acquire()).await.unwrap().release().await.unwrap();
    let former = deployment.master();
    tokio::task::block_in_place(|| deployment.nodes[former].leave_replicas_behind());
    let wait = deployment.nodes[former].proxy.on_each(&["dlock_replicas"], Action::HoldRequest);
    let caller = tokio::spawn(async move { lock.acquire_timeout(FAILOVER * 2).await });
    tokio::task::block_in_place(|| wait.expect(SOON));
    assert!(is_held(&deployment.nodes[former].server, "job"), "granted");
    Fault::Killed.begin(&mut deployment, former);
    let promotion = tokio::task::block_in_place(|| deployment.promotion(former, FAILOVER));
    let held = bounded(FAILOVER * 2, "acquired", caller).await.unwrap().unwrap();
    let others = (0..3).filter(|node| *node != former);
    assert_eq!(
        others.filter(|node| is_held(&deployment.nodes[*node].server, "job")).count(),
        2,
        "the new master and a replica"
    );
    held.release().await.unwrap();
    eventually(SOON, "nothing is left", || !is_held(&deployment.nodes[promotion.node].server, "job"));
}

/// The other server has a replica too. Counting that would make a hold of a grant that it never made.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_of_another_server_are_not_counted() {
    let (former, present) = (Replicated::start(1), Replicated::start(1));
    let proxy = Proxy::start(former.primary.address());
    let client = requiring(1, &proxy.url()).await;
    let lock = client.lock("job").unwrap();
    bounded(SOON, "acquired", lock.acquire()).await.unwrap().release().await.unwrap();
    each_replica(&former, Server::pause);
    let wait = next_wait(&proxy);
    let caller = tokio::spawn(async move { lock.acquire_timeout(SOON * 2).await });
    tokio::task::block_in_place(|| wait.expect(SOON));
    assert!(is_held(&former.primary, "job"), "granted");
    proxy.point_at(present.primary.address());
    proxy.reset_all();
    let held = bounded(SOON * 2, "acquired", caller).await.unwrap().unwrap();
    assert!(is_held(&present.primary, "job") && is_held(&present.replicas[0].server, "job"), "granted once more");
    held.release().await.unwrap();
}
