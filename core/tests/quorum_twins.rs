//! Two addresses of several that lead to one server.

use crate::common::quorum::{KEPT, NAME, PATIENCE, Servers, listening, url};
use libdlock::ErrorKind;
use libdlock_testkit::{Proxy, eventually};

/// A majority of the addresses is none of the servers: with the other one down, whoever has this one alone has nothing.
#[tokio::test(flavor = "multi_thread")]
async fn two_addresses_of_one_server_count_once() {
    let mut servers = Servers::start(2);
    let other_way = Proxy::start(servers.servers[0].address());
    let [one, other] = [0, 1].map(|number: usize| servers.servers[number].address());
    let addresses = [one, other_way.address(), other];
    let (client, said) = listening(&url(&addresses, KEPT), &[]).await;
    let client = client.unwrap();
    let lock = client.lock(NAME).unwrap();
    lock.acquire_timeout(PATIENCE).await.unwrap().release().await.unwrap();
    said.expect(&[&one.to_string(), &other_way.address().to_string(), "are one server"]);
    servers.servers[1].stop();
    let refused = lock.try_acquire().await.map(drop).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Connection, "{refused}");
    assert!(refused.message().contains("are one server"), "{refused}");
    eventually(PATIENCE, "nothing is left", || !servers.servers[0].keys().contains(&NAME.to_owned()));
    servers.servers[1].start_again();
    lock.acquire_timeout(PATIENCE).await.unwrap().release().await.unwrap();
    // An error of a renewal may give the same reason.
    let told = said.warnings().iter().filter(|warning| warning.contains("are one server, which counts once")).count();
    assert_eq!(told, 1, "{:?}", said.warnings());
}
