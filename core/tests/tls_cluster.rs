//! Clusters whose nodes speak TLS with their clients.
#![cfg(feature = "tls")]

use std::time::Duration;

use libdlock::{Client, Config, ErrorKind};
use libdlock_testkit::{Authority, Cluster};

/// Far longer than a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(20);

fn config(cluster: &Cluster, authority: &Authority) -> Config {
    let mut config = Config::from_url(&cluster.tls_url()).unwrap();
    config.set("tls_ca_file", authority.file().to_str().unwrap()).unwrap();
    config
}

#[tokio::test]
async fn all_nodes_are_verified_and_served() {
    let authority = Authority::new("ours");
    let cluster = Cluster::options(3).tls(&authority.issue("server"), &authority, "no").start();
    let one = Client::connect_with(config(&cluster, &authority)).await.unwrap();
    let other = Client::connect_with(config(&cluster, &authority)).await.unwrap();
    for number in 0..20 {
        let name = format!("job:{number}");
        let held = one.lock(&name).unwrap().acquire().await.unwrap();
        let next = other.lock(&name).unwrap();
        let waiting = tokio::spawn(async move { next.acquire_timeout(PATIENCE).await });
        let lock = one.lock(&name).unwrap();
        let queued = async { while lock.inspect().await.unwrap().queued == 0 {} };
        tokio::time::timeout(PATIENCE, queued).await.expect("the other one stands in the queue");
        held.release().await.unwrap();
        waiting.await.unwrap().unwrap().release().await.unwrap();
    }
    for node in &cluster.nodes {
        let (list, encrypted) = (node.cmd(&["CLIENT", "LIST"]), format!("laddr={} ", node.tls_address()));
        let mut ours = list.text().lines().filter(|line| line.contains("name=libdlock")).peekable();
        assert!(ours.peek().is_some() && ours.all(|line| line.contains(&encrypted)), "not by TLS: {}", list.text());
    }
}

#[tokio::test]
async fn nodes_of_another_authority_are_refused() {
    let (authority, other) = (Authority::new("ours"), Authority::new("theirs"));
    let cluster = Cluster::options(3).tls(&authority.issue("server"), &authority, "no").start();
    let refused = Client::connect_with(config(&cluster, &other)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Connection);
    assert!(refused.message().contains("tls_ca_file"), "{refused}");
    let url = cluster.url().replace("redis+", "rediss+");
    let mut plain = Config::from_url(&url).unwrap();
    plain.set("tls_ca_file", authority.file().to_str().unwrap()).unwrap();
    let refused = Client::connect_with(plain).await.unwrap_err();
    assert!(refused.message().contains("TLS"), "{refused}");
}
