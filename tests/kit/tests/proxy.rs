//! Each fault that the proxy can make, seen from a client behind it.

use std::{
    io::ErrorKind,
    time::{Duration, Instant},
};

use libdlock_testkit::{Action, Conn, Proxy, Reply, Server, Side, eventually, proxy::BOTH};

const SOON: Duration = Duration::from_secs(5);
/// How long a test looks at silence before it believes in it. Too short could only hide a fault of the proxy.
const SILENCE: Duration = Duration::from_millis(60);

fn setup() -> (Server, Proxy, Conn) {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let conn = Conn::open_as_admin(proxy.address()).expect("connect");
    (server, proxy, conn)
}

fn answers(conn: &mut Conn) -> bool {
    conn.cmd(&["PING"]).is_ok_and(|reply| reply == Reply::Text("PONG".into()))
}

#[track_caller]
fn silent(conn: &mut Conn) {
    conn.read_timeout(Some(SILENCE)).expect("a bound");
    let error = conn.read().expect_err("nothing may arrive");
    assert_eq!(error.kind(), ErrorKind::WouldBlock, "silence, no reset and no end: {error}");
    conn.read_timeout(Some(SOON)).expect("a bound");
}

#[track_caller]
fn reset(result: std::io::Result<Reply>) {
    assert_eq!(result.expect_err("the connection must break").kind(), ErrorKind::ConnectionReset);
}

#[test]
fn it_forwards_and_counts() {
    let (server, proxy, mut conn) = setup();
    assert!(answers(&mut conn));
    let large = "x".repeat(3_000_000);
    assert_eq!(conn.cmd(&["SET", "large", &large]).expect("a reply").text(), "OK");
    assert_eq!(conn.cmd(&["GET", "large"]).expect("a reply").text(), large);
    assert_eq!(server.keys(), ["large"]);
    assert_eq!((proxy.accepted(), proxy.open()), (1, 1));
    assert!(BOTH.iter().all(|side| proxy.bytes(*side) > 3_000_000));
    drop(conn);
    eventually(SOON, "the connection is closed behind the client", || proxy.open() == 0);
}

#[test]
fn a_delay_makes_a_round_trip_longer_but_not_narrower() {
    let (_server, proxy, mut conn) = setup();
    proxy.delay(Side::Requests, Duration::from_millis(40));
    proxy.delay(Side::Replies, Duration::from_millis(60));
    let start = Instant::now();
    (0..10).for_each(|_| conn.send(&["PING"]).expect("send"));
    (0..10).for_each(|_| assert_eq!(conn.read().expect("a reply").text(), "PONG"));
    let elapsed = start.elapsed();
    assert!(elapsed >= Duration::from_millis(100), "{elapsed:?} for a way of 40 + 60 ms");
    assert!(elapsed < Duration::from_millis(900), "{elapsed:?}: ten requests must not wait for one another");
}

#[test]
fn a_black_hole_is_silent_and_delivers_after_it_heals() {
    let (server, proxy, mut conn) = setup();
    proxy.hold_all();
    conn.send(&["SET", "x", "1"]).expect("the network takes it");
    silent(&mut conn);
    assert_eq!(server.keys(), [""; 0]);
    let mut late = Conn::open(proxy.address()).expect("new connections are accepted");
    late.send(&["PING"]).expect("send");
    silent(&mut late);
    proxy.heal();
    assert_eq!(conn.read().expect("a reply").text(), "OK");
    assert_eq!(late.read().expect("a reply").text(), "PONG");
}

#[test]
fn a_one_way_black_hole_lets_the_server_do_its_work() {
    let (server, proxy, mut conn) = setup();
    proxy.hold(Side::Replies);
    conn.send(&["SET", "x", "1"]).expect("send");
    eventually(SOON, "the server has done it", || server.keys() == ["x"]);
    silent(&mut conn);
    proxy.heal();
    assert_eq!(conn.read().expect("a reply").text(), "OK");
}

