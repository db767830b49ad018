//! A latch whose callers, replies, messages and server fail: no call counts twice, and nobody waits for a latch that is open.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use libdlock::{Client, Config, ErrorKind, Latch};
use libdlock_faults::{Peer, SOON, bounded, client, listeners, slack, with_options, worker};
use libdlock_testkit::{Action, Proxy, Server, eventually, server::Data, wait::monotonic_us};
use tokio::task::JoinHandle;

/// By default waiters look every second, up to 20 % later.
const POLL: Duration = Duration::from_millis(1_200);
const CHANNEL: &str = "redisson_countdownlatch__channel__{ready}";
/// No timer helps.
const DEAF: &str = "poll_interval=1h";

fn us(duration: Duration) -> i64 {
    duration.as_micros() as i64
}

fn count(server: &Server) -> i64 {
    server.cmd(&["EVAL", "return tonumber(redis.call('GET', 'ready') or 0)", "0"]).int()
}

#[track_caller]
fn so_many_listen(server: &Server, clients: i64) {
    eventually(SOON, "they listen", || listeners(server, CHANNEL) == clients);
}

/// Lets processes wait; the requests, once all of them listen.
#[track_caller]
fn wait_in(server: &Server, peers: &mut [Peer]) -> Vec<u64> {
    let waiting = peers.iter_mut().map(|peer| peer.request("wait-for ready -1")).collect();
    so_many_listen(server, peers.len() as i64);
    waiting
}

/// When the wait of a process ended, which found the latch open.
#[track_caller]
fn opened_at(peer: &mut Peer, waiting: u64) -> i64 {
    let answer = peer.answer(waiting, SOON).expect("no error");
    assert_eq!(answer[0], "true");
    answer[1].parse().expect("a time")
}

#[test]
fn sixty_four_processes_are_woken_by_one_message() {
    const PROCESSES: usize = 64;
    let server = Server::start();
    let url = with_options(&server.url(), DEAF);
    server.cmd(&["SET", "ready", "2"]);
    let mut peers: Vec<Peer> = (0..PROCESSES).map(|_| Peer::start(worker!(), &url)).collect();
    let waiting = wait_in(&server, &mut peers);
    let mut counter = Peer::start(worker!(), &url);
    assert_eq!(counter.ok("count-down ready"), ["1"]);
    let published = || server.info("commandstats", "cmdstat_publish:calls");
    let (before, scripts) = (published(), server.info("commandstats", "cmdstat_evalsha:calls"));
    assert_eq!(counter.ok("count-down ready"), ["0"]);
    for (peer, waiting) in peers.iter_mut().zip(waiting) {
        opened_at(peer, waiting);
    }
    assert_eq!(published() - before, 1);
    let scripts = server.info("commandstats", "cmdstat_evalsha:calls") - scripts;
    assert!(scripts <= PROCESSES as u64 + 1, "{scripts} scripts for the count down and a look each");
    so_many_listen(&server, 0);
}

#[test]
fn after_kill_9_of_who_counts_and_who_waits_others_go_on() {
    let server = Server::start();
    let url = with_options(&server.url(), DEAF);
    server.cmd(&["SET", "ready", "2"]);
    let mut peers: Vec<Peer> = (0..2).map(|_| Peer::start(worker!(), &url)).collect();
    let waiting = wait_in(&server, &mut peers);
    let mut counter = Peer::start(worker!(), &url);
    assert_eq!(counter.ok("count-down ready"), ["1"]);
    counter.process().kill();
    peers[0].process().kill();
    so_many_listen(&server, 1);
    assert_eq!(count(&server), 1, "what it counted stays counted");
    let mut other = Peer::start(worker!(), &url);
    let called = monotonic_us();
    assert_eq!(other.ok("count-down ready"), ["0"]);
    assert!(opened_at(&mut peers[1], waiting[1]) - called <= us(slack()));
}

/// The bytes arrive when their process is gone; then it is one that counted.
#[test]
fn a_process_that_is_killed_while_it_counts_counts_once_at_most() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    server.cmd(&["SET", "ready", "9"]);
    let mut counter = Peer::start(worker!(), &proxy.url());
    assert_eq!(counter.ok("count-down ready"), ["8"]);
    let held = proxy.on(&["EVALSHA", "ready"], Action::HoldReply);
    counter.request("count-down ready");
    held.expect(SOON);
    counter.process().kill();
    proxy.heal();
    eventually(SOON, "it was counted", || count(&server) == 7);
}

