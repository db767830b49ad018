//! A terminal of the test's own, and a command that it belongs to.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::process::{Child, Command};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use libdlock_testkit::process::spawn;
use libdlock_testkit::within;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::common::PATIENCE;

/// A command at a terminal. Killed at drop.
pub struct AtTerminal {
    child: Child,
    keys: Option<File>,
    /// The reader ends with it.
    open: Option<Sender<()>>,
    reader: Option<JoinHandle<()>>,
    screen: Receiver<String>,
    seen: String,
}

impl AtTerminal {
    /// Starts a command with a terminal of so many columns as its standard streams, which is its controlling terminal.
    pub fn start(command: &Command, columns: u16) -> AtTerminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&master).expect("granted");
        unlockpt(&master).expect("unlocked");
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).expect("a size");
        let name = ptsname(&master, Vec::new()).expect("a name").into_string().expect("UTF-8");
        let slave = || OpenOptions::new().read(true).write(true).open(&name).expect("opened");
        // Makes standard input the controlling terminal.
        let mut at = Command::new("setsid");
        at.args(["--ctty", "--wait"]).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => at.env(name, value),
                None => at.env_remove(name),
            };
        }
        at.env("TERM", "xterm").stdin(slave()).stdout(slave()).stderr(slave());
        let child = spawn(at).expect("setsid starts");
        let keys = File::from(master);
        // So that the reader can be told to let it go.
        rustix::io::ioctl_fionbio(&keys, true).expect("a setting");
        let mut reader = keys.try_clone().expect("cloned");
        let (sender, screen) = mpsc::channel();
        let (open, is_open) = mpsc::channel();
        let reader = thread::spawn(move || {
            let mut bytes = [0; 4096];
            while is_open.try_recv() != Err(TryRecvError::Disconnected) {
                match reader.read(&mut bytes) {
                    Ok(length @ 1..) => drop(sender.send(String::from_utf8_lossy(&bytes[..length]).into_owned())),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(2)),
                    _ => break,
                }
            }
        });
        AtTerminal { child, keys: Some(keys), open: Some(open), reader: Some(reader), screen, seen: String::new() }
    }

    /// Types something.
    pub fn type_in(&mut self, keys: &str) {
        self.keys.as_mut().expect("open").write_all(keys.as_bytes()).expect("typed");
    }

    /// Waits for a text on the screen.
    #[track_caller]
    pub fn shows(&mut self, text: &str) {
        while !self.seen.contains(text) {
            match self.screen.recv_timeout(PATIENCE) {
                Ok(more) => self.seen.push_str(&more),
                Err(_) => panic!("{text} was not shown, but {:?}", self.seen),
            }
        }
    }

    /// Closes the terminal, as a window that is closed does.
    pub fn hang_up(&mut self) {
        self.open = None;
        self.reader.take().expect("open").join().expect("it reads");
        self.keys = None;
    }

    /// Waits for the end: the exit code, and what was on the screen.
    #[track_caller]
    pub fn ended(mut self) -> (i32, String) {
        let mut status = None;
        let has_ended = within(PATIENCE, || {
            status = self.child.try_wait().expect("it is a child");
            self.seen.extend(self.screen.try_iter());
            status.is_some()
        });
        assert!(has_ended, "it did not end: {:?}", self.seen);
        // The screen is closed when its last user is gone.
        while let Ok(more) = self.screen.recv_timeout(PATIENCE) {
            self.seen.push_str(&more);
        }
        let code = status.and_then(|status| status.code()).unwrap_or(-1);
        (code, std::mem::take(&mut self.seen).replace("\r\n", "\n"))
    }
}

impl Drop for AtTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
