//! A private redis-server: on a loopback port of its own, with a folder of its own, gone with the test.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::{
    access,
    certificates::{Authority, Certificate},
    clock::ClockHandle,
    lateness, port,
    process::{self, spawn},
    program,
    resp::{Conn, Kept, Reply},
    temp::TempDir,
    wait::within,
};

/// How a server is to be started. Everything is off by default.
#[derive(Clone, Debug, Default)]
pub struct Options {
    args: Vec<String>,
    acl: Vec<String>,
    password: Option<String>,
    unix_socket: bool,
    own_clock: bool,
    clock: Option<ClockHandle>,
    tls: Vec<String>,
    rights: Vec<String>,
}

impl Options {
    /// Command-line arguments for redis-server, such as `["--maxmemory", "2mb"]`.
    pub fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|a| a.to_string()));
        self
    }

    /// Rules for the default user besides those of every server.
    pub fn rights(mut self, rules: Vec<String>) -> Self {
        self.rights = rules;
        self
    }

    /// A memory limit in bytes, above which writes are refused.
    pub fn maxmemory(self, bytes: u64) -> Self {
        self.args(&["--maxmemory", &bytes.to_string(), "--maxmemory-policy", "noeviction"])
    }

    /// The password of the default user.
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.into());
        self
    }

    /// An ACL rule as in `ACL SETUSER`: `"alice on >secret ~* +@all"`.
    pub fn user(mut self, rule: &str) -> Self {
        self.acl.push(rule.into());
        self
    }

    /// Answers DEBUG, which servers from 7.0 on refuse by default.
    pub fn debug_command(self) -> Self {
        if program::major_version() < 7 { self } else { self.args(&["--enable-debug-command", "yes"]) }
    }

    /// Listens on a Unix socket too.
    pub fn unix_socket(mut self) -> Self {
        self.unix_socket = true;
        self
    }

    /// Speaks TLS as well, on a port of its own, and shows that certificate. Which clients need one that the authority has
    /// signed, `clients` says in the server's words: `yes`, `no` or `optional`.
    pub fn tls(mut self, shows: &Certificate, authority: &Authority, clients: &str) -> Self {
        let path = |path: &PathBuf| path.to_str().expect("UTF-8").to_owned();
        let files = [("cert", path(&shows.cert)), ("key", path(&shows.key)), ("ca-cert", path(&authority.file()))];
        self.tls = files.into_iter().flat_map(|(what, path)| [format!("--tls-{what}-file"), path]).collect();
        self.tls.extend(["--tls-auth-clients".to_owned(), clients.to_owned()]);
        self
    }

    /// Steers its wall clock: see [`Server::clock`].
    pub fn clock(mut self) -> Self {
        self.own_clock = true;
        self
    }

    /// Lives by the clock of another server, as if both ran on one machine. That server has to outlive this one.
    pub fn clock_of(mut self, other: &Server) -> Self {
        self.clock = Some(other.clock().clone());
        self
    }

    /// Starts it and waits until it answers.
    #[track_caller]
    pub fn start(self) -> Server {
        lateness::watch();
        let dir = TempDir::new();
        let own = || self.own_clock.then(|| ClockHandle::create(&dir.path().join("clock")));
        let clock = self.clock.clone().or_else(own);
        for _ in 0..20 {
            let port = port::free();
            let mut server = Server {
                options: self.clone(),
                clock: clock.clone(),
                port,
                tls_port: if self.tls.is_empty() { 0 } else { port::free() },
                child: None,
                conn: Kept::new((Ipv4Addr::LOCALHOST, port).into()),
                dir: None,
                path: dir.path().into(),
            };
            // another process may have taken the port in the meantime: then another one
            if server.launch() {
                server.dir = Some(dir);
                return server;
            }
        }
        panic!("redis-server does not start: {}", fs::read_to_string(dir.path().join("log")).unwrap_or_default());
    }
}

