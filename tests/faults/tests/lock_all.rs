//! Several locks as one, whose holders, server and connections fail: what is held is all held, what is not comes back, and no
//! two sets block each other.

use std::collections::BTreeMap;
use std::time::Duration;

use libdlock::lock::HeldAll;
use libdlock::{Client, ErrorKind};
use libdlock_faults::peer::{Answer, number};
use libdlock_faults::turns::Turns;
use libdlock_faults::{Peer, SOON, bounded, client, is_held, kind, slack, wait_until_waiting, with_options, worker};
use libdlock_testkit::{Action, Hold, Proxy, Server, check, eventually, server::Data, wait::monotonic_us};

/// The head and the next one ask every second, up to 20 % later.
const POLL: Duration = Duration::from_millis(1_200);
const NAMES: &str = "a,b,c";

fn us(duration: Duration) -> i64 {
    duration.as_micros() as i64
}

fn names() -> impl Iterator<Item = &'static str> {
    NAMES.split(',')
}

#[track_caller]
fn nothing_is_left(server: &Server) {
    let left = || {
        let keys = server.keys();
        keys.into_iter().filter(|key| !key.starts_with("redisson_lock_token:")).collect::<Vec<_>>()
    };
    eventually(SOON, "nobody holds any and nobody waits", || left().is_empty());
}

#[track_caller]
fn takes(peer: &mut Peer) -> (i64, Vec<u64>) {
    taken(peer.call(&format!("take-all 1 {NAMES} -1")))
}

/// When the set was taken, and its tokens.
#[track_caller]
fn taken(answer: Answer) -> (i64, Vec<u64>) {
    let values: Vec<i64> = answer.expect("it is taken").iter().map(|value| number(value)).collect();
    (values[0], values[1..].iter().map(|token| *token as u64).collect())
}

/// Lets a process wait for the set, of which this one is in the way.
#[track_caller]
fn starts_to_wait(server: &Server, peer: &mut Peer, busy: &str) -> u64 {
    let waiting = peer.request(&format!("take-all 1 {NAMES} -1"));
    wait_until_waiting(server, busy);
    waiting
}

#[test]
fn after_kill_9_of_the_holder_all_come_back_with_the_lease() {
    const LEASE: Duration = Duration::from_secs(2);
    let server = Server::start();
    let url = with_options(&server.url(), "lease=2s");
    let (mut holder, mut waiter) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    let (_, before) = takes(&mut holder);
    let waiting = starts_to_wait(&server, &mut waiter, "a");
    holder.process().kill();
    let killed = monotonic_us();
    let (at, tokens) = taken(waiter.answer(waiting, LEASE + POLL + slack()));
    assert!(at <= killed + us(LEASE + slack()), "at the end of the lease, by no later timer: {} us", at - killed);
    assert!(before.iter().zip(&tokens).all(|(before, after)| before < after), "{before:?} and {tokens:?}");
    waiter.ok(&format!("leave-all 1 {NAMES}"));
    nothing_is_left(&server);
}

/// It has `a` and stands in the queue of `b`.
#[test]
fn after_kill_9_of_a_waiter_what_it_had_comes_back() {
    const LEASE: Duration = Duration::from_secs(1);
    let server = Server::start();
    let mut victim = Peer::start(worker!(), &with_options(&server.url(), "lease=1s"));
    let url = with_options(&server.url(), "lease=30s");
    let (mut holder, mut other) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    holder.acquire("b");
    starts_to_wait(&server, &mut victim, "b");
    assert!(is_held(&server, "a") && !is_held(&server, "c"));
    victim.process().kill();
    let killed = monotonic_us();
    let first = other.acquire("a");
    assert!(first.acquired_at <= killed + us(LEASE + POLL + slack()), "{} us", first.acquired_at - killed);
    other.release("a");
    holder.release("b");
    let (_, tokens) = takes(&mut other);
    assert_eq!(tokens.len(), 3);
    other.ok(&format!("leave-all 1 {NAMES}"));
    nothing_is_left(&server);
}

