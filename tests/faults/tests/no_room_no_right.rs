//! The server has no memory left, or the user lacks a right. All that is still possible is done, and errors and events say what
//! is not.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use libdlock::{Client, Config, ErrorKind};
use libdlock_faults::{SOON, bounded, client, is_held, kind, listeners, slack, wait_until_waiting, with_options};
use libdlock_testkit::{Server, eventually, within};

/// The head asks every second, up to 20 % later.
const POLL: Duration = Duration::from_millis(1_200);

fn memory(server: &Server, bytes: &str) {
    assert_eq!(server.cmd(&["CONFIG", "SET", "maxmemory", bytes]).text(), "OK");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_memory_acquires_are_refused_and_leave_nothing() {
    let server = Server::options().maxmemory(0).start();
    let client = client(&server.url()).await;
    let lock = client.lock("job").expect("a name");
    memory(&server, "1");
    for _ in 0..3 {
        assert_eq!(kind(lock.try_acquire().await.map(drop)), ErrorKind::OutOfMemory);
        assert_eq!(kind(bounded(SOON, "told", lock.acquire()).await.map(drop)), ErrorKind::OutOfMemory);
        assert_eq!(server.keys(), [""; 0]);
    }
    memory(&server, "0");
    lock.acquire().await.expect("acquire").release().await.expect("release");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_memory_holds_are_renewed_and_released() {
    const LEASE: Duration = Duration::from_millis(900);
    let server = Server::options().maxmemory(0).start();
    let url = with_options(&server.url(), "lease=900ms");
    let (holding, waiting): (Client, Client) = (client(&url).await, client(&url).await);
    let held = holding.lock("job").expect("a name").acquire().await.expect("acquire");
    // One in another process, one in the holder's own, for whom its release joins the queue.
    let waiter = |client: &Client| {
        let lock = client.lock("job").expect("a name");
        tokio::spawn(async move { lock.acquire().await })
    };
    let (elsewhere, here) = (waiter(&waiting), waiter(&holding));
    wait_until_waiting(&server, "job");
    memory(&server, "1");
    assert!(!within(LEASE * 2, || held.loss().is_some()), "it is renewed");
    held.release().await.expect("a release needs no memory");
    let mut served = 0;
    for waiter in [elsewhere, here] {
        match bounded(SOON, "told or served", waiter).await.expect("no panic") {
            Ok(held) => {
                held.release().await.expect("release");
                served += 1;
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}"),
        }
    }
    println!("{served} were served without memory");
    memory(&server, "0");
    let lock = waiting.lock("job").expect("a name");
    bounded(SOON, "served", lock.acquire()).await.expect("acquire").release().await.expect("release");
    eventually(SOON, "nothing is left", || server.keys() == ["redisson_lock_token:{job}"]);
}

/// Under a `volatile-*` policy a full server deletes held locks: their keys have a time to live.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_may_evict_locks_is_warned_of_on_connecting() {
    for (policy, warns) in [("noeviction", 0), ("volatile-lru", 1), ("allkeys-random", 1)] {
        let server = Server::options().user("app on >secret ~* &* +@all").args(&["--maxmemory-policy", policy]).start();
        let (client, said) = client_of(&server, "app").await;
        let lock = client.lock("job").expect("a name");
        lock.acquire().await.expect("acquire").release().await.expect("release");
        let said = said.lock().expect("no panic").clone();
        let about = said.iter().filter(|event| event.contains(&format!("maxmemory-policy {policy}"))).count();
        assert_eq!(about, warns, "{policy}: {said:?}");
    }
}

/// The rules of docs/operations.md for locks and limiters of this name.
fn documented_rights(name: &str) -> String {
    let page = include_str!("../../../docs/operations.md");
    let (_, rules) = page.split_once("ACL SETUSER libdlock on >password ").expect("the page shows the rules");
    let (rules, _) = rules.split_once("```").expect("a block");
    rules.split_whitespace().collect::<Vec<_>>().join(" ").replace("<names>", name)
}

/// A user with the documented rights has every primitive, and no command that takes locks away from others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_documented_rights_suffice_and_allow_no_flush() {
    let server = Server::options().user(&format!("app on >secret {}", documented_rights("job"))).start();
    let ((holding, said), (waiting, _)) = (client_of(&server, "app").await, client_of(&server, "app").await);
    let held = holding.lock("job").expect("a name").acquire().await.expect("acquire");
    let theirs = waiting.lock("job").expect("a name");
    let waiter = tokio::spawn(async move { theirs.acquire().await });
    wait_until_waiting(&server, "job");
    held.extend(Duration::from_secs(60)).await.expect("extend");
    held.release().await.expect("release");
    let held = bounded(slack(), "woken", waiter).await.expect("no panic").expect("acquire");
    assert!(waiting.lock("job").expect("a name").force_release().await.expect("force release"));
    drop(held);
    let rate = libdlock::Rate::new(10, Duration::from_secs(1));
    let limiter = holding.rate_limiter("job", rate).expect("a limiter");
    assert!(limiter.try_acquire(1).await.expect("a decision").granted > 0);
    limiter.reset().await.expect("reset");
    let refused: Vec<String> = said.lock().expect("no panic").clone();
    assert!(refused.iter().all(|event| !event.contains("forbid")), "{refused:?}");

    let mut conn = libdlock_testkit::Conn::open(server.address()).expect("connect");
    assert_eq!(conn.cmd(&["AUTH", "app", "secret"]).expect("a reply").text(), "OK");
    for command in
        ["FLUSHALL", "FLUSHDB", "SWAPDB 0 1", "FUNCTION FLUSH", "SCRIPT FLUSH", "KEYS *", "CONFIG GET *", "GET other"]
    {
        let words: Vec<&str> = command.split(' ').collect();
        let reply = format!("{:?}", conn.cmd(&words).expect("a reply"));
        // Functions come with 7.0.
        let lacks_it = command.starts_with("FUNCTION") && reply.contains("unknown command");
        assert!(reply.contains("NOPERM") || lacks_it, "{command}: {reply}");
    }
    let admin = libdlock_testkit::access::minimal();
    let listed = |rules: &str| {
        let mut words: Vec<String> =
            rules.split_whitespace().filter(|word| word.starts_with('+')).map(str::to_owned).collect();
        words.sort();
        words
    };
    assert_eq!(listed(&documented_rights("job")), listed(&admin.join(" ")), "the page and tests/vectors/access.json");
}

