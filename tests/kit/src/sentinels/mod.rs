//! Sentinels, one master and its replicas, as real processes.
//!
//! Each server is reached only through a proxy of its own, also by its replicas and by the sentinels: so one cut takes it from
//! everybody at once.

mod process;

use std::{net::SocketAddr, time::Duration};

pub use process::Sentinel;

use crate::{
    proxy::{Action, Proxy},
    resp::Reply,
    server::Server,
    wait::{eventually, monotonic_us, within},
};

/// The name of the master in every deployment.
pub const MASTER: &str = "orders";

/// How long the processes may take to find one another, or to be of one mind again.
const SETTLING: Duration = Duration::from_secs(60);

/// A server and the only way to it.
#[derive(Debug)]
pub struct Node {
    /// The process.
    pub server: Server,
    /// In front of it.
    pub proxy: Proxy,
}

/// When sentinels first named another master.
#[derive(Clone, Copy, Debug)]
pub struct Promotion {
    /// The number of the node.
    pub node: usize,
    /// When the first of them named it, by [`monotonic_us`].
    pub at: i64,
}

/// How a deployment is to be started.
#[derive(Clone, Debug, Default)]
pub struct Options {
    password: Option<String>,
    server: Vec<String>,
    clock: bool,
    sentinel: Vec<String>,
}

impl Options {
    /// The password of the sentinels' clients.
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.into());
        self
    }

    /// Arguments for each server.
    pub fn server_args(mut self, args: &[&str]) -> Self {
        self.server.extend(args.iter().map(|arg| arg.to_string()));
        self
    }

    /// The wall clock of each server is steered by itself: see [`Server::clock`].
    pub fn clock(mut self) -> Self {
        self.clock = true;
        self
    }

    /// Lines for each sentinel's configuration.
    pub fn sentinel_lines(mut self, lines: &[&str]) -> Self {
        self.sentinel.extend(lines.iter().map(|line| line.to_string()));
        self
    }

    /// Starts three sentinels, a master and two replicas, and waits until each knows the others.
    #[track_caller]
    pub fn start(self) -> Sentinels {
        let nodes: Vec<Node> = (0..3).map(|_| Node::start(&self.server, self.clock)).collect();
        let master = nodes[0].address();
        for replica in &nodes[1..] {
            replica.follow(master);
        }
        // A sentinel hears of the replicas when it first asks the master.
        eventually(SETTLING, "two replicas follow", || nodes[0].server.info("replication", "connected_slaves") == 2);
        let (ip, port) = (master.ip().to_string(), master.port());
        let start = || Sentinel::watching(MASTER, (&ip, port), self.password.as_deref(), &self.sentinel);
        let sentinels = Sentinels { nodes, sentinels: (0..3).map(|_| start()).collect() };
        sentinels.settle();
        sentinels
    }
}

/// Three sentinels that watch a master with two replicas.
#[derive(Debug)]
pub struct Sentinels {
    /// The servers.
    pub nodes: Vec<Node>,
    /// The sentinels.
    pub sentinels: Vec<Sentinel>,
}

impl Node {
    fn start(args: &[String], has_clock: bool) -> Self {
        // Where it leads is known when the server has a port, and the server wants to know the proxy's.
        let proxy = Proxy::start(([127, 0, 0, 1], 1).into());
        let port = proxy.address().port().to_string();
        let announced = ["--replica-announce-ip", "127.0.0.1", "--replica-announce-port", &port];
        // Links that a cut left half open are given up soon.
        let quick = ["--repl-diskless-sync-delay", "0", "--repl-timeout", "5", "--repl-ping-replica-period", "1"];
        let args: Vec<&str> = args.iter().map(String::as_str).chain(announced).chain(quick).collect();
        let options = Server::options().args(&args);
        let server = if has_clock { options.clock() } else { options }.start();
        proxy.point_at(server.address());
        Self { server, proxy }
    }

    /// Where everybody reaches it.
    pub fn address(&self) -> SocketAddr {
        self.proxy.address()
    }

    /// Whether it takes writes.
    pub fn is_master(&self) -> bool {
        self.server.cmd(&["ROLE"]).array()[0].text() == "master"
    }

    /// Has the replicas of this master hear nothing of it from now on, although they stay connected. Over with the proxy's
    /// [`heal`](Proxy::heal), and a few seconds later by itself.
    #[track_caller]
    pub fn leave_replicas_behind(&self) {
        let held = self.proxy.on_each(&["REPLCONF", "ACK"], Action::HoldReply);
        eventually(Duration::from_secs(10), "both replicas are held back", || held.connections() == 2);
    }

