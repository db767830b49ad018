//! A counting semaphore whose callers, server and connections fail: no permit is taken or brought twice, and none stays with a
//! caller that does not want it. What a dead process has acquired stays away: nobody could tell.

use std::time::Duration;

use libdlock::{Client, CountingSemaphore, ErrorKind, Wait};
use libdlock_faults::{
    Peer, SOON, bounded, client, kind, listeners,
    permits::most_at_once,
    slack,
    turns::{PROCESSES, Turns},
    with_options, worker,
};
use libdlock_testkit::{Action, Proxy, Server, eventually, server::Data, wait::monotonic_us, within};

/// The head and the next one ask every second, up to 20 % later.
const POLL: Duration = Duration::from_millis(1_200);
/// For how long a head may say nothing while what it wants is there.
const HEAD_SILENCE: Duration = Duration::from_millis(2_500);
const QUEUE: &str = "dlock_counting_queue:{slots}";

fn us(duration: Duration) -> i64 {
    duration.as_micros() as i64
}

fn available(server: &Server) -> i64 {
    let text = server.cmd(&["GET", "slots"]);
    if text.is_nil() { 0 } else { text.text().parse().expect("a number") }
}

fn set(server: &Server, permits: i64) {
    server.cmd(&["SET", "slots", &permits.to_string()]);
}

#[track_caller]
fn is_whole(server: &Server, total: i64) {
    let seen = || (available(server), server.cmd(&["ZCARD", QUEUE]).int());
    eventually(SOON, "all permits are back and nobody waits", || seen() == (total, 0));
}

/// Longer than anything that was under way takes to arrive.
#[track_caller]
fn stays_whole(server: &Server, total: i64) {
    is_whole(server, total);
    assert!(!within(Duration::from_millis(700), || available(server) != total), "{} permits", available(server));
}

fn memory(server: &Server, bytes: &str) {
    assert_eq!(server.cmd(&["CONFIG", "SET", "maxmemory", bytes]).text(), "OK");
}

/// Lets a process wait; its request, once it stands at that rank and hears its inbox.
#[track_caller]
fn enqueue(server: &Server, peer: &mut Peer, permits: i64, rank: usize) -> u64 {
    let waiting = peer.request(&format!("draw slots {permits} -1"));
    eventually(SOON, "it stands in the queue", || {
        let queue = server.cmd(&["ZRANGE", QUEUE, "0", "-1"]);
        let client = queue.array().get(rank).map(|client| client.text().to_owned());
        client.is_some_and(|client| listeners(server, &format!("dlock_inbox:{client}")) == 1)
    });
    waiting
}

/// When a waiting process got its permits.
#[track_caller]
fn drawn_at(peer: &mut Peer, waiting: u64) -> i64 {
    peer.answer(waiting, SOON).expect("permits")[0].parse().expect("a time")
}

