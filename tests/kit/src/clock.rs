//! The wall clock of one process, in the test's hand: a server's, or a client's.
//!
//! The process runs with `shim/clock.c` preloaded, which reads a small mapped file before every look at the time. Redis
//! caches the time, but takes it afresh at the start of every command: a command sent after a change sees the change.

use std::{
    ffi::OsStr,
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::atomic::{AtomicI64, Ordering::SeqCst},
    time::SystemTime,
};

/// Where build.rs put the compiled shim.
const SHIM: &str = env!("LIBDLOCK_CLOCK_SHIM");
/// The variable that tells the shim where its control file is.
const SHIM_VARIABLE: &str = "DLOCK_CLOCK_FILE";

/// Steers one process's wall clock. A server's next command sees a change. Clones steer the same clock.
#[derive(Clone, Debug)]
pub struct ClockHandle {
    /// `frozen_us` (negative: the clock runs), `offset_us`, `slew_ppm`, `slew_from_us` and `version`, as in shim/clock.c.
    shared: &'static [AtomicI64; 5],
    path: PathBuf,
}

impl ClockHandle {
    /// A control file for a clock that shows the real time.
    pub fn create(path: &Path) -> Self {
        let mut file: File = OpenOptions::new().read(true).write(true).create_new(true).open(path).expect("clock file");
        file.write_all(&(-1i64).to_ne_bytes()).expect("clock file");
        file.write_all(&[0; 4 * size_of::<i64>()]).expect("clock file");
        Self { shared: crate::sys::shared_integers(&file), path: path.into() }
    }

    /// What a process needs in its environment to live by this clock.
    pub fn environment(&self) -> [(&str, &OsStr); 2] {
        [("LD_PRELOAD", OsStr::new(SHIM)), (SHIM_VARIABLE, self.path.as_os_str())]
    }

    /// Stops the clock at `us` microseconds since 1970 (not negative).
    pub fn freeze_at(&self, us: i64) {
        assert!(us >= 0, "the shim reads a negative time as 'running'");
        self.shared[0].store(us, SeqCst);
    }

    /// Moves the clock by `us` (negative: back): the frozen time when it is frozen, the running one otherwise.
    pub fn advance(&self, us: i64) {
        let frozen = self.shared[0].load(SeqCst);
        if frozen >= 0 {
            self.freeze_at(frozen + us);
        } else {
            self.shared[1].fetch_add(us, SeqCst);
        }
    }

    /// Lets the clock run, `us` ahead of the real time (negative: behind).
    pub fn offset(&self, us: i64) {
        self.shared[1].store(us, SeqCst);
        self.shared[0].store(-1, SeqCst);
    }

    /// Lets the clock run fast by so many millionths from now on (negative: slow; 0: no more), as a time daemon does that
    /// slews it. What an earlier slew has added stays, so the clock never jumps. For one thread at a time.
    pub fn slew(&self, ppm: i64) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_micros() as i64;
        let [_, offset, slew, from, version] = self.shared;
        let slewed = (now - from.load(SeqCst)) * slew.load(SeqCst) / 1_000_000;
        version.fetch_add(1, SeqCst);
        offset.fetch_add(slewed, SeqCst);
        from.store(now, SeqCst);
        slew.store(ppm, SeqCst);
        version.fetch_add(1, SeqCst);
    }

    /// The time it is frozen at; `None` while it runs.
    pub fn frozen(&self) -> Option<i64> {
        Some(self.shared[0].load(SeqCst)).filter(|us| *us >= 0)
    }
}
