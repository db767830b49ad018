//! Holds of a read-write lock that others end, by force or by dying in numbers: those that wait get it, and no hold is taken twice
//! for one call.

use std::time::Duration;

use libdlock::ErrorKind;
use libdlock_faults::{
    Peer, SOON, bounded, client, kind, listeners,
    peer::{Held, held},
    slack, with_options, worker,
};
use libdlock_testkit::{Action, Proxy, Server, eventually, wait::monotonic_us};

/// The head and the next one ask every second, up to 20 % later.
const POLL: Duration = Duration::from_millis(1_200);
const QUEUE: &str = "dlock_rw_queue:{prices}";

fn us(duration: Duration) -> i64 {
    duration.as_micros() as i64
}

#[track_caller]
fn takes(peer: &mut Peer, side: &str) -> Held {
    held(peer.call(&format!("take-side 1 prices {side} -1")))
}

/// Lets a process wait as the first; its request, once it stands in the queue and hears its inbox.
#[track_caller]
fn starts_to_wait(server: &Server, peer: &mut Peer, side: &str) -> u64 {
    let waiting = peer.request(&format!("take-side 1 prices {side} -1"));
    eventually(SOON, "it stands in the queue", || {
        let queue = server.cmd(&["ZRANGE", QUEUE, "0", "-1"]);
        queue.array().first().is_some_and(|client| listeners(server, &format!("dlock_inbox:{}", client.text())) == 1)
    });
    waiting
}

#[track_caller]
fn is_lost(peer: &mut Peer) {
    assert_eq!(peer.loss(SOON).name, "prices");
    assert_eq!(peer.ok("is-in 1 prices"), ["false"]);
    let (kind, _) = peer.call("leave 1 prices").expect_err("it was lost");
    assert_eq!(kind, "NOT_HELD");
}

/// Two readers and one that stands still hold it, one of another process waits to write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forced_release_ends_the_holds_of_all_processes() {
    let server = Server::start();
    let url = with_options(&server.url(), "lease=60s");
    let mut readers: Vec<Peer> = (0..3).map(|_| Peer::start(worker!(), &url)).collect();
    let before: Vec<Held> = readers.iter_mut().map(|reader| takes(reader, "read")).collect();
    let mut writer = Peer::start(worker!(), &url);
    let waiting = starts_to_wait(&server, &mut writer, "write");
    readers[2].process().pause();
    let forced = monotonic_us();
    assert!(client(&url).await.rw_lock("prices").expect("a name").force_release().await.expect("forced"));
    let got = held(writer.answer(waiting, SOON));
    assert!(got.acquired_at - forced <= us(slack()), "{} us", got.acquired_at - forced);
    assert!(before.iter().all(|reader| reader.token < got.token));
    readers[2].process().resume();
    readers.iter_mut().for_each(is_lost);
    assert_eq!(server.cmd(&["HLEN", "prices"]).int(), 2, "the next hold is left alone");
    assert_eq!(writer.ok("is-in 1 prices"), ["true"]);
    writer.ok("leave 1 prices");
    assert_eq!(server.cmd(&["EXISTS", "prices"]).int(), 0);
}

/// A second one could end the hold of whoever came after the first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forced_release_whose_reply_is_lost_is_not_repeated() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let forces = client(&proxy.url()).await.rw_lock("prices").expect("a name");
    assert!(!forces.force_release().await.expect("nobody holds it"));
    let url = with_options(&server.url(), "lease=60s");
    for side in ["write", "read"] {
        let (mut holder, mut next) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
        takes(&mut holder, side);
        let waiting = starts_to_wait(&server, &mut next, "write");
        let cut = proxy.on(&["EVALSHA", "prices"], Action::CutReply(0));
        let said = bounded(SOON, "an answer", forces.force_release()).await;
        assert_eq!((cut.hits(), kind(said)), (1, ErrorKind::OutcomeUnknown));
        held(next.answer(waiting, SOON));
        is_lost(&mut holder);
        assert_eq!(next.ok("is-in 1 prices"), ["true"]);
        assert_eq!(server.cmd(&["HLEN", "prices"]).int(), 2);
        next.ok("leave 1 prices");
    }
}

/// Fields of so many readers whose processes are gone, as a fleet leaves them that loses its power.
fn dead_readers(server: &Server, number: usize) {
    let mut add = vec!["HSET".to_owned(), "prices".to_owned()];
    for at in 0..number {
        add.extend([format!("11111111-2222-8333-8444-{at:012}:1"), "1".to_owned()]);
    }
    server.cmd(&add);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forced_release_ends_more_holds_than_it_can_look_at() {
    let server = Server::start();
    let url = with_options(&server.url(), "lease=60s");
    let (mut reader, mut writer) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    takes(&mut reader, "read");
    dead_readers(&server, 2_000);
    let waiting = starts_to_wait(&server, &mut writer, "write");
    let forced = monotonic_us();
    assert!(client(&url).await.rw_lock("prices").expect("a name").force_release().await.expect("forced"));
    let got = held(writer.answer(waiting, SOON));
    assert!(got.acquired_at - forced <= us(slack()), "{} us", got.acquired_at - forced);
    assert_eq!(writer.ok("is-in 1 prices"), ["true"]);
    writer.ok("leave 1 prices");
    assert_eq!(server.cmd(&["EXISTS", "prices"]).int(), 0);
}

/// The longest lease of all readers is 60 s, that of one that has left.
fn dead_readers_keep_no_writer_out(dead: usize, bound: Duration) {
    let server = Server::start();
    let url = with_options(&server.url(), "lease=60s");
    let (mut reader, mut writer) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    takes(&mut reader, "read");
    let waiting = starts_to_wait(&server, &mut writer, "write");
    dead_readers(&server, dead);
    let left = monotonic_us();
    reader.ok("leave 1 prices");
    let got = held(writer.answer(waiting, SOON));
    assert!(got.acquired_at - left <= us(bound), "{} us", got.acquired_at - left);
    writer.ok("leave 1 prices");
    assert_eq!(server.cmd(&["EXISTS", "prices"]).int(), 0);
}

#[test]
fn hundreds_of_dead_readers_keep_no_writer_out() {
    dead_readers_keep_no_writer_out(600, POLL + slack());
}

#[test]
fn two_thousand_dead_readers_keep_no_writer_out() {
    dead_readers_keep_no_writer_out(1_998, POLL + slack());
}