/// Waits until a process waits.
async fn somebody_waits(server: &Server) {
    while server.cmd(&["ZCARD", QUEUE]).int() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

struct Cut {
    server: Server,
    proxy: Proxy,
    client: Client,
    slots: CountingSemaphore,
}

impl Cut {
    async fn new(permits: i64) -> Cut {
        Cut::with(permits, "").await
    }

    /// With a client that soon takes an answer for lost.
    async fn impatient(permits: i64) -> Cut {
        Cut::with(permits, "response_timeout=300ms&operation_timeout=2s").await
    }

    async fn with(permits: i64, options: &str) -> Cut {
        let server = Server::start();
        let proxy = Proxy::start(server.address());
        let client = client(&with_options(&proxy.url(), options)).await;
        // The server knows the scripts from here on: the faults meet the real reply of EVALSHA, not NOSCRIPT.
        let warm = client.counting_semaphore("warm").expect("a name");
        warm.release().await.expect("release");
        warm.acquire().await.expect("acquire");
        warm.try_set_permits(1).await.expect("set");
        warm.drain().await.expect("drain");
        let slots = client.counting_semaphore("slots").expect("a name");
        set(&server, permits);
        Cut { server, proxy, client, slots }
    }

    fn waits(&self, permits: u32) -> tokio::task::JoinHandle<libdlock::Result<()>> {
        let slots = self.slots.clone();
        tokio::spawn(async move { slots.acquire_many(permits).await })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_acquire_takes_no_second_permit() {
    let cut = Cut::new(5).await;
    for bytes in 0..40 {
        for wait in [Wait::Forever, Wait::Try] {
            let fault = cut.proxy.on(&["EVALSHA", "slots"], Action::CutReply(bytes));
            bounded(SOON, "the retry succeeds", cut.slots.acquire_within(3, wait)).await.expect("acquire");
            assert_eq!((fault.hits(), available(&cut.server)), (1, 2), "cut at {bytes}");
            set(&cut.server, 5);
            // What was cut behind the end of this reply meets the next one.
            bounded(SOON, "a look", cut.slots.available()).await.expect("inspect");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_release_brings_no_second_permit() {
    let cut = Cut::new(0).await;
    for bytes in 0..40 {
        let fault = cut.proxy.on(&["EVALSHA", "slots"], Action::CutReply(bytes));
        bounded(SOON, "the retry succeeds", cut.slots.release_many(2)).await.expect("a done release is no error");
        assert_eq!((fault.hits(), available(&cut.server)), (1, 2), "cut at {bytes}");
        let fault = cut.proxy.on(&["EVALSHA", "slots"], Action::CutReply(bytes));
        bounded(SOON, "the retry succeeds", cut.slots.add_permits(-2)).await.expect("a done change is no error");
        bounded(SOON, "a look", cut.slots.available()).await.expect("inspect");
        assert_eq!((fault.hits(), available(&cut.server)), (1, 0), "cut at {bytes}");
    }
}

/// The clock steps back while an attempt is held up in the network: by the new clock it is not void for an hour.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_up_attempt_takes_nothing_when_the_clock_stepped_back() {
    const HOUR: i64 = 3_600_000_000;
    let (server, clock) = Server::with_clock();
    let proxy = Proxy::start(server.address());
    let slots = client(&with_options(&proxy.url(), "response_timeout=500ms")).await;
    let slots = slots.counting_semaphore("slots").expect("a name");
    let direct = client(&server.url()).await.counting_semaphore("slots").expect("a name");
    for wait in [Wait::Try, Wait::Forever] {
        set(&server, 5);
        slots.acquire().await.expect("acquire");
        let held = proxy.on(&["EVALSHA", "slots"], Action::HoldRequest);
        let acquiring = {
            let slots = slots.clone();
            tokio::spawn(async move { slots.acquire_within(2, wait).await })
        };
        held.expect(SOON);
        clock.advance(-HOUR);
        bounded(SOON, "the repeat", acquiring).await.expect("no panic").expect("acquire");
        assert_eq!(available(&server), 2);
        // Two minutes later, by the server's clock; a release has it forget what is over.
        clock.advance(HOUR / 30);
        direct.release().await.expect("release");
        direct.release().await.expect("release");
        proxy.heal();
        stays_whole(&server, 4);
    }
}

/// Its bytes may still be on the way: forgotten, they would take permits for nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acquire_with_an_unanswered_attempt_is_remembered() {
    let cut = Cut::new(5).await;
    let acquires = || {
        let done = cut.server.cmd(&["ZRANGE", "dlock_counting_done:{slots}", "0", "-1"]);
        done.array().iter().filter(|id| id.text().contains('/')).count()
    };
    cut.slots.acquire().await.expect("acquire");
    assert_eq!(acquires(), 1);
    cut.slots.release().await.expect("release");
    assert_eq!(acquires(), 0, "it was answered");
    cut.proxy.on(&["EVALSHA", "slots"], Action::CutReply(0));
    bounded(SOON, "the retry succeeds", cut.slots.acquire()).await.expect("acquire");
    for _ in 0..3 {
        cut.slots.release().await.expect("release");
    }
    assert_eq!(acquires(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_made_it_hears_so_when_the_reply_was_lost() {
    let cut = Cut::new(0).await;
    for _ in 0..5 {
        cut.server.cmd(&["DEL", "slots"]);
        cut.proxy.on(&["EVALSHA", "slots"], Action::CutReply(0));
        assert!(bounded(SOON, "the retry", cut.slots.try_set_permits(4)).await.expect("set"), "this call has made it");
        cut.proxy.on(&["EVALSHA", "slots"], Action::CutReply(0));
        assert!(!bounded(SOON, "the retry", cut.slots.try_set_permits(4)).await.expect("set"), "it was there");
    }
}

/// With the number the reply would be lost: this is not repeated.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_whose_reply_is_lost_says_that_it_is_unknown() {
    let cut = Cut::new(4).await;
    cut.proxy.on(&["EVALSHA", "slots"], Action::CutReply(0));
    assert_eq!(kind(bounded(SOON, "told", cut.slots.drain()).await), ErrorKind::OutcomeUnknown);
    assert_eq!(available(&cut.server), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_grant_of_a_waiter_is_given_once() {
    let cut = Cut::new(0).await;
    let direct = client(&cut.server.url()).await.counting_semaphore("slots").expect("a name");
    for _ in 0..10 {
        let waiter = cut.waits(2);
        somebody_waits(&cut.server).await;
        cut.proxy.on(&["EVALSHA", "slots"], Action::CutReply(0));
        direct.release_many(3).await.expect("release");
        bounded(SOON, "the waiter", waiter).await.expect("no panic").expect("acquire");
        cut.proxy.heal();
        assert_eq!(available(&cut.server), 1);
        direct.add_permits(-1).await.expect("none");
    }
    stays_whole(&cut.server, 0);
}

/// The server grants; the caller never hears of it, and is told that it has nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_that_nobody_heard_of_is_given_back_once() {
    for wait in [Wait::Try, Wait::For(Duration::from_millis(500)), Wait::Forever] {
        let cut = Cut::impatient(4).await;
        cut.proxy.on_each(&["EVALSHA", "slots"], Action::HoldReply);
        let slots = cut.slots.clone();
        let acquiring = tokio::spawn(async move { slots.acquire_within(3, wait).await });
        eventually(SOON, "the server has granted it", || available(&cut.server) == 1);
        let acquired = bounded(SOON, "told", acquiring).await.expect("no panic");
        assert!(acquired.is_err(), "{wait:?}");
        cut.proxy.heal();
        stays_whole(&cut.server, 4);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_of_a_cancelled_caller_is_given_back_once() {
    let cut = Cut::impatient(4).await;
    for _ in 0..5 {
        let fault = cut.proxy.on(&["EVALSHA", "slots"], Action::HoldReply);
        let waiter = cut.waits(3);
        fault.expect(SOON);
        eventually(SOON, "the server has granted it", || available(&cut.server) == 1);
        waiter.abort();
        cut.proxy.heal();
        stays_whole(&cut.server, 4);
    }
}

/// The reply to the giving back is lost, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn permits_are_given_back_once_through_more_lost_replies() {
    let cut = Cut::impatient(4).await;
    for _ in 0..5 {
        let fault = cut.proxy.on(&["EVALSHA", "slots"], Action::HoldReply);
        let waiter = cut.waits(3);
        fault.expect(SOON);
        eventually(SOON, "the server has granted it", || available(&cut.server) == 1);
        waiter.abort();
        // The reply to the repeat, and those to the first attempts to give back.
        for _ in 0..3 {
            cut.proxy.on(&["EVALSHA", "slots"], Action::CutReply(0));
        }
        stays_whole(&cut.server, 4);
        cut.proxy.heal();
    }
}

/// Nothing but the reply is missing. What the caller is told is that it does not know.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_without_an_answer_is_unknown_and_done_once() {
    let cut = Cut::impatient(0).await;
    let released = || cut.client.stats().counting_semaphore.released;
    let before = released();
    cut.proxy.on_each(&["EVALSHA", "slots"], Action::HoldReply);
    assert_eq!(kind(bounded(SOON, "told", cut.slots.release_many(3)).await), ErrorKind::OutcomeUnknown);
    cut.proxy.heal();
    stays_whole(&cut.server, 3);
    assert_eq!(released(), before, "it was not confirmed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_message_costs_a_poll_and_not_the_next_release() {
    let server = Server::start();
    let (here, there) = (client(&server.url()).await, client(&server.url()).await);
    let (slots, same) =
        (here.counting_semaphore("slots").expect("a name"), there.counting_semaphore("slots").expect("it"));
    let waiter = tokio::spawn(async move { slots.acquire().await });
    somebody_waits(&server).await;
    server.cmd(&["CLIENT", "PAUSE", "1", "WRITE"]);
    server.cmd(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    same.release().await.expect("release");
    let released = std::time::Instant::now();
    bounded(SOON, "the waiter", waiter).await.expect("no panic").expect("acquire");
    assert!(released.elapsed() <= POLL + slack(), "{:?}", released.elapsed());
    is_whole(&server, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_server_takes_permits_back_and_gives_none_out() {
    let server = Server::options().maxmemory(0).start();
    let (here, there) = (client(&server.url()).await, client(&server.url()).await);
    let (slots, same) =
        (here.counting_semaphore("slots").expect("a name"), there.counting_semaphore("slots").expect("it"));
    slots.release_many(2).await.expect("release");
    slots.acquire().await.expect("acquire");
    memory(&server, "1");
    for _ in 0..3 {
        assert_eq!(kind(slots.try_acquire().await), ErrorKind::OutOfMemory);
        assert_eq!(kind(bounded(SOON, "told", slots.acquire()).await), ErrorKind::OutOfMemory);
        assert_eq!(available(&server), 1);
    }
    same.release_many(3).await.expect("a release needs no memory");
    assert_eq!(available(&server), 4);
    memory(&server, "0");
    slots.acquire_many(4).await.expect("acquire");
    is_whole(&server, 0);
}

/// Its number is gone, and nobody but its users knows what it was. Who waits goes on waiting.
#[test]
fn a_waiter_outlasts_an_empty_restart() {
    let mut server = Server::start();
    let mut waiter = Peer::start(worker!(), &server.url());
    set(&server, 1);
    let waiting = enqueue(&server, &mut waiter, 2, 0);
    server.restart(Data::Lost);
    assert_eq!(waiter.answer_within(waiting, POLL * 2), None, "there are no permits");
    let mut other = Peer::start(worker!(), &server.url());
    let brought = monotonic_us();
    other.ok("put slots 2");
    let took = drawn_at(&mut waiter, waiting) - brought;
    assert!(took <= us(POLL + slack()), "{took} us");
    is_whole(&server, 0);
}

/// Four wait for 3, 1, 2 and 1 permits, and one of them is killed.
fn the_others_are_served_without(victim: usize) {
    let server = Server::start();
    let mut waiters = Vec::new();
    for (rank, permits) in [3, 1, 2, 1].into_iter().enumerate() {
        let mut peer = Peer::start(worker!(), &server.url());
        let waiting = enqueue(&server, &mut peer, permits, rank);
        waiters.push((peer, waiting, permits));
    }
    waiters[victim].0.process().kill();
    // So many are there that all others fit, and the dead one does not.
    let wanted: i64 = waiters.iter().map(|(.., permits)| permits).sum();
    let permits = wanted - waiters[victim].2;
    let mut other = Peer::start(worker!(), &server.url());
    other.ok(&format!("put slots {permits}"));
    let released = monotonic_us();
    for (rank, (peer, waiting, _)) in waiters.iter_mut().enumerate() {
        if rank != victim {
            let took = drawn_at(peer, *waiting) - released;
            assert!(took <= us(HEAD_SILENCE + POLL + slack()), "rank {rank} after {took} us");
        }
    }
    assert_eq!(available(&server), 0);
}

#[test]
fn a_queue_whose_head_is_killed_goes_on() {
    the_others_are_served_without(0);
}

#[test]
fn a_queue_whose_next_is_killed_goes_on() {
    the_others_are_served_without(1);
}

#[test]
fn a_queue_whose_last_is_killed_goes_on() {
    the_others_are_served_without(3);
}

const CALLERS: usize = 2;
const ROUNDS: usize = 40;
const TOTAL: i64 = 3;

/// Callers of several processes that draw one to all permits in turn.
fn turns(url: &str) -> Turns {
    Turns::start(worker!(), url, CALLERS, |caller| format!("draw-turns {caller} slots {TOTAL} {ROUNDS}"))
}

#[test]
fn processes_never_have_more_than_there_are() {
    let server = Server::start();
    set(&server, TOTAL);
    let holds = turns(&server.url()).finish(0);
    assert_eq!(holds.len(), PROCESSES * CALLERS * ROUNDS);
    assert_eq!(most_at_once(&holds), TOTAL as u64);
    is_whole(&server, TOTAL);
}

#[test]
fn lost_replies_and_reset_connections_cost_no_permit() {
    let server = Server::start();
    set(&server, TOTAL);
    let proxy = Proxy::start(server.address());
    let mut turns = turns(&with_options(&proxy.url(), "response_timeout=500ms"));
    let holds = turns.finish_disturbed(&server, &proxy, "slots", SOON * 3);
    assert_eq!(holds.len(), PROCESSES * CALLERS * ROUNDS);
    assert_eq!(most_at_once(&holds), TOTAL as u64);
    is_whole(&server, TOTAL);
}
