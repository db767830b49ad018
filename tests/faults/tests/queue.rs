//! Processes in the queue die, or live and must not be taken for dead.

use std::time::Duration;

use libdlock_faults::{Peer, SOON, listeners, slack, with_options, worker};
use libdlock_testkit::{Proxy, Server, eventually, wait::monotonic_us, within};

/// For how long a head may say nothing while the lock is free.
const HEAD_SILENCE: Duration = Duration::from_millis(2_500);
/// The head and the next one ask every second, up to 20 % later.
const POLL: Duration = Duration::from_millis(1_200);
/// The others every five seconds.
const LONG_POLL: Duration = Duration::from_secs(6);
const QUEUE: &str = "dlock_queue:{job}";

fn between(from: i64, to: i64) -> Duration {
    Duration::from_micros((to - from).max(0) as u64)
}

/// The clients in the queue, the head first.
fn queue(server: &Server) -> Vec<String> {
    server.cmd(&["ZRANGE", QUEUE, "0", "-1"]).array().iter().map(|client| client.text().to_owned()).collect()
}

/// For how long a waiting client has not been heard of.
fn silence(server: &Server, client: &str) -> Duration {
    let now = server.cmd(&["TIME"]);
    let now = now.array()[0].int() * 1_000 + now.array()[1].int() / 1_000;
    Duration::from_millis((now - server.cmd(&["HGET", "dlock_seen:{job}", client]).int()).max(0) as u64)
}

fn scripts(server: &Server) -> u64 {
    ["evalsha", "eval"].iter().map(|name| server.info("commandstats", &format!("cmdstat_{name}:calls"))).sum()
}

/// Lets a process wait; returns its request and its client's id once it is at that rank and hears its inbox.
#[track_caller]
fn enqueue(server: &Server, peer: &mut Peer, rank: usize) -> (u64, String) {
    let waiting = peer.start_acquire("job");
    let heard = |client: &String| listeners(server, &format!("dlock_inbox:{client}")) == 1;
    eventually(SOON, "it stands in the queue", || queue(server).get(rank).is_some_and(heard));
    (waiting, queue(server)[rank].clone())
}

/// Kills the first `dead` of a queue, releases, and returns how long the one behind them took.
fn the_next_one_gets_it_after(dead: usize) -> Duration {
    let server = Server::start();
    let url = with_options(&server.url(), "lease=60s");
    let mut holder = Peer::start(worker!(), &url);
    holder.acquire("job");
    let mut heads: Vec<Peer> = (0..dead).map(|_| Peer::start(worker!(), &url)).collect();
    for (rank, head) in heads.iter_mut().enumerate() {
        enqueue(&server, head, rank);
    }
    let mut last = Peer::start(worker!(), &url);
    let (waiting, client) = enqueue(&server, &mut last, dead);

    let (before, from) = (scripts(&server), monotonic_us());
    heads.iter_mut().for_each(|head| head.process().kill());
    let (called, _) = holder.release("job");
    let granted = last.granted(waiting, (HEAD_SILENCE + POLL) * dead as u32 + SOON);
    let asked = scripts(&server) - before;
    let took = between(from, monotonic_us());
    assert!(asked as f64 <= 10.0 + 50.0 * took.as_secs_f64(), "{asked} scripts in {took:?}");
    assert_eq!(queue(&server), [""; 0], "the dead were dropped, and {client} has it");
    last.release("job");
    assert!(!libdlock_faults::is_held(&server, "job"));
    between(called, granted.acquired_at)
}

#[test]
fn when_the_head_is_killed_the_next_has_the_lock_within_4_s() {
    let took = the_next_one_gets_it_after(1);
    assert!(took <= Duration::from_secs(4), "{took:?}");
}

/// It was third when it came, and looked seldom; the take that moved it up told it so.
#[test]
fn when_the_head_is_killed_one_just_become_next_takes_4_s() {
    let server = Server::start();
    let url = with_options(&server.url(), "lease=60s");
    let mut first = Peer::start(worker!(), &url);
    first.acquire("job");
    let mut others: Vec<Peer> = (0..3).map(|_| Peer::start(worker!(), &url)).collect();
    let waiting: Vec<u64> =
        others.iter_mut().enumerate().map(|(rank, other)| enqueue(&server, other, rank).0).collect();
    first.release("job");
    others[0].granted(waiting[0], SOON);
    others[1].process().kill();
    let (called, _) = others[0].release("job");
    let granted = others[2].granted(waiting[2], SOON);
    let took = between(called, granted.acquired_at);
    assert!(took <= Duration::from_secs(4), "{took:?}");
    others[2].release("job");
}

/// Nobody listens to the inbox of a process that was killed. Whoever hears the release instead drops them all after one
/// silence.
#[test]
fn sixty_dead_processes_cost_one_head_timeout_and_a_look() {
    let took = the_next_one_gets_it_after(60);
    assert!(took <= HEAD_SILENCE + POLL + slack(), "{took:?}");
}

