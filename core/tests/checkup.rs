//! What a client warns of when it reaches a server, or opens the first object of a kind: before a call fails for it.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use crate::common::rules::documented;
use libdlock::event::Level;
use libdlock::limit::Algorithm;
use libdlock::{Client, Config, ErrorKind, Rate};
use libdlock_testkit::{Action, Proxy, Server, eventually, lateness};

const SOON: Duration = Duration::from_secs(10);

/// A client of a user with all rights of a lock but these, and what it warns of.
async fn client_without(server: &Server, missing: &[&str]) -> (Client, Receiver<String>) {
    add_user_without(server, missing);
    listening(&format!("redis://app:pw@{}", server.address())).await
}

fn add_user_without(server: &Server, missing: &[&str]) {
    let rules = documented("lock", "job");
    assert!(missing.iter().all(|rule| rules.iter().any(|known| known == rule)), "{missing:?}");
    add_user(server, rules.iter().filter(|rule| !missing.contains(&rule.as_str())));
}

fn add_user<'a>(server: &Server, rules: impl Iterator<Item = &'a String>) {
    let mut words = vec!["ACL", "SETUSER", "app", "on", ">pw", "resetkeys", "resetchannels", "-@all"];
    words.extend(rules.map(String::as_str));
    assert_eq!(server.cmd(&words).text(), "OK");
}

/// The rules in the next warning about rights.
fn rules_told(told: &Receiver<String>) -> Vec<String> {
    loop {
        let warning = told.recv_timeout(SOON).expect("a warning about rights");
        if let Some((_, rules)) = warning.split_once("ACL SETUSER app ") {
            return rules.split(' ').map(str::to_owned).collect();
        }
    }
}

/// How many warnings were told that contain this.
fn count(told: &Receiver<String>, what: &str) -> usize {
    told.try_iter().filter(|warning| warning.contains(what)).count()
}