struct Cut {
    server: Server,
    proxy: Proxy,
    latch: Latch,
}

impl Cut {
    async fn new(left: u64) -> Cut {
        let server = Server::start();
        let proxy = Proxy::start(server.address());
        let client = client(&with_options(&proxy.url(), DEAF)).await;
        // The server knows the scripts from here on: the faults meet the real reply of EVALSHA, not NOSCRIPT.
        let warm = client.latch("warm").expect("a name");
        warm.try_set_count(1).await.expect("set");
        warm.count_down().await.expect("count down");
        warm.delete().await.expect("delete");
        let latch = client.latch("ready").expect("a name");
        latch.try_set_count(left).await.expect("set");
        Cut { server, proxy, latch }
    }

    /// The next script that names the latch is executed, and of its reply so many bytes pass before the connection breaks.
    fn cut(&self, bytes: usize) -> libdlock_testkit::proxy::Match {
        self.proxy.on(&["EVALSHA", "ready"], Action::CutReply(bytes))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_count_down_whose_reply_is_lost_counts_once() {
    let setup = Cut::new(100).await;
    for bytes in 0..30 {
        let fault = setup.cut(bytes);
        let left = bounded(SOON, "the repeat", setup.latch.count_down()).await.expect("no error");
        assert_eq!((fault.hits(), count(&setup.server)), (1, 99 - bytes as i64), "cut at {bytes}");
        assert_eq!(left, 99 - bytes as u64);
        // What was cut behind the end of this reply meets the next one.
        bounded(SOON, "a look", setup.latch.count()).await.expect("no error");
    }
}

/// The last one opens the latch, its reply is lost, and somebody sets it anew before the repeat.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeat_does_not_count_a_new_latch_down() {
    let setup = Cut::new(1).await;
    let cut = setup.cut(0);
    let repeat = setup.proxy.on(&["EVALSHA", "ready"], Action::HoldRequest);
    let latch = setup.latch.clone();
    let counting = tokio::spawn(async move { latch.count_down().await });
    repeat.expect(SOON);
    assert_eq!(cut.hits(), 1);
    let other = client(&setup.server.url()).await.latch("ready").expect("a name");
    assert!(other.try_set_count(5).await.expect("set"), "it was open");
    repeat.let_go();
    let left = bounded(SOON, "the repeat", counting).await.expect("no panic").expect("no error");
    assert_eq!((left, count(&setup.server)), (5, 5), "it says how the latch stands now");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_set_and_delete_say_what_the_first_did() {
    let setup = Cut::new(1).await;
    let other = client(&setup.server.url()).await.latch("ready").expect("a name");
    for round in 1..10 {
        let cut = setup.cut(0);
        assert!(bounded(SOON, "the repeat", setup.latch.delete()).await.expect("no error"));
        assert_eq!(cut.hits(), 1);
        let cut = setup.cut(0);
        assert!(bounded(SOON, "the repeat", setup.latch.try_set_count(round)).await.expect("no error"));
        assert_eq!((cut.hits(), count(&setup.server)), (1, round as i64));
        assert!(!other.try_set_count(7).await.expect("no error"));
    }
}

/// Its id is forgotten with the jump, so no repeat may be carried out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeat_after_a_jump_of_the_clock_does_not_count_again() {
    let (server, clock) = Server::with_clock();
    let proxy = Proxy::start(server.address());
    let latch = client(&proxy.url()).await.latch("ready").expect("a name");
    latch.try_set_count(9).await.expect("set");
    assert_eq!(latch.count_down().await.expect("count down"), 8);
    let cut = proxy.on(&["EVALSHA", "ready"], Action::CutReply(0));
    let repeat = proxy.on(&["EVALSHA", "ready"], Action::HoldRequest);
    let counting = tokio::spawn({
        let latch = latch.clone();
        async move { latch.count_down().await }
    });
    repeat.expect(SOON);
    assert_eq!(cut.hits(), 1);
    clock.advance(3_600_000_000);
    proxy.heal();
    let error = bounded(SOON, "the repeat", counting).await.expect("no panic").expect_err("nobody knows");
    assert_eq!((error.kind(), error.name()), (ErrorKind::OutcomeUnknown, Some("ready")), "{error}");
    assert_eq!(count(&server), 7);
    assert_eq!(latch.count_down().await.expect("the next is carried out"), 6);
}

/// A jump that leaves the id: the repeat is too late by its own time, and is asked once more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeat_after_a_small_jump_learns_what_was_done() {
    let (server, clock) = Server::with_clock();
    let proxy = Proxy::start(server.address());
    let latch = client(&proxy.url()).await.latch("ready").expect("a name");
    latch.try_set_count(9).await.expect("set");
    assert_eq!(latch.count_down().await.expect("count down"), 8);
    let cut = proxy.on(&["EVALSHA", "ready"], Action::CutReply(0));
    let repeat = proxy.on(&["EVALSHA", "ready"], Action::HoldRequest);
    let counting = tokio::spawn(async move { latch.count_down().await });
    repeat.expect(SOON);
    assert_eq!(cut.hits(), 1);
    clock.advance(30_000_000);
    proxy.heal();
    assert_eq!(bounded(SOON, "the repeat", counting).await.expect("no panic").expect("no error"), 7);
    assert_eq!(count(&server), 7);
}

