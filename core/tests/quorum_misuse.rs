//! Servers that are no such thing, named twice, or too few; what does not go with several of them.

use std::time::Duration;

use crate::common::quorum::{Fleet, KEPT, NAME, PATIENCE, Servers, has_field, listening, url};
use libdlock::{Client, Config, Error, ErrorKind};
use libdlock_testkit::{Cluster, Sentinels, Server, eventually};

async fn is_served(client: &Client) {
    client.lock(NAME).unwrap().acquire_timeout(PATIENCE).await.unwrap().release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_even_number_of_servers_is_a_warning() {
    for (number, says) in
        [(2, "2 servers tolerate the loss of 0"), (4, "4 servers tolerate the loss of 1, no more than 3 do")]
    {
        let servers = Servers::start(number);
        let (client, said) = listening(&servers.url(KEPT), &[]).await;
        said.expect(&[says, "odd number"]);
        let client = client.unwrap();
        is_served(&client).await;
        let fleet = Fleet::start(&servers.url(KEPT), 3, || Duration::from_millis(1)).await;
        fleet.goes_on(50, "with an even number");
        fleet.end(&servers).await;
    }
    for number in [3, 5] {
        let servers = Servers::start(number);
        let (client, said) = listening(&servers.url(KEPT), &[]).await;
        is_served(&client.unwrap()).await;
        assert_eq!(said.warnings(), [""; 0]);
    }
}

fn refused(url: &str) -> Error {
    Config::from_url(url).map(drop).expect_err(url)
}

#[test]
fn a_url_of_one_server_or_of_too_many_is_refused() {
    for one in ["redis+quorum://a", "redis+quorum://a:7000", "redis+quorum://a,a", "rediss+quorum://a,A:6379"] {
        let error = refused(one);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.message().contains("one server, which needs no quorum"), "{error}");
        assert!(error.message().contains("odd number from 3 on"), "{error}");
    }
    let many: Vec<String> = (0..16).map(|number| format!("host-{number}")).collect();
    let error = refused(&format!("redis+quorum://{}", many.join(",")));
    assert!(error.message().contains("too many servers") && error.message().contains("15"), "{error}");
    for wrong in ["quorum://a,b,c", "redis+quorums://a,b,c", "redlock://a,b,c"] {
        assert_eq!(refused(wrong).kind(), ErrorKind::InvalidArgument, "{wrong}");
    }
    assert!(refused("quorum://a,b,c").message().contains("redis+quorum://host:port,host:port,host:port"));
}

/// It stands for one, in whatever way it is named in one URL.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_named_twice_is_one_server() {
    let servers = Servers::start(2);
    let [one, other] = [&servers.servers[0], &servers.servers[1]].map(Server::address);
    let (client, said) = listening(&url(&[one, one, other], KEPT), &[]).await;
    said.expect(&["2 servers tolerate the loss of 0"]);
    is_served(&client.unwrap()).await;
}

