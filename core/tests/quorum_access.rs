//! Users, passwords and access rules of several servers: each is logged in to by itself, and a minority may refuse.

use std::time::{Duration, Instant};

use crate::common::quorum::{
    KEPT, NAME, PATIENCE, SHORT, Said, Servers, counts_again, has_field, last_token, listening,
};
use crate::common::rules::documented;
use libdlock::{Client, Error, ErrorKind};
use libdlock_testkit::temp::TempDir;
use libdlock_testkit::{Server, eventually};

const PASSWORD: &str = "s3cret-word";

/// Servers that know the user `app` with just the rights of a lock, each by this password.
fn servers(passwords: &[&str]) -> Servers {
    let rules = documented("lock", NAME).join(" ");
    let start = |password: &&str| {
        Server::options().user(&format!("app on >{password} resetkeys resetchannels -@all {rules}")).start()
    };
    Servers::of(passwords.iter().map(start).collect())
}

/// The URL with that user and the right password.
fn url(servers: &Servers, options: &str) -> String {
    servers.url(options).replace("://", &format!("://app:{PASSWORD}@"))
}

async fn hand_over(one: &Client, other: &Client) {
    let held = one.lock(NAME).unwrap().acquire_timeout(PATIENCE).await.unwrap();
    let lock = other.lock(NAME).unwrap();
    assert!(lock.try_acquire().await.unwrap().is_none());
    let waiting = tokio::spawn(async move { lock.acquire_timeout(PATIENCE).await });
    held.release().await.unwrap();
    waiting.await.unwrap().unwrap().release().await.unwrap();
}

fn says_no_secret(said: &Said) {
    for warning in said.warnings() {
        assert!(!warning.contains(PASSWORD) && !warning.contains("0ther"), "{warning}");
    }
}

