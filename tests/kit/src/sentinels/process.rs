//! One sentinel: a process with a configuration file of its own, which it rewrites itself.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::{
    access::{self, ADMIN},
    port,
    process::{self, spawn},
    program,
    resp::{Kept, Reply},
    temp::TempDir,
    wait::within,
};

/// The users' passwords do not matter: the administrator needs none, and takes any.
const ANY: &str = "any-password";

/// A running sentinel; killed at drop, its folder removed.
#[derive(Debug)]
pub struct Sentinel {
    port: u16,
    child: Option<Child>,
    conn: Kept,
    dir: TempDir,
}

impl Sentinel {
    /// One that watches the server at this host and port as the master of that name, and acts when another sentinel finds it down,
    /// too. `password` is that of its clients, `extra` are lines for its configuration.
    #[track_caller]
    pub fn watching(name: &str, (host, at): (&str, u16), password: Option<&str>, extra: &[String]) -> Self {
        for _ in 0..20 {
            let (port, dir) = (port::free(), TempDir::new());
            let conn = Kept::new((Ipv4Addr::LOCALHOST, port).into());
            let mut sentinel = Self { port, child: None, conn, dir };
            let rights = access::of_sentinels().join(" ");
            let password = password.map_or("nopass".to_owned(), |password| format!(">{password}"));
            let mut lines = vec![
                format!("port {port}"),
                "bind 127.0.0.1".to_owned(),
                "daemonize no".to_owned(),
                format!("dir {}", sentinel.dir.path().display()),
                format!("logfile {}", sentinel.dir.path().join("log").display()),
                format!("user default reset on {password} {rights}"),
                format!("user {ADMIN} on nopass ~* &* +@all"),
                format!("sentinel sentinel-user {ADMIN}"),
                format!("sentinel sentinel-pass {ANY}"),
            ];
            // Some have to stand in front of what they are about.
            lines.extend_from_slice(extra);
            lines.extend([
                format!("sentinel monitor {name} {host} {at} 2"),
                format!("sentinel auth-user {name} {ADMIN}"),
                format!("sentinel auth-pass {name} {ANY}"),
                // A busy machine is not down.
                format!("sentinel down-after-milliseconds {name} 1000"),
                // The next try follows after twice as long.
                format!("sentinel failover-timeout {name} 2000"),
                format!("sentinel parallel-syncs {name} 2"),
            ]);
            fs::write(sentinel.file(), lines.join("\n") + "\n").expect("write the configuration");
            // another process may have taken the port in the meantime: then another one
            if sentinel.launch() {
                return sentinel;
            }
        }
        panic!("no sentinel starts");
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Runs one command, as a user who may do everything.
    #[track_caller]
    pub fn cmd<A: AsRef<[u8]>>(&self, args: &[A]) -> Reply {
        self.try_cmd(args).unwrap_or_else(|e| panic!("the sentinel at {} gave no reply: {e}", self.address()))
    }

    /// The same of one that may be stopped.
    pub fn try_cmd<A: AsRef<[u8]>>(&self, args: &[A]) -> std::io::Result<Reply> {
        self.conn.cmd(args)
    }

    /// A field of the reply to `SENTINEL MASTER`; `None` when there is none.
    pub fn of_master(&self, name: &str, field: &str) -> Option<String> {
        let reply = self.try_cmd(&["SENTINEL", "MASTER", name]).ok()?;
        let Reply::Array(words) = reply else { return None };
        words.chunks(2).find(|pair| pair[0].text() == field).map(|pair| pair[1].text().to_owned())
    }

    /// Kills it.
    pub fn stop(&mut self) {
        self.conn.close();
        if let Some(mut child) = self.child.take() {
            process::end(&mut child);
        }
    }

    /// Starts it again, with what it knew when it was stopped.
    #[track_caller]
    pub fn start_again(&mut self) {
        assert!(self.child.is_none(), "the sentinel is running");
        assert!(self.launch(), "it does not start again: {}", self.log());
    }

    /// Stops its process (SIGSTOP): connections stay open and nothing answers.
    pub fn pause(&self) {
        process::pause(self.pid());
    }

    /// Lets its process go on (SIGCONT).
    pub fn resume(&self) {
        process::resume(self.pid());
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    fn pid(&self) -> u32 {
        self.child.as_ref().expect("the sentinel is stopped").id()
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("sentinel.conf")
    }

    /// Starts the process and waits until it answers; `false` when it ended instead.
    fn launch(&mut self) -> bool {
        let mut command = Command::new(program::path());
        command.arg(self.file()).arg("--sentinel");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.child = Some(spawn(command).unwrap_or_else(|e| panic!("cannot start a sentinel: {e}")));
        let mut ended = false;
        let answers = within(Duration::from_secs(10), || {
            ended = self.child.as_mut().is_some_and(|c| matches!(c.try_wait(), Ok(Some(_)) | Err(_)));
            ended || self.try_cmd(&["PING"]).is_ok_and(|reply| reply == Reply::Text("PONG".into()))
        });
        assert!(answers, "the sentinel does not answer: {}", self.log());
        if ended {
            self.child = None;
            return false;
        }
        // Redis 7.0 and later let tests hurry them. An older one answers with an error and takes its time.
        let hurry =
            ["INFO-PERIOD", "1000", "ASK-PERIOD", "200", "PUBLISH-PERIOD", "200", "MIN-LINK-RECONNECT-PERIOD", "1000"];
        // A process that had to wait for a processor need not rest half a minute.
        let calm = ["TILT-TRIGGER", "20000", "TILT-PERIOD", "1000"];
        for setting in hurry.chunks(2).chain(calm.chunks(2)) {
            self.cmd(&["SENTINEL", "DEBUG", setting[0], setting[1]]);
        }
        true
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        self.stop();
    }
}