/// A process that stands still hears, as its connection does. The head and the next one have to ask, so one silence ends both.
#[test]
fn four_processes_that_stand_still_cost_two_silences() {
    let server = Server::start();
    let url = with_options(&server.url(), "lease=60s");
    let mut peers: Vec<Peer> = (0..6).map(|_| Peer::start(worker!(), &url)).collect();
    peers[0].acquire("job");
    let waiting: Vec<u64> = (1..6).map(|at| enqueue(&server, &mut peers[at], at - 1).0).collect();
    peers[1..5].iter_mut().for_each(|peer| peer.process().pause());
    let (called, _) = peers[0].release("job");
    let granted = peers[5].granted(waiting[4], SOON * 2);
    let took = between(called, granted.acquired_at);
    assert!(took <= LONG_POLL + HEAD_SILENCE + POLL + slack(), "{took:?}");
    peers[5].release("job");
    // Those that go on have lost their places and come again.
    for at in 1..5 {
        peers[at].process().resume();
        peers[at].granted(waiting[at - 1], SOON);
        peers[at].release("job");
    }
    assert_eq!(queue(&server), [""; 0]);
}

/// Their message connections are cut at the same moment as the head dies: they have the head's time to connect anew.
#[test]
fn a_waiter_that_reconnects_its_messages_keeps_its_place() {
    let server = Server::start();
    let url = with_options(&server.url(), "lease=60s");
    let mut holder = Peer::start(worker!(), &url);
    holder.acquire("job");
    let mut dead = Peer::start(worker!(), &url);
    enqueue(&server, &mut dead, 0);
    let mut others: Vec<Peer> = (0..3).map(|_| Peer::start(worker!(), &url)).collect();
    let line: Vec<(u64, String)> =
        others.iter_mut().enumerate().map(|(rank, peer)| enqueue(&server, peer, rank + 1)).collect();
    let last_silent = || silence(&server, &line[2].1) > HEAD_SILENCE;
    eventually(SOON, "the last one has been silent for longer than a head may be", last_silent);

    dead.process().kill();
    server.cmd(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    holder.release("job");
    let mut last = 0;
    for (peer, (waiting, _)) in others.iter_mut().zip(line) {
        let grant = peer.granted(waiting, SOON);
        assert!(grant.token > last, "in the order of the queue");
        last = grant.token;
        peer.release("job");
    }
}

#[test]
#[ignore = "long: make check-long"]
fn three_dead_heads_cost_a_look_and_two_head_timeouts() {
    let took = the_next_one_gets_it_after(3);
    assert!(took <= LONG_POLL + (HEAD_SILENCE + POLL) * 2 + slack(), "{took:?}");
}

/// It was third, looked seldom and so was silent for longer than a head may be; then it became head without having been asked.
#[test]
fn a_live_process_just_become_head_is_not_taken_for_dead() {
    let server = Server::start();
    let url = with_options(&server.url(), "lease=60s");
    let slow = Proxy::start(server.address());
    let mut first = Peer::start(worker!(), &url);
    first.acquire("job");
    let mut others: Vec<Peer> = (0..2).map(|_| Peer::start(worker!(), &url)).collect();
    let waiting: Vec<u64> =
        others.iter_mut().enumerate().map(|(rank, other)| enqueue(&server, other, rank).0).collect();
    let mut third = Peer::start(worker!(), &with_options(&slow.url(), "lease=60s"));
    let (its_request, its_client) = enqueue(&server, &mut third, 2);
    let mut newcomer = Peer::start(worker!(), &url);

    // It looks every five seconds, less 20 % at least: this comes before.
    eventually(SOON, "it was silent for longer than a head may be", || silence(&server, &its_client) > HEAD_SILENCE);
    slow.hold_all();
    first.release("job");
    for (other, waiting) in others.iter_mut().zip(waiting) {
        other.granted(waiting, SOON);
        other.release("job");
    }
    assert_eq!(queue(&server), std::slice::from_ref(&its_client), "it is the head, and knows nothing of it");
    let arriving = newcomer.start_acquire("job");
    eventually(SOON, "another one has asked", || queue(&server).len() == 2);
    assert!(!within(HEAD_SILENCE - POLL, || queue(&server)[0] != its_client), "it was taken for dead");

    slow.heal();
    let its = third.granted(its_request, SOON);
    let (called, _) = third.release("job");
    let next = newcomer.granted(arriving, SOON);
    assert!(next.token > its.token);
    assert!(between(called, next.acquired_at) <= slack(), "woken at once");
    newcomer.release("job");
    eventually(SOON, "nothing is left", || server.keys() == ["redisson_lock_token:{job}"]);
}

/// With an hour between two looks by the options, a live head would look dead as soon as the lock came free without a message.
#[test]
fn a_head_with_a_long_poll_interval_is_not_taken_for_dead() {
    let server = Server::start();
    let mut holder = Peer::start(worker!(), &with_options(&server.url(), "lease=60s"));
    holder.acquire("job");
    let lazy = with_options(&server.url(), "lease=60s&poll_interval=1h&queue_poll_interval=1h");
    let mut waiters: Vec<Peer> = (0..2).map(|_| Peer::start(worker!(), &lazy)).collect();
    let line: Vec<(u64, String)> =
        waiters.iter_mut().enumerate().map(|(rank, peer)| enqueue(&server, peer, rank)).collect();
    let silent = || line.iter().any(|(_, client)| silence(&server, client) >= HEAD_SILENCE);
    assert!(!within(HEAD_SILENCE * 2, silent), "the first two of the queue look at least every two seconds");

    let mut newcomer = Peer::start(worker!(), &lazy);
    server.cmd(&["DEL", "job"]);
    let arriving = newcomer.start_acquire("job");
    let mut last = 0;
    for (peer, (waiting, _)) in waiters.iter_mut().zip(line) {
        let grant = peer.granted(waiting, Duration::from_secs(2) + slack());
        assert!(grant.token > last, "in the order of the queue");
        last = grant.token;
        peer.release("job");
    }
    assert!(newcomer.granted(arriving, SOON).token > last);
    newcomer.release("job");
}

/// Its lease is over in a millisecond, all the time: the server's clock stands still.
#[test]
fn a_lease_nearly_over_is_polled_fifty_times_a_second_at_most() {
    let (server, clock) = Server::with_clock();
    let mut waiter = Peer::start(worker!(), &server.url());
    let now = server.cmd(&["TIME"]);
    clock.freeze_at(now.array()[0].int() * 1_000_000);
    server.cmd(&["HSET", "job", "6e3814a1-e847-452b-a982-45baf93a1df2:1", "1"]);
    server.cmd(&["PEXPIRE", "job", "1"]);
    let waiting = waiter.start_acquire("job");
    eventually(SOON, "it waits", || queue(&server).len() == 1);
    let (before, from) = (scripts(&server), monotonic_us());
    assert_eq!(waiter.answer_within(waiting, Duration::from_secs(1)), None);
    let (asked, took) = (scripts(&server) - before, between(from, monotonic_us()));
    assert!(asked as f64 <= 50.0 * took.as_secs_f64() + 1.0, "{asked} scripts in {took:?}");
    assert!(asked > 5, "{asked} scripts: nothing was tested");
    clock.offset(0);
    waiter.granted(waiting, SOON);
    waiter.release("job");
}

/// Three who take turns, each in a process of its own: nobody is passed over.
#[test]
fn waiting_processes_are_served_in_the_order_of_arrival() {
    let server = Server::start();
    let url = with_options(&server.url(), "lease=60s");
    let mut peers: Vec<Peer> = (0..4).map(|_| Peer::start(worker!(), &url)).collect();
    let mut token = peers[0].acquire("job").token;
    let mut waiting: Vec<u64> =
        peers.iter_mut().skip(1).enumerate().map(|(rank, peer)| enqueue(&server, peer, rank).0).collect();
    for turn in 1..60 {
        let (holder, next) = ((turn - 1) % 4, turn % 4);
        peers[holder].release("job");
        let grant = peers[next].granted(waiting.remove(0), SOON);
        assert!(grant.token > token, "turn {turn}");
        token = grant.token;
        waiting.push(enqueue(&server, &mut peers[holder], 2).0);
    }
    let last = 59 % 4;
    peers[last].release("job");
    for peer in (last + 1..last + 4).map(|n| n % 4) {
        peers[peer].granted(waiting.remove(0), SOON);
        peers[peer].release("job");
    }
    eventually(SOON, "nothing is left", || server.keys() == ["redisson_lock_token:{job}"]);
}

/// Long enough for an entry without a sign of life to be dropped, and for the queue's key to end.
#[test]
#[ignore = "long: make check-long"]
fn processes_that_wait_for_more_than_a_minute_keep_their_places() {
    let server = Server::start();
    let url = with_options(&server.url(), "lease=30s");
    // An hour between two looks, by the options: it says that it lives all the same.
    let lazy = with_options(&server.url(), "lease=30s&poll_interval=1h&queue_poll_interval=1h");
    let mut holder = Peer::start(worker!(), &url);
    holder.acquire("job");
    let mut peers: Vec<Peer> = [&url, &lazy, &url, &lazy].iter().map(|url| Peer::start(worker!(), url)).collect();
    let line: Vec<(u64, String)> =
        peers.iter_mut().enumerate().map(|(rank, peer)| enqueue(&server, peer, rank)).collect();
    let clients: Vec<String> = line.iter().map(|(_, client)| client.clone()).collect();
    assert!(!within(Duration::from_secs(80), || queue(&server) != clients), "{:?} of {clients:?}", queue(&server));
    holder.release("job");
    for (peer, (waiting, _)) in peers.iter_mut().zip(line) {
        peer.granted(waiting, POLL + slack());
        peer.release("job");
    }
}
