//! Workers can be talked to, killed, stopped and resumed. The worker here is `cat`, or a shell.

use std::time::{Duration, Instant};

use libdlock_testkit::{Worker, wait::monotonic_us};

const SOON: Duration = Duration::from_secs(5);

fn cat() -> Worker {
    Worker::spawn("cat", &[""; 0])
}

#[test]
fn lines_go_there_and_back() {
    let mut worker = cat();
    assert_eq!(worker.ask("hello"), "hello");
    assert_eq!(worker.ask("again"), "again");
    assert_eq!(worker.line(Duration::from_millis(1)), None);
    assert!(worker.finish(SOON).success());
}

#[test]
fn a_killed_worker_is_gone_at_once_and_says_nothing_more() {
    let mut worker = cat();
    assert_eq!(worker.ask("hello"), "hello");
    worker.kill();
    assert_eq!(worker.line(SOON), None);
    assert!(!worker.exit(SOON).expect("it has ended").success());
}

#[test]
fn a_stopped_worker_is_silent_and_goes_on_when_resumed() {
    let mut worker = cat();
    worker.pause();
    worker.send("hello");
    assert_eq!(worker.line(Duration::from_millis(60)), None);
    worker.resume();
    assert_eq!(worker.expect_line(SOON), "hello");
}

#[test]
fn a_dropped_worker_leaves_no_process() {
    let worker = cat();
    let proc = format!("/proc/{}", worker.pid());
    drop(worker);
    assert!(!std::path::Path::new(&proc).exists());
}

#[test]
fn waiting_for_an_end_is_bounded() {
    let mut worker = cat();
    let start = Instant::now();
    assert!(worker.exit(Duration::from_millis(30)).is_none());
    assert!(start.elapsed() < SOON);
}

#[test]
fn the_monotonic_clock_is_one_for_all_processes() {
    let before = monotonic_us();
    // /proc/uptime counts since boot by the same clock (plus suspend), in seconds
    let worker = Worker::spawn("cat", &["/proc/uptime"]);
    let line = worker.expect_line(SOON);
    let uptime: f64 = line.split(' ').next().expect("a field").parse().expect("seconds");
    assert!(uptime * 1e6 >= before as f64 - 20_000.0, "{uptime} s against {before} us");
}