#[test]
fn all_connections_can_be_reset_and_what_they_held_is_lost() {
    let (server, proxy, mut conn) = setup();
    let mut other = Conn::open_as_admin(proxy.address()).expect("connect");
    assert!(answers(&mut other));
    proxy.hold_all();
    conn.send(&["SET", "x", "1"]).expect("send");
    silent(&mut conn);
    proxy.reset_all();
    proxy.heal();
    reset(conn.read());
    reset(other.read());
    assert!(answers(&mut Conn::open_as_admin(proxy.address()).expect("connect")));
    assert_eq!(server.keys(), [""; 0]);
}

#[test]
fn a_forsaken_client_sees_a_reset_and_its_request_arrives() {
    let (server, proxy, mut conn) = setup();
    let held = proxy.on(&["SET", "x"], Action::HoldRequest);
    conn.send(&["SET", "x", "late"]).expect("send");
    held.expect(SOON);
    proxy.forsake_clients();
    reset(conn.read());
    let mut next = Conn::open_as_admin(proxy.address()).expect("connect");
    assert_eq!(next.cmd(&["GET", "x"]).expect("a reply"), Reply::Nil);
    proxy.heal();
    eventually(SOON, "the request arrives", || server.keys() == ["x"]);
    eventually(SOON, "the server's end is closed behind it", || proxy.open() == 1);
}

#[test]
fn a_request_can_be_executed_without_its_reply_coming_back() {
    let (server, proxy, mut conn) = setup();
    let fault = proxy.on(&["incr", "money"], Action::CutReply(0));
    assert_eq!(conn.cmd(&["INCR", "other"]).expect("a reply").int(), 1);
    reset(conn.cmd(&["INCR", "money"]));
    assert_eq!(server.cmd(&["GET", "money"]).int(), 1);
    assert_eq!(fault.hits(), 1);
    let mut next = Conn::open_as_admin(proxy.address()).expect("connect");
    assert_eq!(next.cmd(&["INCR", "money"]).expect("it fires once").int(), 2);
}

#[test]
fn a_reply_can_be_cut_in_the_middle() {
    let (server, proxy, mut conn) = setup();
    server.cmd(&["SET", "x", "0123456789"]);
    for cut in [1, 4, 8, 15] {
        proxy.on(&["GET"], Action::CutReply(cut));
        let before = proxy.bytes(Side::Replies);
        reset(conn.cmd(&["GET", "x"]));
        assert_eq!(proxy.bytes(Side::Replies) - before, cut as u64);
        conn = Conn::open_as_admin(proxy.address()).expect("connect");
    }
    assert_eq!(conn.cmd(&["GET", "x"]).expect("a reply").text(), "0123456789");
}

#[test]
fn a_request_can_be_refused_before_the_server_sees_it() {
    let (server, proxy, mut conn) = setup();
    proxy.on(&["SET"], Action::Refuse);
    reset(conn.cmd(&["SET", "x", "1"]));
    assert_eq!(server.keys(), [""; 0]);
}

#[test]
fn one_request_can_be_held_back_while_other_connections_work() {
    let (server, proxy, mut conn) = setup();
    let held = proxy.on(&["SET", "x"], Action::HoldRequest);
    conn.send(&["SET", "x", "late"]).expect("send");
    held.expect(SOON);
    let mut other = Conn::open_as_admin(proxy.address()).expect("connect");
    assert_eq!(other.cmd(&["SET", "x", "early"]).expect("a reply").text(), "OK");
    silent(&mut conn);
    proxy.on(&["ECHO"], Action::HoldReply);
    other.send(&["ECHO", "still held"]).expect("send");
    held.let_go();
    assert_eq!(conn.read().expect("a reply").text(), "OK");
    assert_eq!(server.cmd(&["GET", "x"]).text(), "late");
    silent(&mut other);
    proxy.heal();
    assert_eq!(other.read().expect("a reply").text(), "still held");
}

#[test]
fn a_reply_can_be_held_back() {
    let (server, proxy, mut conn) = setup();
    proxy.on(&["SET", "x"], Action::HoldReply);
    conn.send(&["SET", "x", "1"]).expect("send");
    eventually(SOON, "the server has done it", || server.keys() == ["x"]);
    silent(&mut conn);
    proxy.heal();
    assert_eq!(conn.read().expect("a reply").text(), "OK");
}

