//! The signals that are passed on to the command.

use std::io::IsTerminal;
use std::{fs, thread};

use rustix::process::{Signal, getpgrp};
use rustix::termios::tcgetpgrp;
use signal_hook::iterator;
use tokio::sync::mpsc;

use crate::exit::{self, Failure};

/// Those that a program is told things by. What stops, continues and kills is the kernel's.
const PASSED_ON: [Signal; 7] =
    [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1, Signal::USR2, Signal::ALARM];

/// Catches signals from when it is made.
pub struct Signals(mpsc::UnboundedReceiver<Caught>);

#[derive(Clone, Copy, Debug)]
pub struct Caught(Signal);

impl Caught {
    pub fn signal(self) -> Signal {
        self.0
    }

    /// Small enough to be added to 128.
    pub fn number(self) -> u8 {
        u8::try_from(self.0.as_raw()).unwrap_or(0)
    }

    /// Whether the kernel has sent it to the command, too: a key on the terminal that both have. Keys send signals only to the
    /// group in the foreground.
    pub fn is_a_key(self) -> bool {
        let is_in_foreground = || tcgetpgrp(std::io::stdin()).is_ok_and(|group| group == getpgrp());
        matches!(self.0, Signal::INT | Signal::QUIT) && shares_terminal() && is_in_foreground()
    }
}

/// Whether `dlock` is run by somebody at a terminal: then the command keeps it, and what is typed there.
pub fn shares_terminal() -> bool {
    std::io::stdin().is_terminal()
}

impl Signals {
    /// Catches the signals that are passed on, except those that were ignored when this process began.
    ///
    /// # Errors
    /// [`Failure::Code`] when the operating system refuses to have signals caught.
    pub fn listen() -> Result<Signals, Failure> {
        let ignored = ignored();
        Self::catch(PASSED_ON.into_iter().filter(|signal| ignored >> (signal.as_raw() - 1) & 1 == 0).collect())
    }

    /// Catches these signals.
    ///
    /// # Errors
    /// As for [`listen`](Self::listen).
    pub fn catch(caught: Vec<Signal>) -> Result<Signals, Failure> {
        let cannot = |error| Failure::Code(exit::FAILED, format!("cannot catch signals: {error}"));
        let mut arriving = iterator::Signals::new(caught.iter().map(|signal| signal.as_raw())).map_err(cannot)?;
        let (sender, receiver) = mpsc::unbounded_channel();
        // With no signal to catch this thread waits until the process ends, and the channel stays open.
        let forward = move || {
            for number in arriving.forever() {
                let signal = caught.iter().find(|signal| signal.as_raw() == number);
                if signal.is_some_and(|signal| sender.send(Caught(*signal)).is_err()) {
                    return;
                }
            }
        };
        thread::Builder::new().name("dlock-signals".to_owned()).spawn(forward).map_err(cannot)?;
        Ok(Signals(receiver))
    }

    /// Completes with the next signal. Cancel safe.
    pub async fn next(&mut self) -> Caught {
        match self.0.recv().await {
            Some(caught) => caught,
            None => std::future::pending().await,
        }
    }

    /// Completes with the next signal that asks to end. Cancel safe.
    pub async fn ending(&mut self) {
        while !matches!(self.next().await.signal(), Signal::INT | Signal::TERM | Signal::HUP | Signal::QUIT) {}
    }
}

/// The signals that were ignored when this process began, as `nohup` and shells have them for what runs in the background: they
/// stay ignored, for the command too. A bit for each.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0)
}
