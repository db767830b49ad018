//! A real process on a wall clock that the test sets: its generator follows it slowly, warns, and never steps back.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use libdlock::Snowflake;
use libdlock::event::Event;
use libdlock_testkit::ClockHandle;
use libdlock_testkit::process::{PATIENCE, Worker};
use libdlock_testkit::temp::TempDir;

/// Set for the process on the steered clock, which is this program once more.
const ROLE: &str = "LIBDLOCK_TEST_MAKES_IDS";
const NAME: &str = "id_clock::a_process_follows_its_wall_clock_and_never_steps_back";
const HOUR_US: i64 = 3_600_000_000;

#[test]
fn a_process_follows_its_wall_clock_and_never_steps_back() {
    if std::env::var_os(ROLE).is_some() {
        return make_ids();
    }
    let dir = TempDir::new();
    let clock = ClockHandle::create(&dir.path().join("clock"));
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", NAME, "--nocapture"]).envs(clock.environment()).env(ROLE, "1");
    let mut ids = Ids { worker: Worker::spawn_command(command), last: 0, warnings: Vec::new() };

    assert!(ids.ahead_us().abs() < 1_000, "{} us", ids.ahead_us());
    clock.advance(-4_000);
    assert!((3_000..5_000).contains(&ids.ahead_us()), "{} us ahead after a step of 4 ms", ids.ahead_us());
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(6) {
        ids.ahead_us();
    }
    // At 500 millionths of the time it takes 3 ms of the 4 in 6 s, of which a look may still be ahead.
    let left = ids.ahead_us();
    assert!((500..2_300).contains(&left), "{left} us ahead after 6 s");

    assert_eq!(ids.warnings, [""; 0]);
    clock.advance(-HOUR_US);
    let begun = Instant::now();
    while ids.warnings.is_empty() && begun.elapsed() < Duration::from_secs(10) {
        assert!((ids.ahead_us() - HOUR_US).abs() < 10_000, "{} us ahead of an hour", ids.ahead_us() - HOUR_US);
    }
    assert!(ids.warnings.len() == 1 && ids.warnings[0].contains("ahead of the wall clock"), "{:?}", ids.warnings);
    clock.advance(HOUR_US);
    assert!(ids.ahead_us().abs() < 10_000, "{} us", ids.ahead_us());
}

/// What a process says that makes ids, one after another.
struct Ids {
    worker: Worker,
    last: i64,
    warnings: Vec<String>,
}

impl Ids {
    /// By how many us the times in its next ids are ahead of its wall clock, on average; a process that was not running between
    /// an id and its look at the clock says too little, so the lowest quarter does not count.
    fn ahead_us(&mut self) -> i64 {
        const COUNT: usize = 100;
        // Those that were made before the test set the clock do not count.
        while let Some(line) = self.worker.line(Duration::ZERO) {
            self.hear(&line);
        }
        let mut each = Vec::new();
        while each.len() < COUNT {
            let line = self.worker.expect_line(PATIENCE);
            each.extend(self.hear(&line));
        }
        each.sort_unstable();
        let counted = &each[COUNT / 4..];
        counted.iter().sum::<i64>() / counted.len() as i64
    }

    fn hear(&mut self, line: &str) -> Option<i64> {
        if let Some(warning) = line.strip_prefix("warning ") {
            self.warnings.push(warning.to_owned());
            return None;
        }
        // libtest says other things.
        let (id, wall_us) = line.strip_prefix("made ")?.split_once(' ')?;
        let id: i64 = id.parse().unwrap();
        assert!(id > self.last, "{id} after {}", self.last);
        self.last = id;
        let time_ms = libdlock::id::Layout::DEFAULT.decode(id).unwrap().time_ms;
        // An id has whole milliseconds.
        Some(time_ms * 1_000 + 500 - wall_us.parse::<i64>().unwrap())
    }
}

fn make_ids() {
    let warn = Arc::new(|event: &Event| println!("warning {}", event.message));
    let ids = Snowflake::builder(1, 1).on_event(warn).build().unwrap();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        let id = ids.next_id().unwrap();
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        println!("made {id} {}", wall.as_micros());
        std::thread::sleep(Duration::from_micros(1_700));
    }
}
