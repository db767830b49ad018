//! The command while it runs: its signals, its end, and its end when the lock is lost.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::pin::pin;
use std::process::{self, ExitStatus, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use libdlock::lease::LossReason;
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use signal_hook::consts::SIGCHLD;
use signal_hook::flag;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, sleep_until};

use super::bound;
use super::signals::{Signals, shares_terminal};
use crate::exit::{self, Failure};
use crate::out::{say, visible};

/// How often a group without its first process is looked at, once the lock is lost.
const LOOK: Duration = Duration::from_millis(20);

/// What a longer grace is taken for: an instant further away may not exist.
const LONGEST_GRACE: Duration = Duration::from_secs(365 * 86_400);

pub struct Child {
    ended: oneshot::Receiver<io::Result<ExitStatus>>,
    id: Pid,
    /// It has a group of processes of its own, which gets the signals. At a terminal it stays in that of `dlock`, because the
    /// terminal is read by one group alone.
    has_group: bool,
}

/// How the command ended.
pub struct Ended {
    pub code: u8,
    /// The lock was lost before that.
    pub lost: Option<LossReason>,
}

impl Child {
    /// Starts the command on the calling thread, which has to outlive it. It reads `input`, or what `dlock` would.
    ///
    /// # Errors
    /// [`Failure::Code`] when no process can be started. A command that is not there is found out by that process.
    pub fn start(words: &[OsString], environment: &[(&str, String)], input: Option<Vec<u8>>) -> Result<Child, Failure> {
        let mut command = bound::command(words);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let has_group = !shares_terminal();
        if has_group {
            command.process_group(0);
        }
        let failed = |what: String| {
            let program = words.first().map(|word| visible(&word.to_string_lossy())).unwrap_or_default();
            Failure::Code(exit::CANNOT_RUN, format!("cannot run {program}: {what}"))
        };
        let (waiter, ended) = waiter().map_err(|error| failed(error.to_string()))?;
        let mut process = command.spawn().map_err(|error| failed(error.to_string()))?;
        if let Some((mut stdin, input)) = process.stdin.take().zip(input) {
            // It need not read all of it.
            thread::spawn(move || stdin.write_all(&input));
        }
        let id = Pid::from_child(&process);
        // The thread waits for this one child, and is there.
        let _ = waiter.send(process);
        Ok(Child { ended, id, has_group })
    }

    /// Waits for the end of the command. Passes signals on, and ends the command when `what` it runs under is `lost`.
    pub async fn watch(
        &mut self,
        what: &str,
        lost_for: impl Future<Output = Option<LossReason>>,
        signals: &mut Signals,
        grace: Duration,
    ) -> Ended {
        let mut lost_for = pin!(lost_for);
        let (mut lost, mut kill_at) = (None, None);
        let status = loop {
            tokio::select! {
                status = &mut self.ended => break status,
                caught = signals.next() => {
                    if !caught.is_a_key() {
                        self.pass_on(caught.signal());
                    }
                }
                reason = &mut lost_for, if lost.is_none() => {
                    let reason = reason.unwrap_or(LossReason::Closed);
                    lost = Some(reason);
                    kill_at = Some(Instant::now() + grace.min(LONGEST_GRACE));
                    self.end(what, reason);
                }
                () = sleep_until(kill_at.unwrap_or_else(Instant::now)), if kill_at.is_some() => {
                    kill_at = None;
                    self.send(Signal::KILL);
                }
            }
        };
        if let (Some(_), Some(kill_at)) = (lost, kill_at) {
            self.end_group(kill_at).await;
        }
        Ended { code: status.ok().and_then(Result::ok).map_or(exit::FAILED, code), lost }
    }

    fn end(&self, what: &str, reason: LossReason) {
        say(&format!("{what} was lost: {reason}; ending the command"));
        self.pass_on(Signal::TERM);
    }

    fn pass_on(&self, signal: Signal) {
        self.send(signal);
        // One that is stopped, as for reading a terminal in the background, gets its signal when it goes on.
        if matches!(signal, Signal::HUP | Signal::INT | Signal::QUIT | Signal::TERM) {
            self.send(Signal::CONT);
        }
    }

    /// After a loss: what the command has started and left behind.
    async fn end_group(&self, kill_at: Instant) {
        let is_there = || self.has_group && test_kill_process_group(self.id).is_ok();
        while is_there() {
            if Instant::now() >= kill_at {
                return self.send(Signal::KILL);
            }
            sleep(LOOK).await;
        }
    }

    fn send(&self, signal: Signal) {
        // It may have ended just now.
        let _ = match self.has_group {
            true => kill_process_group(self.id, signal),
            false => kill_process(self.id, signal),
        };
    }
}

/// A thread that waits for the process that it is sent, and what it then sends: how the process ended.
fn waiter() -> io::Result<(mpsc::Sender<process::Child>, oneshot::Receiver<io::Result<ExitStatus>>)> {
    // A parent that ignores SIGCHLD hands that down, and the kernel then keeps no exit status. Caught, it is not ignored.
    flag::register(SIGCHLD, Arc::default())?;
    let (sender, receiver) = mpsc::channel::<process::Child>();
    let (ended, end) = oneshot::channel();
    thread::Builder::new().name("dlock-command".to_owned()).spawn(move || {
        if let Ok(mut process) = receiver.recv() {
            let _ = ended.send(process.wait());
        }
    })?;
    Ok((sender, end))
}

/// As a shell says it.
fn code(status: ExitStatus) -> u8 {
    let by_signal =
        || status.signal().and_then(|signal| u8::try_from(signal).ok()).map(|signal| exit::BY_SIGNAL | signal);
    status.code().and_then(|code| u8::try_from(code).ok()).or_else(by_signal).unwrap_or(exit::FAILED)
}