#[test]
fn commands_can_be_awaited_and_counted() {
    let (_server, proxy, mut conn) = setup();
    let pings = proxy.on_each(&["PING"], Action::Pass);
    assert!(!pings.wait_for(1, Duration::from_millis(1)));
    // ten commands in one write are ten commands
    conn.send(&["ECHO", "PIN"]).expect("send");
    (0..10).for_each(|_| conn.send(&["PING"]).expect("send"));
    assert!(pings.wait_for(10, SOON));
    proxy.heal();
    (0..11).for_each(|_| drop(conn.read().expect("a reply")));
    assert!(answers(&mut conn));
    assert_eq!(pings.hits(), 10, "healing ends the rule and keeps the count");
}

#[test]
fn what_a_script_says_is_not_taken_for_the_command() {
    let (_server, proxy, mut conn) = setup();
    let published = proxy.on(&["PUBLISH", "news"], Action::Pass);
    let script = "-- PUBLISH news\nreturn ARGV[1]";
    assert_eq!(conn.cmd(&["EVAL", script, "0", "old"]).expect("a reply").text(), "old");
    assert_eq!(published.hits(), 0);
    conn.cmd(&["EVAL", script, "0", "publish news"]).expect("a reply");
    assert_eq!(published.hits(), 1, "its arguments are");
    let evaluated = proxy.on(&["EVAL", "news"], Action::Pass);
    conn.cmd(&["EVAL", script, "0", "old"]).expect("a reply");
    assert_eq!(evaluated.hits(), 1, "unless the rule means a script");
}

#[test]
fn half_closing_ends_one_direction() {
    let (server, proxy, mut conn) = setup();
    assert!(answers(&mut conn));
    proxy.half_close(Side::Replies);
    assert_eq!(conn.read().expect_err("the end").kind(), ErrorKind::UnexpectedEof);
    conn.send(&["SET", "x", "1"]).expect("the other direction is open");
    eventually(SOON, "the request arrives", || server.keys() == ["x"]);
}

#[test]
fn a_throttled_line_takes_its_time() {
    let (_server, proxy, mut conn) = setup();
    assert_eq!(conn.cmd(&["SET", "x", &"x".repeat(5_000)]).expect("a reply").text(), "OK");
    proxy.throttle(Side::Replies, Some(50_000));
    let start = Instant::now();
    assert_eq!(conn.cmd(&["GET", "x"]).expect("a reply").text().len(), 5_000);
    assert!(start.elapsed() >= Duration::from_millis(100), "5 kB at 50 kB/s");
    proxy.throttle(Side::Replies, None);
}

#[test]
fn connections_can_be_refused_while_present_ones_stay() {
    let (_server, proxy, mut conn) = setup();
    assert!(answers(&mut conn));
    proxy.refuse(true);
    proxy.refuse(true);
    assert_eq!(Conn::open(proxy.address()).expect_err("refused").kind(), ErrorKind::ConnectionRefused);
    assert!(answers(&mut conn));
    proxy.refuse(false);
    assert!(answers(&mut Conn::open_as_admin(proxy.address()).expect("connect")));
}

#[test]
fn it_can_be_pointed_at_another_server() {
    let (_first, proxy, mut conn) = setup();
    let second = Server::start();
    second.cmd(&["SET", "which", "second"]);
    proxy.point_at(second.address());
    assert_eq!(conn.cmd(&["GET", "which"]).expect("a reply"), Reply::Nil, "present connections stay");
    let mut other = Conn::open_as_admin(proxy.address()).expect("connect");
    assert_eq!(other.cmd(&["GET", "which"]).expect("a reply").text(), "second");
}

#[test]
fn a_server_that_is_down_behind_it_shows_as_a_reset() {
    let (mut server, proxy, mut conn) = setup();
    server.stop();
    assert!(!answers(&mut conn), "the connection through it ends with the server's");
    let result = Conn::open(proxy.address()).and_then(|mut c| c.cmd(&["PING"]));
    assert!(result.is_err());
}