/// While it waits for the last, what it has before is renewed.
#[test]
fn a_waiter_keeps_what_it_has_for_many_leases() {
    let server = Server::start();
    let url = with_options(&server.url(), "lease=500ms");
    let (mut holder, mut waiter) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    holder.acquire("c");
    let waiting = starts_to_wait(&server, &mut waiter, "c");
    let owners = || ["a", "b"].map(|name| server.cmd(&["HKEYS", name]).array()[0].text().to_owned());
    let before = owners();
    let until = monotonic_us() + us(Duration::from_millis(2_500));
    while monotonic_us() < until {
        assert_eq!(owners(), before, "held all the time");
        std::thread::sleep(Duration::from_millis(20));
    }
    holder.release("c");
    taken(waiter.answer(waiting, SOON));
    waiter.ok(&format!("leave-all 1 {NAMES}"));
    nothing_is_left(&server);
}

const CALLERS: usize = 8;
const POOL: &str = "a,b,c,d";

/// The holds of each lock were apart, and its tokens increase.
#[track_caller]
fn are_apart(holds: Vec<Hold>) -> usize {
    let mut of_lock: BTreeMap<String, Vec<Hold>> = BTreeMap::new();
    let number = holds.len();
    for hold in holds {
        let (_, name) = hold.who.split_once('@').expect("<holder>@<name>");
        of_lock.entry(name.to_owned()).or_default().push(hold);
    }
    assert_eq!(of_lock.len(), POOL.split(',').count(), "each lock was held");
    for (name, holds) in of_lock {
        check(&holds).unwrap_or_else(|violation| panic!("{name}: {violation:?}"));
    }
    number
}

/// Callers of several processes that take random sets of the pool for so many ms.
fn turns(url: &str, ms: u64) -> Turns {
    Turns::start(worker!(), url, CALLERS, |caller| format!("contend-for-some {caller} {POOL} {ms}"))
}

#[test]
fn sets_that_overlap_never_block_each_other() {
    let server = Server::start();
    let mut turns = turns(&server.url(), 10_000);
    let answers = turns.answers(0, Duration::from_secs(10) + SOON);
    let had: Vec<i64> = answers.iter().map(|answer| number(&answer[0])).collect();
    println!("turns of each caller: {had:?}");
    assert!(had.iter().all(|turns| *turns > 0), "everybody has its turns: {had:?}");
    let held = are_apart(turns.holds());
    assert!(held > 200, "only {held} holds: nothing was tested");
    nothing_is_left(&server);
}

#[test]
fn sets_of_killed_processes_overlap_with_no_other() {
    let server = Server::start();
    let mut turns = turns(&with_options(&server.url(), "lease=500ms"), 6_000);
    turns.kill_two(&server, 200);
    turns.answers(2, Duration::from_secs(6) + SOON);
    are_apart(turns.holds());
    let mut newcomer = Peer::start(worker!(), &server.url());
    takes(&mut newcomer);
    newcomer.ok(&format!("leave-all 1 {NAMES}"));
    for held in POOL.split(',') {
        eventually(SOON, "it is free", || !is_held(&server, held));
    }
}

struct Cut {
    server: Server,
    proxy: Proxy,
    client: Client,
}

impl Cut {
    async fn new(options: &str) -> Cut {
        let server = Server::start();
        let proxy = Proxy::start(server.address());
        let client = client(&with_options(&proxy.url(), options)).await;
        // The server knows the scripts from here on: the faults meet the real reply of EVALSHA, not NOSCRIPT.
        let warm = client.lock_all(["warm-1", "warm-2"]).expect("names").acquire().await.expect("acquire");
        warm.release().await.expect("release");
        Cut { server, proxy, client }
    }
}

fn tokens(held: &HeldAll) -> Vec<u64> {
    held.tokens().map(|(_, token)| token).collect()
}