/// Ends all connections of the client, which has another one when this returns.
async fn reconnect(server: &Server, client: &Client) {
    server.cmd(&["CLIENT", "KILL", "TYPE", "normal"]);
    client.lock("job").unwrap().inspect().await.unwrap();
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
        told.recv_timeout(Duration::from_millis(300) + lateness())
            .ok()
            .filter(|warning| warning.contains("ACL SETUSER"))
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
    // Without these a client does not come so far as to ask.
    let to_ask = ["+hello", "+auth", "+client|setname", "+time", "+eval"];
    let rules = documented("lock", "job");
    let each = rules.iter().map(String::as_str).filter(|rule| !to_ask.contains(rule));
    let several =
        [vec!["+hrandfield", "+zrem"], vec!["&redisson_lock__channel:*", "~redisson_lock_token:*", "+persist"]];
    for missing in each.map(|rule| vec![rule]).chain(several) {
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
    type Open = fn(&Client) -> libdlock::Result<()>;
    let kinds: [(&str, Open); 6] = [
        ("lock", |client| client.lock("job").map(drop)),
        ("semaphore", |client| client.semaphore("job", 1).map(drop)),
        ("counting semaphore", |client| client.counting_semaphore("job").map(drop)),
        ("rw lock", |client| client.rw_lock("job").map(drop)),
        ("latch", |client| client.latch("job").map(drop)),
        ("rate limiter", |client| client.rate_limiter("job", Rate::new(1, Duration::from_secs(1))).map(drop)),
    ];
    for (kind, open) in kinds {
        add_user(&server, documented(kind, "job").iter());
        let (client, told) = listening(&format!("redis://app:pw@{}", server.address())).await;
        let before = evals(&server);
        open(&client).unwrap();
        assert_eq!(warning(&server, &told, before), None, "{kind}");
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

/// Without PEXPIRE tokens, logs and what Redisson's limiters have stay on the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_user_who_may_not_let_keys_end_is_told() {
    let server = Server::start();
    if !tells(&server) {
        return;
    }
    let rules = ["lock", "rate limiter", "rate limiter of Redisson"].map(|kind| documented(kind, "job")).concat();
    add_user(&server, rules.iter().filter(|rule| *rule != "+pexpire"));
    let (client, told) = listening(&format!("redis://app:pw@{}", server.address())).await;
    let _lock = client.lock("job").unwrap();
    assert_eq!(rules_told(&told), ["+pexpire"]);
    for by in [Algorithm::SlidingLog, Algorithm::Redisson { per_client: false }] {
        let rate = Rate::new(1, Duration::from_secs(1)).by(by);
        let _limiter = client.rate_limiter("job", rate).unwrap();
        assert_eq!(rules_told(&told), ["+pexpire"], "{by:?}");
    }
}

/// Access rules are not replicated: the server that takes over may have others.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn another_server_is_asked_too_and_told_if_it_lacks_others() {
    let [first, same, other] = [&["+hset"], &["+hset"], &["+zrem"]].map(|missing| {
        let server = Server::start();
        add_user_without(&server, missing);
        server
    });
    if !tells(&first) {
        return;
    }
    let proxy = Proxy::start(first.address());
    let (client, told) = listening(&format!("redis://app:pw@{}", proxy.address())).await;
    let _lock = client.lock("job").unwrap();
    assert_eq!(rules_told(&told), ["+hset"]);
    for server in [&same, &other] {
        let before = evals(server);
        proxy.point_at(server.address());
        proxy.reset_all();
        eventually(SOON, "the server was asked", || evals(server) > before);
    }
    assert_eq!(rules_told(&told), ["+zrem"], "and nothing of the one between");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_user_who_may_not_ask_is_asked_about_when_he_may() {
    let server = Server::start();
    if !tells(&server) {
        return;
    }
    let (client, told) = client_without(&server, &["+eval", "+evalsha", "+hset"]).await;
    let refused = client.lock("job").unwrap().try_acquire().await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NoPermission, "{refused}");
    add_user_without(&server, &["+hset"]);
    assert_eq!(count(&told, "ACL SETUSER"), 0);
    reconnect(&server, &client).await;
    assert_eq!(rules_told(&told), ["+hset"]);
}

/// The answer never comes. Nothing waits for it, and the connection after this one is asked again.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_question_without_an_answer_delays_no_call() {
    let server = Server::start();
    if !tells(&server) {
        return;
    }
    add_user_without(&server, &["+zrank"]);
    let proxy = Proxy::start(server.address());
    let question = proxy.on(&["EVAL", "acl_check_cmd"], Action::Refuse);
    let (client, told) = listening(&format!("redis://app:pw@{}", proxy.address())).await;
    let lock = client.lock("job").unwrap();
    lock.acquire().await.unwrap().release().await.unwrap();
    question.expect(SOON);
    assert_eq!(rules_told(&told), ["+zrank"]);

    let question = proxy.on(&["EVAL", "acl_check_cmd"], Action::HoldReply);
    let (client, told) = listening(&format!("redis://app:pw@{}?response_timeout=300ms", proxy.address())).await;
    let lock = client.lock("job").unwrap();
    question.expect(SOON);
    lock.acquire().await.unwrap().release().await.unwrap();
    assert_eq!(rules_told(&told), ["+zrank"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_rule_for_a_name_with_signs_of_patterns_is_taken() {
    let server = Server::start();
    if !tells(&server) {
        return;
    }
    let (client, told) = client_without(&server, &[]).await;
    let _lock = client.lock("my *job [1]").unwrap();
    let rules = rules_told(&told);
    assert_eq!(rules, ["~my??job??1?"]);
    assert_eq!(server.cmd(&["ACL", "SETUSER", "app", &rules[0]]).text(), "OK");
    let before = evals(&server);
    let (client, told) = listening(&format!("redis://app:pw@{}", server.address())).await;
    let _lock = client.lock("my *job [1]").unwrap();
    assert_eq!(warning(&server, &told, before), None);
}

/// Without INFO a client does not know whether it has come to another server: each connection may lead to one.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_clock_far_off_is_told_once_however_often_it_reconnects() {
    let (server, clock) = Server::with_clock();
    clock.offset(-2 * 3_600 * 1_000_000);
    for missing in [&["+info"][..], &[]] {
        let (client, told) = client_without(&server, missing).await;
        for _ in 0..3 {
            reconnect(&server, &client).await;
        }
        assert_eq!(count(&told, "behind this machine's"), 1, "{missing:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_policy_that_changed_is_told_at_the_next_connection() {
    let server = Server::start();
    let (client, told) = listening(&server.url()).await;
    for (policy, times) in [("allkeys-lru", 1), ("allkeys-lru", 0), ("volatile-ttl", 1), ("noeviction", 0)] {
        assert_eq!(server.cmd(&["CONFIG", "SET", "maxmemory-policy", policy]).text(), "OK");
        reconnect(&server, &client).await;
        assert_eq!(count(&told, &format!("(maxmemory-policy {policy})")), times, "{policy}");
    }
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
