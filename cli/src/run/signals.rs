//! The signals that are passed on to the command.

use std::fs;
use std::io::IsTerminal;

use rustix::process::{Signal, getpgrp};
use rustix::termios::tcgetpgrp;
use tokio::signal::unix::{self, SignalKind};
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
    /// # Errors
    /// [`Failure::Code`] when the operating system lets no signal be caught.
    pub fn listen() -> Result<Signals, Failure> {
        let (sender, caught) = mpsc::unbounded_channel();
        let ignored = ignored();
        for signal in PASSED_ON.into_iter().filter(|signal| ignored >> (signal.as_raw() - 1) & 1 == 0) {
            let listening = unix::signal(SignalKind::from_raw(signal.as_raw()));
            let mut listening =
                listening.map_err(|error| Failure::Code(exit::FAILED, format!("cannot catch signals: {error}")))?;
            let sender = sender.clone();
            tokio::spawn(
                async move { while listening.recv().await.is_some() && sender.send(Caught(signal)).is_ok() {} },
            );
        }
        // With every signal ignored there is none to come, and the channel stays open all the same.
        tokio::spawn(async move { sender.closed().await });
        Ok(Signals(caught))
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