/// Whatever of a reply is missing: the repeat finds what the first attempt did, and gives its tokens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_request_takes_and_frees_nothing_twice() {
    let Cut { server, proxy, client } = Cut::new("").await;
    let set = client.lock_all(names()).expect("names");
    for bytes in 0..60 {
        let fault = proxy.on(&["EVALSHA", "a", "b", "c"], Action::CutReply(bytes));
        let held = match bytes % 2 {
            0 => bounded(SOON, "the retry succeeds", set.acquire()).await.expect("acquire"),
            _ => bounded(SOON, "the retry succeeds", set.try_acquire()).await.expect("acquire").expect("it is free"),
        };
        assert_eq!(fault.hits(), 1, "the fault was met");
        let last: Vec<u64> = names()
            .map(|name| {
                server.cmd(&["GET", &format!("redisson_lock_token:{{{name}}}")]).text().parse().expect("a token")
            })
            .collect();
        assert_eq!(last, tokens(&held), "one token of each was given, cut at {bytes}");
        assert!(names().all(|name| server.cmd(&["HLEN", name]).int() == 1), "cut at {bytes}");
        proxy.on(&["EVALSHA", "a", "b", "c"], Action::CutReply(bytes));
        bounded(SOON, "the release returns", held.release()).await.expect("a done release is no error");
        proxy.heal();
        assert!(names().all(|name| !is_held(&server, name)), "cut at {bytes}");
    }
}

/// The server has granted it, and nobody hears of that before the caller has gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_set_that_is_granted_to_nobody_is_given_back() {
    for timed in [true, false] {
        let Cut { server, proxy, client } = Cut::new("lease=60s&response_timeout=300ms&operation_timeout=1s").await;
        let set = client.lock_all(names()).expect("names");
        let held_back = proxy.on(&["EVALSHA", "a", "b", "c"], Action::HoldReply);
        let result = match timed {
            true => set.acquire_timeout(Duration::from_millis(150)).await.map(drop),
            false => tokio::time::timeout(Duration::from_millis(150), set.acquire())
                .await
                .map_or(Ok(()), |held| held.map(drop)),
        };
        assert_eq!(result.is_err(), timed, "{result:?}");
        assert_eq!(held_back.hits(), 1, "the fault was met");
        assert!(names().all(|name| is_held(&server, name)), "the server has granted it");
        held_back.let_go();
        eventually(SOON, "all are given back", || names().all(|name| !is_held(&server, name)));
    }
}

/// The first attempt took all of them; one was taken away before the repeat, which then finds somebody in the way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeat_that_is_refused_gives_back_what_came_before() {
    let Cut { server, proxy, client } = Cut::new("lease=60s").await;
    let set = client.lock_all(names()).expect("names");
    let cut = proxy.on(&["EVALSHA", "a", "b", "c"], Action::CutReply(0));
    let repeat = proxy.on(&["EVALSHA", "a", "b", "c"], Action::HoldRequest);
    let trying = tokio::spawn(async move { set.try_acquire().await });
    cut.expect(SOON);
    repeat.expect(SOON);
    server.cmd(&["DEL", "b"]);
    server.cmd(&["HSET", "b", "6e3814a1-e847-452b-a982-45baf93a1df2:1", "1"]);
    repeat.let_go();
    let tried = bounded(SOON, "the try ends", trying).await.expect("no panic").expect("no error");
    assert!(tried.is_none(), "b is another's");
    eventually(SOON, "a and c are given back", || !is_held(&server, "a") && !is_held(&server, "c"));
    assert!(is_held(&server, "b"), "and b is left alone");
}

