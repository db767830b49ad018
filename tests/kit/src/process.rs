//! Processes of the tests: workers that speak lines over their standard streams and can be killed, stopped and resumed.

use std::{
    ffi::OsStr,
    io::{self, BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{
        OnceLock,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{sys, wait::within};

/// How long an answer to [`Worker::ask`] may take: far beyond every operation that a test expects to succeed.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Starts a process that dies with this one, however this one ends.
///
/// The kernel ties a child to the *thread* that started it, and a test's thread ends before the test run does: so a
/// thread that never ends starts them all.
pub fn spawn(mut command: Command) -> io::Result<Child> {
    type Job = (Command, Sender<io::Result<Child>>);
    static SPAWNER: OnceLock<Sender<Job>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (sender, jobs) = mpsc::channel::<Job>();
        thread::spawn(move || jobs.iter().for_each(|(mut command, reply)| drop(reply.send(command.spawn()))));
        sender
    });
    sys::die_with_parent(&mut command);
    let (reply, result) = mpsc::channel();
    spawner.send((command, reply)).expect("the spawning thread never ends");
    result.recv().expect("the spawning thread never ends")
}

/// Makes this process one that a SIGPIPE ends, as every C program is at its start; Rust's runtime ignores that signal.
pub fn restore_sigpipe() {
    sys::restore_sigpipe();
}

/// A worker process. Killed and reaped at drop.
#[derive(Debug)]
pub struct Worker {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Worker {
    /// Starts `program` with piped input and output; its errors go to ours.
    pub fn spawn<S: AsRef<OsStr>>(program: impl AsRef<OsStr>, args: &[S]) -> Self {
        let mut command = Command::new(program);
        command.args(args);
        Self::spawn_command(command)
    }

    /// The same for a command with an environment or folder of its own.
    pub fn spawn_command(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let name = format!("{command:?}");
        let mut child = spawn(command).unwrap_or_else(|e| panic!("cannot start {name}: {e}"));
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, stdin, lines }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends one line.
    pub fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("its input is closed");
        writeln!(stdin, "{line}").and_then(|()| stdin.flush()).unwrap_or_else(|e| panic!("worker, at {line:?}: {e}"));
    }

    /// Its next line; `None` when there is none within `bound` or it has ended.
    pub fn line(&self, bound: Duration) -> Option<String> {
        self.lines.recv_timeout(bound).ok()
    }

    /// Its next line, which must come within `bound`.
    #[track_caller]
    pub fn expect_line(&self, bound: Duration) -> String {
        match self.lines.recv_timeout(bound) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => panic!("worker {} said nothing within {bound:?}", self.pid()),
            Err(RecvTimeoutError::Disconnected) => panic!("worker {} has ended", self.pid()),
        }
    }

    /// Sends one line and waits for one.
    #[track_caller]
    pub fn ask(&mut self, line: &str) -> String {
        self.send(line);
        self.expect_line(PATIENCE)
    }

    /// Ends it as a crash or the out-of-memory killer does, and waits until it is gone.
    pub fn kill(&mut self) {
        end(&mut self.child);
    }

    /// Stops it (SIGSTOP) and waits until all of it stands still.
    pub fn pause(&self) {
        pause(self.pid());
    }

    /// Lets it go on (SIGCONT).
    pub fn resume(&self) {
        resume(self.pid());
    }

    /// Closes its input, on which a worker ends by itself, and waits for that.
    #[track_caller]
    pub fn finish(mut self, bound: Duration) -> ExitStatus {
        self.stdin = None;
        self.exit(bound).unwrap_or_else(|| panic!("worker {} did not end within {bound:?}", self.pid()))
    }

    /// Waits for its end; `None` when it is still there after `bound`.
    pub fn exit(&mut self, bound: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + bound;
        let mut status = None;
        within(deadline.saturating_duration_since(Instant::now()), || {
            status = self.child.try_wait().expect("wait for the worker");
            status.is_some()
        });
        status
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Ends a process as a crash does, and waits until it is gone.
pub(crate) fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Stops a process (SIGSTOP) and waits until all of it stands still.
pub(crate) fn pause(pid: u32) {
    sys::signal(pid, libc::SIGSTOP);
    wait_for_state(pid, "T");
}

/// Lets a process go on (SIGCONT).
pub(crate) fn resume(pid: u32) {
    sys::signal(pid, libc::SIGCONT);
}

/// Waits until every thread of a process is in `state` (as /proc shows it): signals are delivered thread by thread.
fn wait_for_state(pid: u32, state: &str) {
    crate::eventually(Duration::from_secs(5), "the process stands still", || {
        let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return true };
        threads.flatten().all(|thread| {
            let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            // the name in parentheses may itself hold anything: the state follows the last one
            stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with(state))
        })
    });
}