fn waits(latch: &Latch) -> JoinHandle<libdlock::Result<()>> {
    let latch = latch.clone();
    tokio::spawn(async move { latch.wait().await })
}

/// Between the look and the subscription nobody hears.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_before_the_subscription_costs_no_wait() {
    for _ in 0..10 {
        let setup = Cut::new(1).await;
        let subscribing = setup.proxy.on(&["SUBSCRIBE", CHANNEL], Action::HoldRequest);
        let waiter = waits(&setup.latch);
        subscribing.expect(SOON);
        let other = client(&setup.server.url()).await.latch("ready").expect("a name");
        assert_eq!(other.count_down().await.expect("count down"), 0);
        assert!(!waiter.is_finished());
        setup.proxy.heal();
        bounded(SOON, "it looks once it is subscribed", waiter).await.expect("no panic").expect("no error");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_while_the_connection_is_cut_costs_no_wait() {
    let setup = Cut::new(1).await;
    let waiter = waits(&setup.latch);
    so_many_listen(&setup.server, 1);
    let subscribing = setup.proxy.on(&["SUBSCRIBE", CHANNEL], Action::HoldRequest);
    setup.server.cmd(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    subscribing.expect(SOON);
    assert_eq!(client(&setup.server.url()).await.latch("ready").expect("a name").count_down().await.expect("done"), 0);
    setup.proxy.heal();
    bounded(SOON, "it looks once it is subscribed", waiter).await.expect("no panic").expect("no error");
}

#[test]
fn after_an_empty_restart_a_latch_is_open_within_a_poll() {
    let mut server = Server::start();
    let mut waiter = Peer::start(worker!(), &server.url());
    server.cmd(&["SET", "ready", "1"]);
    let waiting = wait_in(&server, std::slice::from_mut(&mut waiter))[0];
    server.restart(Data::Lost);
    let back = monotonic_us();
    assert!(opened_at(&mut waiter, waiting) - back <= us(POLL + slack()));
}

#[test]
fn a_waiter_that_was_stopped_finds_the_latch_open() {
    let server = Server::start();
    let mut waiter = Peer::start(worker!(), &with_options(&server.url(), "poll_interval=2s"));
    server.cmd(&["SET", "ready", "1"]);
    let waiting = wait_in(&server, std::slice::from_mut(&mut waiter))[0];
    waiter.process().pause();
    server.cmd(&["DEL", "ready"]);
    std::thread::sleep(Duration::from_secs(3));
    waiter.process().resume();
    let resumed = monotonic_us();
    assert!(opened_at(&mut waiter, waiting) - resumed <= us(slack()), "its timer was due");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waits_for_a_black_hole_end_when_they_should() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let options = "operation_timeout=2s&response_timeout=500ms&ping_interval=500ms&poll_interval=300ms";
    let latch = client(&with_options(&proxy.url(), options)).await.latch("ready").expect("a name");
    latch.try_set_count(1).await.expect("set");
    let (endless, began) = (waits(&latch), Instant::now());
    let timed = |wait: Duration| {
        let latch = latch.clone();
        tokio::spawn(async move { (latch.wait_timeout(wait).await, Instant::now()) })
    };
    let (short, long) = (timed(Duration::from_secs(1)), timed(Duration::from_secs(5)));
    so_many_listen(&server, 1);
    proxy.hold_all();
    let held = Instant::now();
    let (ended, at) = bounded(SOON, "the short wait", short).await.expect("no panic");
    assert!(!ended.expect("it was closed when it was last seen"));
    let late = at - began;
    assert!(late >= Duration::from_millis(990) && late <= Duration::from_secs(1) + slack(), "{late:?}");
    let error = bounded(SOON, "the endless wait", endless).await.expect("no panic").expect_err("no server");
    assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    assert!(held.elapsed() <= Duration::from_secs(3) + slack(), "{:?}", held.elapsed());
    // A call that begins now ends with its own time, too.
    let called = Instant::now();
    let error = latch.wait_timeout(Duration::from_millis(700)).await.expect_err("no server");
    assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    assert!(called.elapsed() <= Duration::from_millis(700) + slack(), "{:?}", called.elapsed());
    let (ended, at) = bounded(SOON, "the long wait", long).await.expect("no panic");
    let error = ended.expect_err("no server until then");
    assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    assert!(at - began <= Duration::from_secs(5) + slack(), "{:?}", at - began);
    proxy.heal();
    latch.count_down().await.expect("count down");
    bounded(SOON, "it opens", latch.wait()).await.expect("no error");
}

/// A client of a user with these rights beside those that a latch needs, and what it says by itself.
async fn client_with(server: &Server) -> (Client, Arc<Mutex<Vec<String>>>) {
    let mut config = Config::from_url(&format!("redis://app:secret@{}", server.address())).expect("a URL");
    let events = Arc::new(Mutex::new(Vec::new()));
    let told = events.clone();
    config.on_event(Arc::new(move |event| told.lock().expect("no panic").push(event.message.clone())));
    (Client::connect_with(config).await.expect("connect"), events)
}

/// What the errors name.
const RIGHTS: &str = "~ready ~dlock_latch_done:* resetchannels +eval +evalsha +time +ping +info +subscribe +unsubscribe +publish \
    +get +set +del +decrby +pexpire +pttl +zadd +zrange +zrem +zscore";

async fn opens_within(channels: &str, told: bool, bound: Duration) {
    let server = Server::options().user(&format!("app on >secret {RIGHTS} {channels}")).start();
    let ((waiting, _), (counting, events)) = (client_with(&server).await, client_with(&server).await);
    let latch = counting.latch("ready").expect("a name");
    assert!(latch.try_set_count(1).await.expect("set"));
    let waiter = waiting.latch("ready").expect("a name");
    let waiter = tokio::spawn(async move { waiter.wait().await.map(|()| Instant::now()) });
    if told {
        so_many_listen(&server, 1);
    } else {
        eventually(SOON, "it waits", || waiting.stats().latch.waiting == 1);
    }
    let counted = Instant::now();
    assert_eq!(latch.count_down().await.expect("counted all the same"), 0);
    let opened = bounded(SOON, "it opens", waiter).await.expect("no panic").expect("no error");
    assert!(opened - counted <= bound, "{:?}", opened - counted);
    let said: Vec<String> = events.lock().expect("no panic").clone();
    assert_eq!(said.iter().any(|event| event.contains("forbid to tell the waiters")), !told, "{said:?}");
    assert!(!latch.delete().await.expect("delete"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_its_rights_a_latch_opens_at_once() {
    opens_within("&redisson_countdownlatch__channel__*", true, slack()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_channel_a_waiter_comes_by_its_timer() {
    opens_within("", false, POLL + slack()).await;
}

/// Many processes count and wait, and their replies are lost: exactly as many count downs open it as there are.
#[test]
fn lost_replies_of_many_processes_count_once_each() {
    const PROCESSES: usize = 4;
    const EACH: usize = 50;
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let total = PROCESSES * EACH;
    server.cmd(&["SET", "ready", &(total + 1).to_string()]);
    let mut peers: Vec<Peer> = (0..PROCESSES).map(|_| Peer::start(worker!(), &proxy.url())).collect();
    let mut requests = Vec::new();
    for round in 0..EACH {
        for (at, peer) in peers.iter_mut().enumerate() {
            requests.push((at, peer.request("count-down ready")));
        }
        match round % 5 {
            0 => drop(proxy.on(&["EVALSHA", "ready"], Action::CutReply(round % 7))),
            3 => proxy.reset_all(),
            _ => {}
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut unknown = 0;
    for (at, request) in requests {
        match peers[at].answer(request, SOON * 2) {
            Ok(_) => {}
            Err((kind, message)) => {
                assert_eq!(kind, "OUTCOME_UNKNOWN", "{message}");
                unknown += 1;
            }
        }
    }
    assert_eq!(unknown, 0, "each repeat found out");
    assert_eq!(count(&server), 1, "all counted, none twice");
}
