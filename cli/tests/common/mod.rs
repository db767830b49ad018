//! The real `dlock` as a process of its own, against a real server, with a bound on how long it may take.
pub mod browser;
pub mod served;
pub mod terminal;

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use libdlock_testkit::process::spawn;
use libdlock_testkit::{Server, within};

/// Far beyond what anything here takes.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// What a run of `dlock` has left.
#[derive(Debug)]
pub struct Ended {
    /// The exit code; 1000 and the number of the signal that ended it.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// A `dlock` that runs. Killed at drop.
pub struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
}

/// A command that starts `dlock` without anything of this process's environment that it reads, and with no signal ignored, as
/// `nohup` and a shell's background leave them to the tests.
pub fn dlock(args: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal", env!("CARGO_BIN_EXE_dlock")]).args(args);
    for name in ["DLOCK_URL", "DLOCK_PASSWORD", "NO_COLOR", "COLUMNS"] {
        command.env_remove(name);
    }
    command
}

/// The same at a server, whose answers may take as long as a busy machine lets them.
pub fn at(server: &Server, args: &[&str]) -> Command {
    let mut command = dlock(args);
    command.env("DLOCK_URL", patient(server));
    command
}

/// The URL of a server, for a client that gives it time.
pub fn patient(server: &Server) -> String {
    format!("{}?response_timeout=10s&connect_timeout=30s", server.url())
}

/// Runs `dlock` at a server to its end.
#[track_caller]
pub fn run(server: &Server, args: &[&str]) -> Ended {
    start(at(server, args)).ended()
}

/// Runs it and expects this code.
#[track_caller]
pub fn expect(server: &Server, args: &[&str], code: i32) -> Ended {
    let ended = run(server, args);
    assert_eq!(ended.code, code, "{args:?}: {ended:?}");
    ended
}

/// Starts a command with all of its streams piped.
pub fn start(mut command: Command) -> Running {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = spawn(command).expect("dlock starts");
    let stdout = collect(child.stdout.take().expect("piped"));
    let stderr = collect(child.stderr.take().expect("piped"));
    Running { stdin: child.stdin.take(), child, stdout, stderr }
}

fn collect(mut stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut bytes) {
            let _ = sender.send(String::from_utf8_lossy(&bytes[..length]).into_owned());
        }
    });
    receiver
}

impl Running {
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name, such as `TERM`.
    pub fn signal(&self, name: &str) {
        kill(name, self.id());
    }

    pub fn write(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().expect("open").write_all(bytes).expect("it reads");
    }

    /// Waits for some text on its standard output.
    #[track_caller]
    pub fn said(&self, text: &str) -> String {
        let mut said = String::new();
        while !said.contains(text) {
            match self.stdout.recv_timeout(PATIENCE) {
                Ok(more) => said.push_str(&more),
                Err(_) => panic!("{text} was not said, but {said:?}, {:?}", self.stderr.try_iter().collect::<String>()),
            }
        }
        said
    }

    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for its end.
    #[track_caller]
    pub fn ended(mut self) -> Ended {
        self.stdin = None;
        let mut status = None;
        let has_ended = within(PATIENCE, || {
            status = self.child.try_wait().expect("it is a child");
            status.is_some()
        });
        assert!(has_ended, "dlock did not end: {:?}", self.stderr.try_iter().collect::<String>());
        let status = status.expect("it ended");
        let code = status.code().unwrap_or_else(|| 1000 + status.signal().unwrap_or(0));
        // Until the streams are closed, which what it has left behind may keep open.
        let all = |stream: &Receiver<String>| {
            let mut text = String::new();
            while let Ok(more) = stream.recv_timeout(Duration::from_secs(2)) {
                text.push_str(&more);
            }
            text
        };
        Ended { code, stdout: all(&self.stdout), stderr: all(&self.stderr) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn kill(signal: &str, id: u32) {
    let done = Command::new("kill").args([&format!("-{signal}"), &id.to_string()]).output().expect("kill runs");
    assert!(done.status.success(), "{done:?}");
}

/// Whether there is a process with this id that has not ended.
pub fn is_alive(id: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}