/// A client of a user who lacks something, and what it says by itself.
async fn client_of(server: &Server, user: &str) -> (Client, Arc<Mutex<Vec<String>>>) {
    let mut config = Config::from_url(&format!("redis://{user}:secret@{}", server.address())).expect("a URL");
    let events = Arc::new(Mutex::new(Vec::new()));
    let told = events.clone();
    config.on_event(Arc::new(move |event| told.lock().expect("no panic").push(event.message.clone())));
    (Client::connect_with(config).await.expect("connect"), events)
}

/// Two of these users, one after the other: releases are done and say that nobody was told; the waiter comes within `bound`,
/// and does not ask without pause meanwhile.
async fn who_lacks(rights: &str, told: bool, bound: Duration) {
    let server = Server::options().user(&format!("app on >secret {} {rights}", documented_rights("job"))).start();
    let ((holding, events), (waiting, _)) = (client_of(&server, "app").await, client_of(&server, "app").await);
    let lock = |client: &Client| client.lock("job").expect("a name");
    let scripts = || server.info("commandstats", "cmdstat_evalsha:calls");
    let held = lock(&holding).acquire().await.expect("acquire");
    let theirs = lock(&waiting);
    let waiter = tokio::spawn(async move { theirs.acquire().await.map(|held| (held, Instant::now())) });
    eventually(SOON, "it stands in the queue", || server.cmd(&["EXISTS", "dlock_queue:{job}"]).int() == 1);
    let before = scripts();
    assert!(!within(Duration::from_secs(1), || waiter.is_finished()));
    assert!(scripts() - before <= 6, "{} scripts in a second", scripts() - before);
    let released = Instant::now();
    held.release().await.expect("released all the same");
    let (held, at) = bounded(SOON, "it comes", waiter).await.expect("no panic").expect("acquire");
    assert!(at - released <= bound, "{:?}", at - released);
    held.release().await.expect("released all the same");
    assert!(!is_held(&server, "job"));
    let events = events.lock().expect("no panic");
    let said = events.iter().any(|event| event.contains("forbid to tell the waiters"));
    assert_eq!(said, !told, "{events:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_with_every_right_is_told_at_once() {
    who_lacks("resetchannels &redisson_lock__channel:* &dlock_inbox:*", true, slack()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_right_to_publish_waiters_come_by_their_timers() {
    who_lacks("resetchannels &redisson_lock__channel:* &dlock_inbox:* -publish", false, POLL + slack()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_right_to_inboxes_waiters_come_by_their_timers() {
    who_lacks("resetchannels &redisson_lock__channel:*", false, POLL + slack()).await;
}

/// Redisson's clients are not told; those of libdlock are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_locks_channel_the_waiter_comes_at_once() {
    who_lacks("resetchannels &dlock_inbox:*", false, slack()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_any_channel_waiters_come_by_their_timers() {
    who_lacks("resetchannels", false, POLL + slack()).await;
}

/// The head would listen to a foreign holder's channel, and may not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_right_to_listen_a_waiter_comes_by_its_timer() {
    let rights = "~* +@all resetchannels &dlock_inbox:*";
    let server = Server::options().user(&format!("app on >secret {rights}")).start();
    let (waiting, _) = client_of(&server, "app").await;
    server.cmd(&["HSET", "job", "6e3814a1-e847-452b-a982-45baf93a1df2:1", "1"]);
    let lock = waiting.lock("job").expect("a name");
    let waiter = tokio::spawn(async move { lock.acquire().await.map(|held| (held, Instant::now())) });
    eventually(SOON, "it stands in the queue", || server.cmd(&["EXISTS", "dlock_queue:{job}"]).int() == 1);
    assert!(!within(Duration::from_secs(1), || listeners(&server, &libdlock_faults::channel("job")) > 0));
    server.cmd(&["DEL", "job"]);
    let deleted = Instant::now();
    let (held, at) = bounded(SOON, "it comes", waiter).await.expect("no panic").expect("acquire");
    assert!(at - deleted <= POLL + slack(), "{:?}", at - deleted);
    held.release().await.expect("release");
}