#[test]
fn after_an_empty_restart_a_waiter_has_all_within_a_poll() {
    let mut server = Server::start();
    let url = with_options(&server.url(), "lease=3s");
    let (mut holder, mut waiter) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    let (_, before) = takes(&mut holder);
    let waiting = starts_to_wait(&server, &mut waiter, "a");
    server.restart(Data::Lost);
    let gone = monotonic_us();
    let (at, tokens) = taken(waiter.answer(waiting, SOON));
    assert!(at - gone <= us(POLL * 2 + slack()), "{} us", at - gone);
    assert!(before.iter().zip(&tokens).all(|(before, after)| before < after));
    holder.loss(SOON);
    assert_eq!(holder.ok(&format!("has-all 1 {NAMES}")), ["false"]);
    holder.call(&format!("leave-all 1 {NAMES}")).expect_err("there is nothing to end");
    assert_eq!(waiter.ok(&format!("has-all 1 {NAMES}")), ["true"]);
    waiter.ok(&format!("leave-all 1 {NAMES}"));
    nothing_is_left(&server);
}

/// It has `a` and `b` when the server forgets everything, and is not told that it holds a set of which `a` is another's.
#[test]
fn what_is_forgotten_during_a_wait_is_taken_anew() {
    let mut server = Server::start();
    let url = with_options(&server.url(), "lease=3s");
    let (mut holder, mut waiter) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    holder.acquire("c");
    let waiting = starts_to_wait(&server, &mut waiter, "c");
    let token = |name: &str| server.cmd(&["GET", &format!("redisson_lock_token:{{{name}}}")]).text().to_owned();
    let before = token("a").parse::<u64>().expect("a token");
    server.restart(Data::Lost);
    let (_, tokens) = taken(waiter.answer(waiting, SOON));
    assert!(tokens[0] > before, "a new grant of a");
    for (name, token) in names().zip(&tokens) {
        assert_eq!(server.cmd(&["GET", &format!("redisson_lock_token:{{{name}}}")]).text(), token.to_string());
        assert!(is_held(&server, name));
    }
    assert_eq!(waiter.ok(&format!("has-all 1 {NAMES}")), ["true"]);
    waiter.ok(&format!("leave-all 1 {NAMES}"));
}

#[test]
fn a_member_that_is_taken_by_force_ends_the_hold() {
    let server = Server::start();
    let url = with_options(&server.url(), "lease=3s");
    let (mut holder, mut other) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    takes(&mut holder);
    server.cmd(&["DEL", "b"]);
    let second = other.acquire("b");
    let loss = holder.loss(SOON);
    assert_eq!(loss.name, "b");
    assert_eq!(holder.ok(&format!("has-all 1 {NAMES}")), ["false"]);
    assert!(is_held(&server, "a") && is_held(&server, "c"), "the others are its own until it releases");
    let (kind, message) = holder.call(&format!("leave-all 1 {NAMES}")).expect_err("it is not whole");
    assert_eq!(kind, "NOT_HELD");
    assert!(message.contains('b'), "{message}");
    assert!(!is_held(&server, "a") && !is_held(&server, "c"));
    assert_eq!(server.cmd(&["HKEYS", "b"]).array()[0].text(), second.owner, "another's hold is not touched");
    other.release("b");
    nothing_is_left(&server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_server_is_away_a_timed_set_ends_in_time() {
    let Cut { server, proxy, client } = Cut::new("response_timeout=300ms&operation_timeout=1s").await;
    let set = client.lock_all(names()).expect("names");
    proxy.heal();
    drop(server);
    let called = std::time::Instant::now();
    let wait = Duration::from_millis(500);
    let error = kind(bounded(SOON, "it ends", set.acquire_timeout(wait)).await);
    assert!(matches!(error, ErrorKind::Connection | ErrorKind::OutcomeUnknown), "{error:?}");
    let late = called.elapsed().saturating_sub(wait);
    assert!(late <= slack(), "{late:?} late");
    let error = kind(bounded(SOON, "it ends", set.try_acquire()).await);
    assert!(matches!(error, ErrorKind::Connection | ErrorKind::OutcomeUnknown), "{error:?}");
}
