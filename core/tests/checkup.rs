//! What a client warns of when it reaches a server, or opens the first object of a kind: before a call fails for it.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use libdlock::event::Level;
use libdlock::{Client, Config};
use libdlock_testkit::{Server, eventually};

const SOON: Duration = Duration::from_secs(10);

/// The rights of a lock, but for these.
const LOCK: [&str; 33] = [
    "~job",
    "~redisson_lock_token:*",
    "~dlock_queue:*",
    "~dlock_seen:*",
    "&redisson_lock__channel:*",
    "&dlock_inbox:*",
    "+hello",
    "+auth",
    "+client",
    "+eval",
    "+evalsha",
    "+time",
    "+ping",
    "+info",
    "+subscribe",
    "+unsubscribe",
    "+publish",
    "+get",
    "+set",
    "+del",
    "+exists",
    "+pexpire",
    "+persist",
    "+pttl",
    "+hget",
    "+hset",
    "+hdel",
    "+hexists",
    "+hincrby",
    "+hrandfield",
    "+zadd",
    "+zcard",
    "+zrange",
];
const MORE: [&str; 2] = ["+zrank", "+zrem"];

/// A client of a user with all rights of a lock but these, and what it warns of.
async fn client_without(server: &Server, missing: &[&str]) -> (Client, Receiver<String>) {
    let mut rules = vec!["ACL", "SETUSER", "app", "on", ">pw", "resetkeys", "resetchannels", "-@all"];
    rules.extend(LOCK.iter().chain(&MORE).filter(|rule| !missing.contains(rule)));
    assert_eq!(server.cmd(&rules).text(), "OK");
    listening(&format!("redis://app:pw@{}", server.address())).await
}

async fn listening(url: &str) -> (Client, Receiver<String>) {
    let mut config = Config::from_url(url).unwrap();
    let (tell, told) = mpsc::channel();
    config.on_event(Arc::new(move |event| {
        if event.level == Level::Warn {
            let _ = tell.send(event.message.clone());
        }
    }));
    (Client::connect_with(config).await.unwrap(), told)
}

/// Before Redis 7.0 no script can ask, and nothing is told.
fn tells(server: &Server) -> bool {
    server.cmd(&["EVAL", "return redis.acl_check_cmd and 1 or 0", "0"]).int() == 1
}

/// The warning about rights after a lock was opened; none when the server has been asked and nothing was missing.
fn warning(server: &Server, told: &Receiver<String>, evals_before: u64) -> Option<String> {
    let mut found = None;
    eventually(SOON, "the server was asked", || {
        found = found.take().or_else(|| told.try_iter().find(|warning| warning.contains("ACL SETUSER")));
        found.is_some() || evals(server) > evals_before
    });
    // The answer is read by then, or a little later.
    found.or_else(|| {
        told.recv_timeout(Duration::from_millis(300)).ok().filter(|warning| warning.contains("ACL SETUSER"))
    })
}

fn evals(server: &Server) -> u64 {
    let stats = server.cmd(&["INFO", "commandstats"]);
    let line = stats.text().lines().find_map(|line| line.strip_prefix("cmdstat_eval:calls=").map(str::to_owned));
    line.and_then(|line| line.split(',').next()?.parse().ok()).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn rights_that_are_missing_are_told_with_the_rule() {
    let server = Server::start();
    if !tells(&server) {
        return;
    }
    for missing in [
        vec!["+hset"],
        vec!["+hrandfield", "+zrem"],
        vec!["~dlock_queue:*"],
        vec!["~job"],
        vec!["&dlock_inbox:*"],
        vec!["&redisson_lock__channel:*", "~redisson_lock_token:*", "+persist"],
    ] {
        let before = evals(&server);
        let (client, told) = client_without(&server, &missing).await;
        let _lock = client.lock("job").unwrap();
        let warning = warning(&server, &told, before).unwrap_or_else(|| panic!("nothing said about {missing:?}"));
        let rules = warning.split("ACL SETUSER app ").nth(1).expect("a rule").split(' ').collect::<Vec<_>>();
        assert_eq!(rules, missing, "{warning}");
        assert!(
            warning.contains(&server.address().to_string()) && warning.contains("objects of the kind lock need"),
            "{warning}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_user_with_the_documented_rights_is_not_warned() {
    let server = Server::start();
    let (client, told) = client_without(&server, &[]).await;
    let before = evals(&server);
    let _lock = client.lock("job").unwrap();
    assert_eq!(warning(&server, &told, before), None);
    let (client, told) = listening(&server.url()).await;
    for open in [
        |client: &Client| client.semaphore("a", 1).map(drop),
        |client: &Client| client.counting_semaphore("b").map(drop),
        |client: &Client| client.rw_lock("c").map(drop),
        |client: &Client| client.latch("d").map(drop),
        |client: &Client| client.rate_limiter("e", libdlock::limit::Rate::new(1, Duration::from_secs(1))).map(drop),
    ] {
        let before = evals(&server);
        open(&client).unwrap();
        assert_eq!(warning(&server, &told, before), None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn missing_rights_are_told_once_for_each_kind() {
    let server = Server::start();
    if !tells(&server) {
        return;
    }
    let before = evals(&server);
    let (client, told) = client_without(&server, &["+hset"]).await;
    let locks: Vec<_> = (0..20).map(|_| client.lock("job").unwrap()).collect();
    let _other = client.lock("other").unwrap();
    assert!(warning(&server, &told, before).is_some());
    let _sides = client.rw_lock("job").unwrap();
    let of_sides = told.recv_timeout(SOON).expect("another kind");
    assert!(of_sides.contains("objects of the kind rw_lock need"), "{of_sides}");
    assert!(told.recv_timeout(Duration::from_millis(100)).is_err(), "{} locks", locks.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_server_whose_clock_is_far_off_is_told() {
    let (server, clock) = Server::with_clock();
    clock.offset(2 * 3_600 * 1_000_000);
    let (_client, told) = listening(&server.url()).await;
    let warning = told.recv_timeout(SOON).expect("a warning");
    assert!(warning.contains("s ahead of this machine's") && warning.contains("time daemon"), "{warning}");
    clock.offset(0);
    let (_client, told) = listening(&server.url()).await;
    assert!(told.try_recv().is_err());
}
