//! The steered clock: what a command sees is what the test set before it.

use std::time::{Duration, Instant, SystemTime};

use libdlock_testkit::{Reply, Server};

/// Server time in microseconds, by `TIME` and by `TIME` inside a script.
fn times(server: &Server) -> [i64; 2] {
    let us = |reply: &Reply| reply.array()[0].int() * 1_000_000 + reply.array()[1].int();
    [us(&server.cmd(&["TIME"])), us(&server.cmd(&["EVAL", "return redis.call('TIME')", "0"]))]
}

fn wall_clock() -> i64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_micros() as i64
}

const NOON: i64 = 1_750_000_000_000_000;

#[test]
fn a_command_sees_the_time_set_before_it_every_time() {
    let (server, clock) = Server::with_clock();
    for n in 0..4_000 {
        // forwards and backwards, by odd steps
        let us = NOON + if n % 2 == 0 { n } else { -n } * 1_234_567;
        clock.freeze_at(us);
        assert_eq!(times(&server), [us, us], "round {n}");
        assert_eq!(clock.frozen(), Some(us));
    }
}

#[test]
fn a_key_of_1000_ms_is_there_at_1000_ms_and_gone_at_1001() {
    let (server, clock) = Server::with_clock();
    for _ in 0..200 {
        clock.freeze_at(NOON);
        assert_eq!(server.cmd(&["SET", "x", "1", "PX", "1000"]).text(), "OK");
        clock.advance(999_000);
        assert_eq!(server.cmd(&["PTTL", "x"]).int(), 1);
        clock.advance(1_000);
        assert_eq!(server.cmd(&["EXISTS", "x"]).int(), 1, "at +1000 ms");
        assert_eq!(server.cmd(&["EVAL", "return redis.call('EXISTS', KEYS[1])", "1", "x"]).int(), 1);
        clock.advance(999);
        assert_eq!(server.cmd(&["EXISTS", "x"]).int(), 1, "Redis counts whole milliseconds");
        clock.advance(1);
        assert_eq!(server.cmd(&["EVAL", "return redis.call('EXISTS', KEYS[1])", "1", "x"]).int(), 0);
        assert_eq!(server.cmd(&["EXISTS", "x"]).int(), 0, "at +1001 ms");
    }
}

#[test]
fn a_frozen_clock_does_not_stop_the_server() {
    let (server, clock) = Server::with_clock();
    clock.freeze_at(NOON);
    let start = Instant::now();
    for _ in 0..100 {
        assert_eq!(server.connect().cmd(&["PING"]).expect("a reply").text(), "PONG");
    }
    assert_eq!(times(&server), [NOON, NOON]);
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_running_clock_runs_with_an_offset() {
    const HOUR: i64 = 3_600_000_000;
    let (server, clock) = Server::with_clock();
    assert!((times(&server)[0] - wall_clock()).abs() < 5_000_000, "untouched, it shows the real time");
    clock.offset(HOUR);
    let [first, second] = times(&server);
    assert!((first - wall_clock() - HOUR).abs() < 5_000_000);
    assert!(second > first, "it runs");
    clock.advance(-2 * HOUR);
    assert!((times(&server)[0] - wall_clock() + HOUR).abs() < 5_000_000);
    clock.freeze_at(NOON);
    clock.offset(0);
    assert!((times(&server)[0] - wall_clock()).abs() < 5_000_000);
    assert_eq!(clock.frozen(), None);
}

#[test]
fn a_slewed_clock_runs_fast_by_as_much_as_was_asked_for() {
    let (server, clock) = Server::with_clock();
    clock.slew(500_000);
    let (began, before) = (Instant::now(), times(&server)[0]);
    std::thread::sleep(Duration::from_millis(400));
    let (passed, shown) = (began.elapsed().as_micros() as i64, times(&server)[0] - before);
    assert!((shown - passed * 3 / 2).abs() < 100_000, "{shown} us in {passed} us");
}

#[test]
fn a_clock_that_is_slewed_to_and_fro_never_jumps() {
    let (server, clock) = Server::with_clock();
    let script = "local t = redis.call('TIME') return t[1] * 1000000 + t[2]";
    let now = || server.cmd(&["EVAL", script, "0"]).int();
    let (began, first) = (Instant::now(), now());
    let mut last = first;
    for ppm in (0..2_000).map(|n| [83_333, -83_333, 0][n % 3]) {
        clock.slew(ppm);
        let next = now();
        assert!(next > last, "{next} after {last}");
        last = next;
    }
    clock.slew(0);
    let (passed, shown) = (began.elapsed().as_micros() as i64, now() - first);
    assert!((shown - passed).abs() <= passed / 12 + 1_000, "{shown} us in {passed} us");
}
