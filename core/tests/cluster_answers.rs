//! What no healthy cluster answers: nodes that know nothing, tables in shreds, and redirections that lead nowhere.

use libdlock::Client;
use libdlock_testkit::access::of_cluster;
use libdlock_testkit::{Cluster, Server};

#[tokio::test(flavor = "multi_thread")]
async fn a_seed_that_serves_nothing_hides_no_other() {
    let cluster = Cluster::start();
    let empty = Server::options().rights(of_cluster()).args(&["--cluster-enabled", "yes"]).start();
    let url = format!("redis+cluster://{},{}", empty.address(), cluster.address(0));
    for _ in 0..20 {
        Client::connect(&url).await.unwrap();
    }
}