/// All that a lock does: waits, renewals, grants that are undone, servers that have lost it.
#[tokio::test(flavor = "multi_thread")]
async fn the_documented_rights_of_a_lock_are_enough_on_each_server() {
    let servers = servers(&[PASSWORD; 3]);
    let (one, said) = listening(&url(&servers, &format!("{KEPT}&lease=600ms")), &[]).await;
    let (other, also_said) = listening(&url(&servers, KEPT), &[]).await;
    let (one, other) = (one.unwrap(), other.unwrap());
    for _ in 0..3 {
        hand_over(&one, &other).await;
    }
    let held = one.lock(NAME).unwrap().acquire().await.unwrap();
    eventually(PATIENCE, "all have granted", || servers.fields() == 3);
    servers.servers[0].cmd(&["FLUSHALL"]);
    eventually(PATIENCE, "it is taken again, and its token written", || {
        has_field(&servers.servers[0]) && last_token(&servers.servers[0]).is_some()
    });
    assert!(held.is_valid());
    held.release().await.unwrap();
    servers.nothing_is_left();
    for server in &servers.servers[..2] {
        server.cmd(&["HSET", NAME, "11111111-2222-4333-8444-555555555555:1", "1"]);
        server.cmd(&["PEXPIRE", NAME, "60000"]);
    }
    assert!(other.lock(NAME).unwrap().try_acquire().await.unwrap().is_none());
    eventually(PATIENCE, "the grant of the third is undone", || servers.fields() == 2);
    assert_eq!(said.warnings(), [""; 0]);
    assert_eq!(also_said.warnings(), [""; 0]);
    // As Redis writes it: no command was refused but the one that names the client, which may be.
    for server in &servers.servers {
        let log = server.cmd(&["ACL", "LOG"]);
        let refused =
            log.array().iter().map(|entry| entry.array()[7].text()).filter(|what| !what.starts_with("client"));
        assert_eq!(refused.collect::<Vec<_>>(), [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_file_is_read_for_each_server_and_again() {
    let mut servers = Servers::of((0..3).map(|_| Server::options().password(PASSWORD).start()).collect());
    let folder = TempDir::new();
    let file = folder.path().join("password");
    std::fs::write(&file, format!("{PASSWORD}\n")).unwrap();
    let set = [("password_file", file.to_str().unwrap())];
    let (client, said) = listening(&servers.url(KEPT), &set).await;
    let client = client.unwrap();
    hand_over(&client, &client.clone()).await;
    std::fs::write(&file, "another-s3cret\n").unwrap();
    for server in &mut servers.servers {
        server.cmd(&["CONFIG", "SET", "requirepass", "another-s3cret"]);
        server.cmd(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    }
    let held = client.lock(NAME).unwrap().acquire_timeout(PATIENCE).await.unwrap();
    held.release().await.unwrap();
    says_no_secret(&said);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_at_one_of_three_is_told_and_stops_nothing() {
    let servers = servers(&[PASSWORD, PASSWORD, "0ther"]);
    let (one, said) = listening(&url(&servers, KEPT), &[]).await;
    let (other, _) = listening(&url(&servers, KEPT), &[]).await;
    let (one, other) = (one.unwrap(), other.unwrap());
    hand_over(&one, &other).await;
    said.expect(&[&servers.servers[2].address().to_string(), "check the options user and password"]);
    says_no_secret(&said);
    servers.nothing_is_left();
}

async fn refused(servers: &Servers) -> (Error, Duration) {
    let called = Instant::now();
    let (client, said) = listening(&url(servers, KEPT), &[]).await;
    let error = client.map(drop).unwrap_err();
    says_no_secret(&said);
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains(PASSWORD) && !shown.contains("0ther"), "{shown}");
    (error, called.elapsed())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_at_two_of_three_is_refused_by_name() {
    let servers = servers(&[PASSWORD, "0ther", "0ther"]);
    let (error, _) = refused(&servers).await;
    assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    assert!(error.message().contains("2 of them have to be reached"), "{error}");
    let named = |at: usize| error.message().contains(&format!("{} refused", servers.servers[at].address()));
    assert!(named(1) || named(2), "{error}");
    assert!(error.message().contains("check the options user and password"), "{error}");
}

/// Each connection is one to a server that has just started, for all that its client can know.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_tell_its_uptime_counts_late() {
    let servers = servers(&[PASSWORD; 3]);
    for server in &servers.servers {
        server.cmd(&["ACL", "SETUSER", "app", "-info"]);
    }
    servers.servers.iter().for_each(counts_again);
    let (client, _) = listening(&url(&servers, SHORT), &[]).await;
    let client = client.unwrap();
    let connected = Instant::now();
    let lock = client.lock(NAME).unwrap();
    let early = lock.try_acquire().await.unwrap_err();
    assert!(early.message().contains("does not count yet"), "{early}");
    let held = lock.acquire_timeout(PATIENCE).await.unwrap();
    // `longest_lease` and 1 s.
    assert!(connected.elapsed() > Duration::from_millis(1900), "{:?}", connected.elapsed());
    held.release().await.unwrap();
}

/// A right that is missing at one of them costs what the loss of that server costs.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_right_at_one_of_three_stops_nothing() {
    let servers = servers(&[PASSWORD; 3]);
    servers.servers[1].cmd(&["ACL", "SETUSER", "app", "-hset"]);
    let (one, other) = (listening(&url(&servers, KEPT), &[]).await, listening(&url(&servers, KEPT), &[]).await);
    hand_over(&one.0.unwrap(), &other.0.unwrap()).await;
    servers.servers[0].cmd(&["ACL", "SETUSER", "app", "-hset"]);
    let (client, _) = listening(&url(&servers, KEPT), &[]).await;
    let refused = client.unwrap().lock(NAME).unwrap().try_acquire().await.unwrap_err();
    assert!(refused.message().contains("2 of 3 servers have to agree"), "{refused}");
    assert!(refused.message().contains("hset"), "the right is named: {refused}");
    servers.nothing_is_left();
}

/// As with one server: at once, and not when `connect_timeout` is over.
#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_ends_connecting_at_once() {
    let servers = servers(&[PASSWORD, "0ther", "0ther"]);
    let (_, took) = refused(&servers).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_that_are_missing_at_one_server_are_told() {
    let servers = servers(&[PASSWORD; 3]);
    let asks = servers.servers[0].cmd(&["EVAL", "return redis.acl_check_cmd and 1 or 0", "0"]).int() == 1;
    servers.servers[1].cmd(&["ACL", "SETUSER", "app", "-hset"]);
    let (client, said) = listening(&url(&servers, KEPT), &[]).await;
    let _lock = client.unwrap().lock(NAME).unwrap();
    if asks {
        said.expect(&[&servers.servers[1].address().to_string(), "+hset"]);
    }
}
