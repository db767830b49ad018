//! Several servers that speak TLS with their clients.
#![cfg(feature = "tls")]

use std::net::SocketAddr;

use crate::common::quorum::{KEPT, NAME, PATIENCE, Said, listening, url};
use libdlock::{Client, Error, ErrorKind};
use libdlock_testkit::server::Data;
use libdlock_testkit::{Authority, Server};

fn start(authority: &Authority, clients: &str) -> Vec<Server> {
    let shows = authority.issue("server");
    (0..3).map(|_| Server::options().tls(&shows, authority, clients).start()).collect()
}

fn tls_url(servers: &[Server]) -> String {
    let addresses: Vec<SocketAddr> = servers.iter().map(Server::tls_address).collect();
    url(&addresses, KEPT).replace("redis+", "rediss+")
}

/// A client that trusts this authority.
async fn connect(url: &str, authority: &Authority) -> (Result<Client, Error>, Said) {
    listening(url, &[("tls_ca_file", authority.file().to_str().unwrap())]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn all_servers_are_verified_and_served() {
    let authority = Authority::new("ours");
    let mut servers = start(&authority, "no");
    let (one, said) = connect(&tls_url(&servers), &authority).await;
    let (other, _) = connect(&tls_url(&servers), &authority).await;
    let (one, other) = (one.unwrap(), other.unwrap());
    for round in 0..4 {
        let held = one.lock(NAME).unwrap().acquire_timeout(PATIENCE).await.unwrap();
        let lock = other.lock(NAME).unwrap();
        let waiting = tokio::spawn(async move { lock.acquire_timeout(PATIENCE).await });
        held.release().await.unwrap();
        waiting.await.unwrap().unwrap().release().await.unwrap();
        for server in &servers {
            let (list, encrypted) = (server.cmd(&["CLIENT", "LIST"]), format!("laddr={} ", server.tls_address()));
            let mut ours = list.text().lines().filter(|line| line.contains("name=libdlock"));
            assert!(ours.all(|line| line.contains(&encrypted)), "not by TLS: {}", list.text());
        }
        if round < 3 {
            servers[round].restart(Data::Lost);
        }
    }
    // A server that ends in the middle of a handshake is told as that.
    assert!(said.warnings().iter().all(|said| !said.contains("certificate")), "{:?}", said.warnings());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_certificate_is_shown_to_each_server() {
    let authority = Authority::new("ours");
    let servers = start(&authority, "yes");
    let (shows, ca) = (authority.issue("client"), authority.file());
    let files = [("tls_ca_file", &ca), ("tls_cert_file", &shows.cert), ("tls_key_file", &shows.key)];
    let files = files.map(|(option, file)| (option, file.to_str().unwrap()));
    let (client, _) = listening(&tls_url(&servers), &files).await;
    client.unwrap().lock(NAME).unwrap().acquire_timeout(PATIENCE).await.unwrap().release().await.unwrap();
    let (refused, _) = connect(&tls_url(&servers), &authority).await;
    let refused = refused.unwrap_err();
    assert!(refused.message().contains("2 of them have to be reached"), "{refused}");
    assert!(refused.message().contains("tls_cert_file and tls_key_file"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_of_another_authority_are_refused_by_the_option() {
    let (authority, other) = (Authority::new("ours"), Authority::new("theirs"));
    let servers = start(&authority, "no");
    let (refused, _) = connect(&tls_url(&servers), &other).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Connection, "{refused}");
    assert!(refused.message().contains("2 of them have to be reached"), "{refused}");
    assert!(refused.message().contains("tls_ca_file"), "{refused}");
}

/// One of another authority is as good as down; that is told.
#[tokio::test(flavor = "multi_thread")]
async fn one_server_of_another_authority_is_told_and_stops_nothing() {
    let (authority, other) = (Authority::new("ours"), Authority::new("theirs"));
    let mut servers = start(&authority, "no");
    servers[2] = start(&other, "no").remove(0);
    let (client, said) = connect(&tls_url(&servers), &authority).await;
    let client = client.unwrap();
    client.lock(NAME).unwrap().acquire_timeout(PATIENCE).await.unwrap().release().await.unwrap();
    said.expect(&[&servers[2].tls_address().to_string(), "tls_ca_file"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_without_tls_and_urls_without_it_are_told_apart() {
    let authority = Authority::new("ours");
    let servers = start(&authority, "no");
    let addresses: Vec<SocketAddr> = servers.iter().map(Server::address).collect();
    let (refused, _) = connect(&url(&addresses, KEPT).replace("redis+", "rediss+"), &authority).await;
    let refused = refused.unwrap_err();
    assert!(refused.message().contains("does not speak TLS"), "{refused}");
    let (refused, _) = listening(&tls_url(&servers).replace("rediss+", "redis+"), &[]).await;
    let refused = refused.unwrap_err();
    assert!(refused.message().contains("rediss://"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn any_certificate_at_all_is_a_warning() {
    let authority = Authority::new("ours");
    let servers = start(&authority, "no");
    let danger = [("tls_danger_accept_any_certificate", "true")];
    let (client, said) = listening(&tls_url(&servers), &danger).await;
    client.unwrap().lock(NAME).unwrap().acquire_timeout(PATIENCE).await.unwrap().release().await.unwrap();
    said.expect(&["tls_danger_accept_any_certificate"]);
}