    fn follow(&self, master: SocketAddr) {
        let (ip, port) = (master.ip().to_string(), master.port().to_string());
        assert_eq!(self.server.cmd(&["REPLICAOF", &ip, &port]).text(), "OK");
    }
}

impl Sentinels {
    /// Plain ones.
    #[track_caller]
    pub fn start() -> Self {
        Options::default().start()
    }

    /// Others.
    pub fn options() -> Options {
        Options::default()
    }

    /// `redis+sentinel://127.0.0.1:PORT,127.0.0.1:PORT,127.0.0.1:PORT/orders`
    pub fn url(&self) -> String {
        self.url_of(&[0, 1, 2])
    }

    /// The same, naming only some of the sentinels.
    pub fn url_of(&self, sentinels: &[usize]) -> String {
        let addresses: Vec<String> = sentinels.iter().map(|at| self.sentinels[*at].address().to_string()).collect();
        format!("redis+sentinel://{}/{MASTER}", addresses.join(","))
    }

    /// The number of the node that a sentinel names; `None` when it does not answer.
    pub fn named_by(&self, sentinel: usize) -> Option<usize> {
        let asked = self.sentinels[sentinel].try_cmd(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER]);
        let Ok(Reply::Array(address)) = asked else { return None };
        let port = address[1].int() as u16;
        self.nodes.iter().position(|node| node.address().port() == port)
    }

    /// The number of the node that all sentinels name.
    #[track_caller]
    pub fn master(&self) -> usize {
        let mut named = None;
        eventually(SETTLING, "the sentinels name one master", || {
            let all: Vec<Option<usize>> = (0..self.sentinels.len()).map(|at| self.named_by(at)).collect();
            named = all[0].filter(|_| all.iter().all(|other| *other == all[0]));
            named.is_some()
        });
        named.expect("found above")
    }

    /// Has the sentinels promote another server, although nothing is wrong with the master. They refuse while they are not of
    /// one mind about the last time.
    #[track_caller]
    pub fn fail_over(&self) {
        eventually(SETTLING, "a sentinel agrees to fail over", || {
            self.sentinels[0].cmd(&["SENTINEL", "FAILOVER", MASTER]) == Reply::Text("OK".into())
        });
    }

    /// Waits until a sentinel names another master than node `before`.
    #[track_caller]
    pub fn promotion(&self, before: usize, bound: Duration) -> Promotion {
        let mut found = None;
        let came = within(bound, || {
            let named = (0..self.sentinels.len()).filter_map(|at| self.named_by(at)).find(|node| *node != before);
            found = named.map(|node| Promotion { node, at: monotonic_us() });
            found.is_some()
        });
        assert!(came, "no failover within {bound:?}; a sentinel says: {}", tail(&self.sentinels[0].log()));
        found.expect("found above")
    }

    /// Waits until everything is as at the start, whichever node is the master: a failover succeeds at once.
    #[track_caller]
    pub fn settle(&self) {
        let settled = within(SETTLING, || {
            let named: Vec<Option<usize>> = (0..3).map(|at| self.named_by(at)).collect();
            let Some(master) = named[0].filter(|_| named.iter().all(|other| *other == named[0])) else { return false };
            let field = |at: usize, field| self.sentinels[at].of_master(MASTER, field);
            self.nodes[master].is_master()
                && self.nodes[master].server.info("replication", "connected_slaves") == 2
                && self.nodes.iter().enumerate().all(|(at, node)| at == master || node.is_in_sync())
                && (0..3).all(|at| {
                    field(at, "flags").as_deref() == Some("master")
                        && field(at, "num-other-sentinels").as_deref() == Some("2")
                        && self.sentinels[at].is_ready()
                })
        });
        assert!(settled, "not settled within {SETTLING:?}; a sentinel says: {}", tail(&self.sentinels[0].log()));
    }
}

impl Node {
    /// Whether it is a replica that has everything.
    fn is_in_sync(&self) -> bool {
        self.server.cmd(&["INFO", "replication"]).text().contains("master_link_status:up")
    }
}

impl Sentinel {
    /// Whether it knows two replicas that it could promote, and enough sentinels to agree on that.
    fn is_ready(&self) -> bool {
        let replicas = self.cmd(&["SENTINEL", "REPLICAS", MASTER]);
        let fit = |replica: &&Reply| {
            let Reply::Array(words) = replica else { return false };
            let field = |name: &str| words.chunks(2).find(|pair| pair[0].text() == name).map(|pair| pair[1].text());
            field("flags") == Some("slave") && field("master-link-status") == Some("ok")
        };
        let quorum = self.cmd(&["SENTINEL", "CKQUORUM", MASTER]);
        replicas.array().iter().filter(fit).count() == 2 && matches!(quorum, Reply::Text(_))
    }
}

/// The end of a log.
fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}