/// A replica of one of them takes no writes; it is as good as down.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_among_three_is_told_and_stops_nothing() {
    let servers = Servers::start(3);
    let port = servers.servers[0].port().to_string();
    assert_eq!(servers.servers[2].cmd(&["REPLICAOF", "127.0.0.1", &port]).text(), "OK");
    let (client, said) = listening(&servers.url(KEPT), &[]).await;
    let client = client.unwrap();
    for _ in 0..5 {
        is_served(&client).await;
    }
    said.expect(&[&servers.servers[2].address().to_string(), "replica"]);
    assert_eq!(servers.servers[2].cmd(&["REPLICAOF", "NO", "ONE"]).text(), "OK");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_replicas_of_three_are_refused_with_the_reason() {
    let servers = Servers::start(3);
    let port = servers.servers[0].port().to_string();
    for server in &servers.servers[1..] {
        assert_eq!(server.cmd(&["REPLICAOF", "127.0.0.1", &port]).text(), "OK");
    }
    let (client, _) = listening(&servers.url(KEPT), &[]).await;
    let refused = match client {
        Ok(client) => client.lock(NAME).unwrap().try_acquire().await.map(drop).unwrap_err(),
        Err(error) => error,
    };
    assert!(refused.message().contains("replica"), "{refused}");
    assert!(refused.message().contains(&servers.servers[1].address().to_string()), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_of_a_cluster_are_refused_with_the_reason() {
    let cluster = Cluster::start();
    let addresses: Vec<_> = (0..3).map(|node| cluster.address(node)).collect();
    let (client, _) = listening(&url(&addresses, KEPT), &[]).await;
    let refused = match client {
        Ok(client) => client.lock(NAME).unwrap().try_acquire().await.map(drop).unwrap_err(),
        Err(error) => error,
    };
    assert!(refused.message().contains("cluster"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sentinels_are_refused_with_the_reason() {
    let sentinels = Sentinels::start();
    let addresses: Vec<_> = sentinels.sentinels.iter().map(|sentinel| sentinel.address()).collect();
    let (refused, _) = listening(&url(&addresses, KEPT), &[]).await;
    let refused = refused.map(drop).unwrap_err();
    assert!(refused.message().contains("is a sentinel"), "{refused}");
    assert!(refused.message().contains("2 of them have to be reached"), "{refused}");
}

/// Something of another type stands where the lock should be.
#[tokio::test(flavor = "multi_thread")]
async fn another_type_at_one_server_stops_nothing_and_at_two_is_told() {
    let servers = Servers::start(3);
    let client = servers.client(KEPT).await;
    servers.servers[0].cmd(&["SET", NAME, "something else"]);
    is_served(&client).await;
    servers.servers[1].cmd(&["SET", NAME, "something else"]);
    let refused = client.lock(NAME).unwrap().try_acquire().await.unwrap_err();
    assert!(refused.message().contains("something that does not belong to this kind of object"), "{refused}");
    for server in &servers.servers[..2] {
        assert_eq!(server.cmd(&["GET", NAME]).text(), "something else");
    }
    eventually(PATIENCE, "the third is free", || !has_field(&servers.servers[2]));
}

/// Servers that are full: they take no new lock, and free the old ones.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_server_of_three_stops_nothing() {
    let servers = Servers::start(3);
    let client = servers.ready_client(KEPT).await;
    let full = |at: usize, bytes: &str| {
        assert_eq!(servers.servers[at].cmd(&["CONFIG", "SET", "maxmemory", bytes]).text(), "OK")
    };
    let held = client.lock(NAME).unwrap().acquire().await.unwrap();
    full(0, "1");
    held.release().await.unwrap();
    is_served(&client).await;
    full(1, "1");
    let refused = client.lock(NAME).unwrap().try_acquire().await.unwrap_err();
    assert!(refused.message().contains("memory"), "{refused}");
    full(1, "0");
    is_served(&client).await;
    servers.nothing_is_left();
}

/// The same server by two names is one server: what it grants alone is no majority.
#[tokio::test(flavor = "multi_thread")]
async fn one_server_under_two_names_is_told() {
    let servers = Servers::start(2);
    let [one, other] = [&servers.servers[0], &servers.servers[1]].map(Server::port);
    let url = format!("redis+quorum://127.0.0.1:{one},localhost:{one},127.0.0.1:{other}?{KEPT}");
    let (client, said) = listening(&url, &[]).await;
    if client.is_ok() {
        said.expect(&[&format!("127.0.0.1:{one}"), &format!("localhost:{one}")]);
    }
}

/// No server of a quorum may have a replica that takes its place, so that nothing waits for one.
#[tokio::test(flavor = "multi_thread")]
async fn replicas_are_refused_for_several_servers() {
    let servers = Servers::start(3);
    let (refused, _) = listening(&servers.url(&format!("{KEPT}&replicas=1")), &[]).await;
    let refused = refused.map(drop).expect_err("the option would have no effect");
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
    assert!(refused.message().contains("option replicas"), "{refused}");
}

/// Tokens can go back when clocks differ by `longest_lease` and a server is lost.
#[tokio::test(flavor = "multi_thread")]
async fn clocks_further_apart_than_the_longest_lease_are_told() {
    let servers = Servers::with_clocks(&[0, 20_000_000, 0]);
    let (client, said) = listening(&servers.url(&format!("{KEPT}&lease=5s&longest_lease=5s")), &[]).await;
    is_served(&client.unwrap()).await;
    said.expect(&["clock", &servers.servers[1].address().to_string()]);
}

/// Which server it was is what somebody has to know who is to mend it.
#[tokio::test(flavor = "multi_thread")]
async fn what_servers_refuse_is_told_with_their_addresses() {
    let servers = Servers::start(3);
    let client = servers.client(KEPT).await;
    for server in &servers.servers[..2] {
        server.cmd(&["SET", NAME, "something else"]);
    }
    let refused = client.lock(NAME).unwrap().try_acquire().await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::WrongType, "{refused}");
    for server in &servers.servers[..2] {
        assert!(refused.message().contains(&server.address().to_string()), "{refused}");
    }
}
