//! TLS with sentinels and with the master that they name.
#![cfg(feature = "tls")]

use std::path::Path;

use libdlock::{Client, Config, Error};
use libdlock_testkit::sentinels::{MASTER, Sentinel};
use libdlock_testkit::{Authority, Server, port};

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A server and a sentinel that have a certificate of this authority, and the sentinel's address with TLS. Without, it has
/// another one.
fn pair(authority: &Authority) -> (Server, Sentinel, String) {
    let shows = authority.issue("server");
    let server = Server::options().tls(&shows, authority, "no").start();
    let (ca, tls_port) = (authority.file(), port::free());
    let lines = [
        format!("tls-port {tls_port}"),
        format!("tls-cert-file {}", text(&shows.cert)),
        format!("tls-key-file {}", text(&shows.key)),
        format!("tls-ca-cert-file {}", text(&ca)),
        "tls-auth-clients no".to_owned(),
        // With the master, too.
        "tls-replication yes".to_owned(),
    ];
    let sentinel = Sentinel::watching(MASTER, ("127.0.0.1", server.tls_address().port()), None, &lines);
    (server, sentinel, format!("127.0.0.1:{tls_port}"))
}

fn config(url: &str, authority: Option<&Authority>) -> Config {
    let mut config = Config::from_url(url).unwrap();
    if let Some(authority) = authority {
        config.set("tls_ca_file", text(&authority.file())).unwrap();
    }
    config
}

async fn refused(url: &str, authority: Option<&Authority>) -> Error {
    Client::connect_with(config(url, authority)).await.expect_err("it cannot connect")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_are_had_over_tls_by_way_of_sentinels() {
    let authority = Authority::new("ours");
    let (server, _sentinel, address) = pair(&authority);
    let url = format!("rediss+sentinel://{address}/{MASTER}");
    let client = Client::connect_with(config(&url, Some(&authority))).await.unwrap();
    let held = client.lock("job").unwrap().acquire().await.unwrap();
    assert_eq!(server.cmd(&["EXISTS", "job"]).int(), 1);
    held.release().await.unwrap();
    // A thread that blocks has a connection of its own, to the same master.
    let blocking = tokio::task::spawn_blocking(move || {
        let lock = client.lock("job").unwrap();
        let direct = || {
            server
                .cmd(&["CLIENT", "LIST"])
                .text()
                .lines()
                .any(|line| line.contains("name=libdlock") && line.contains("resp=2"))
        };
        for _ in 0..1_000 {
            client.block_on(async { lock.acquire().await.unwrap().release().await.unwrap() });
            if direct() {
                return true;
            }
        }
        false
    });
    assert!(blocking.await.unwrap(), "a connection for blocking calls");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sentinel_with_or_without_tls_is_told_from_the_other() {
    let authority = Authority::new("ours");
    let (_server, sentinel, address) = pair(&authority);
    let error = refused(&format!("redis+sentinel://{address}/{MASTER}"), None).await;
    assert!(error.message().contains(&address) && error.message().contains("use rediss+sentinel://"), "{error}");
    assert!(!error.is_retryable(), "{error}");
    let plain = sentinel.address().to_string();
    let error = refused(&format!("rediss+sentinel://{plain}/{MASTER}"), Some(&authority)).await;
    assert!(error.message().contains(&plain) && error.message().contains("does not speak TLS"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sentinel_of_another_authority_is_refused() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let (_server, _sentinel, address) = pair(&theirs);
    let error = refused(&format!("rediss+sentinel://{address}/{MASTER}"), Some(&ours)).await;
    assert!(error.message().contains(&address), "{error}");
    assert!(error.message().contains("a certificate that no authority"), "{error}");
}