/// What a restarted server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Nothing, as after a crash without persistence.
    Lost,
    /// What it had.
    Kept,
}

/// A running server; killed at drop, its folder removed.
#[derive(Debug)]
pub struct Server {
    options: Options,
    clock: Option<ClockHandle>,
    port: u16,
    /// 0 for none.
    tls_port: u16,
    child: Option<Child>,
    conn: Kept,
    dir: Option<TempDir>,
    path: PathBuf,
}

impl Server {
    /// A plain server.
    #[track_caller]
    pub fn start() -> Self {
        Options::default().start()
    }

    /// A server with other options.
    pub fn options() -> Options {
        Options::default()
    }

    /// A server and its clock.
    #[track_caller]
    pub fn with_clock() -> (Self, ClockHandle) {
        let server = Self::options().clock().start();
        let clock = server.clock().clone();
        (server, clock)
    }

    /// The clock of a server that was started with [`Options::clock`].
    #[track_caller]
    pub fn clock(&self) -> &ClockHandle {
        self.clock.as_ref().expect("this server was started without a steered clock")
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `redis://127.0.0.1:PORT`, without user and password.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address())
    }

    /// Where it speaks TLS, if it was asked to.
    #[track_caller]
    pub fn tls_address(&self) -> SocketAddr {
        assert!(self.tls_port > 0, "this server was started without TLS");
        (Ipv4Addr::LOCALHOST, self.tls_port).into()
    }

    /// `rediss://127.0.0.1:PORT`, without user and password.
    #[track_caller]
    pub fn tls_url(&self) -> String {
        format!("rediss://{}", self.tls_address())
    }

    /// Its Unix socket, when it was asked for one.
    pub fn socket(&self) -> PathBuf {
        self.path.join("socket")
    }

    /// Its process id; panics while it is stopped.
    #[track_caller]
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("the server is stopped").id()
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.path.join("log")).unwrap_or_default()
    }

    /// A connection of the caller's own, as a user who may do everything.
    #[track_caller]
    pub fn connect(&self) -> Conn {
        self.try_connect().unwrap_or_else(|e| panic!("cannot connect to {}: {e}", self.address()))
    }

    fn try_connect(&self) -> std::io::Result<Conn> {
        Conn::open_as_admin(self.address())
    }

    /// Runs one command over a connection that is kept for this purpose. When that connection was lost (by
    /// `CLIENT KILL`, say) the command is sent once more over a new one.
    #[track_caller]
    pub fn cmd<A: AsRef<[u8]>>(&self, args: &[A]) -> Reply {
        self.conn.cmd(args).unwrap_or_else(|e| panic!("the server at {} gave no reply: {e}", self.address()))
    }

    /// The names of all keys, sorted.
    #[track_caller]
    pub fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = self.cmd(&["KEYS", "*"]).array().iter().map(|key| key.text().to_owned()).collect();
        keys.sort();
        keys
    }

    /// A number from one section of `INFO`, such as `("stats", "total_connections_received")`. For commandstats:
    /// `("commandstats", "cmdstat_evalsha:calls")`; 0 when the line is missing.
    #[track_caller]
    pub fn info(&self, section: &str, field: &str) -> u64 {
        let (line, part) = field.split_once(':').map_or((field, None), |(line, part)| (line, Some(part)));
        let info = self.cmd(&["INFO", section]);
        let Some(value) = info.text().lines().find_map(|l| l.strip_prefix(line)?.strip_prefix(':')) else { return 0 };
        let value = match part {
            Some(part) => value.split(',').find_map(|p| p.strip_prefix(part)?.strip_prefix('=')).unwrap_or("0"),
            None => value,
        };
        value.parse().unwrap_or_else(|_| panic!("INFO {section} {field} is no number: {value}"))
    }

    /// Makes a cluster node the owner of every slot (`ADDSLOTS`), or of none (`DELSLOTS`). One by one: ranges of slots come with 7.0.
    #[track_caller]
    pub fn every_slot(&self, command: &str) {
        let slots = (0..16_384).map(|slot| slot.to_string());
        let words: Vec<String> = ["CLUSTER", command].map(str::to_owned).into_iter().chain(slots).collect();
        assert_eq!(self.cmd(&words).text(), "OK");
    }

    /// Kills it: connections break, what was not saved is gone.
    pub fn stop(&mut self) {
        self.conn.close();
        if let Some(mut child) = self.child.take() {
            process::end(&mut child);
        }
    }

    /// Starts it again on its port after [`Server::stop`], empty.
    #[track_caller]
    pub fn start_again(&mut self) {
        let _ = fs::remove_file(self.path.join("dump.rdb"));
        self.relaunch();
    }

    /// Kills it and starts it again on the same port.
    #[track_caller]
    pub fn restart(&mut self, data: Data) {
        if data == Data::Kept {
            assert_eq!(self.cmd(&["SAVE"]).text(), "OK");
            self.stop();
            self.relaunch();
        } else {
            self.stop();
            self.start_again();
        }
    }

    /// Stops its process (SIGSTOP): connections stay open and nothing answers.
    pub fn pause(&self) {
        process::pause(self.pid());
    }

    /// Lets its process go on (SIGCONT).
    pub fn resume(&self) {
        process::resume(self.pid());
    }

    #[track_caller]
    fn relaunch(&mut self) {
        assert!(self.child.is_none(), "the server is running");
        assert!(self.launch(), "redis-server does not start again: {}", self.log());
    }

    /// Starts the process and waits until it answers; `false` when it ended instead.
    fn launch(&mut self) -> bool {
        let dir = self.path.clone();
        let program = if self.tls_port > 0 { program::with_tls() } else { program::path() };
        let mut command = Command::new(&program);
        command.args(["--port", &self.port.to_string(), "--bind", "127.0.0.1", "--daemonize", "no"]);
        command.args(["--save", "", "--appendonly", "no", "--dbfilename", "dump.rdb"]);
        command.arg("--dir").arg(&dir).arg("--logfile").arg(dir.join("log"));
        if self.options.unix_socket {
            command.arg("--unixsocket").arg(dir.join("socket"));
        }
        if self.tls_port > 0 {
            command.args(["--tls-port", &self.tls_port.to_string()]).args(&self.options.tls);
        }
        // Without a word about users, libdlock's connections are the default user's.
        command.args(["--user", "default", "reset", "on"]).args(access::minimal()).args(&self.options.rights);
        command.arg(self.options.password.as_ref().map_or("nopass".to_owned(), |password| format!(">{password}")));
        command.args(["--user", access::ADMIN, "on", "nopass", "~*", "&*", "+@all"]);
        // A server that a test makes a replica of this one.
        command.args(["--masteruser", access::ADMIN, "--masterauth", "any password"]);
        for rule in &self.options.acl {
            command.arg("--user").args(rule.split_whitespace());
        }
        command.args(&self.options.args);
        if let Some(clock) = &self.clock {
            command.envs(clock.environment());
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = spawn(command).unwrap_or_else(|e| {
            let (program, variable) = (program.display(), program::VARIABLE);
            panic!("cannot start {program} ({e}); scripts/deps.sh installs redis-server, {variable} names another")
        });
        self.child = Some(child);
        let mut ended = false;
        let answers = within(Duration::from_secs(10), || {
            ended = self.child.as_mut().is_some_and(|c| matches!(c.try_wait(), Ok(Some(_)) | Err(_)));
            ended
                || self.try_connect().and_then(|mut c| c.cmd(&["PING"])).is_ok_and(|r| r == Reply::Text("PONG".into()))
        });
        assert!(answers, "redis-server does not answer: {}", self.log());
        if ended {
            self.child = None;
        }
        !ended
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
