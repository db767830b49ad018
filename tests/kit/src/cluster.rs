//! A cluster of real servers.

use std::{net::SocketAddr, time::Duration};

use crate::{
    access,
    certificates::{Authority, Certificate},
    port, program,
    resp::Reply,
    server::{self, Server},
    wait::{eventually, within},
};

/// How many slots there are.
pub const SLOTS: u16 = 16_384;

/// How long the nodes may take to agree.
const SETTLING: Duration = Duration::from_secs(60);

/// How a cluster is to be started.
#[derive(Clone, Debug)]
pub struct Options {
    primaries: usize,
    replicas: usize,
    server: server::Options,
    tls: bool,
}

impl Options {
    /// So many replicas of each primary.
    pub fn replicas(mut self, replicas: usize) -> Self {
        self.replicas = replicas;
        self
    }

    /// Arguments for each server.
    pub fn args(mut self, args: &[&str]) -> Self {
        self.server = self.server.args(args);
        self
    }

    /// The wall clock of each node is steered by itself: see [`Server::clock`].
    pub fn clock(mut self) -> Self {
        self.server = self.server.clock();
        self
    }

    /// All nodes speak TLS as well, also with each other, and show that certificate; see [`server::Options::tls`].
    pub fn tls(mut self, shows: &Certificate, authority: &Authority, clients: &str) -> Self {
        self.server = self.server.tls(shows, authority, clients).args(&["--tls-cluster", "yes"]);
        self.tls = true;
        self
    }

    /// Starts it, and waits until every node says that all is well. The first nodes are the primaries, with a part of the slots
    /// each; replica `n` follows primary `n` modulo their number.
    #[track_caller]
    pub fn start(self) -> Cluster {
        let count = self.primaries * (1 + self.replicas);
        let nodes: Vec<Server> = (0..count).map(|_| self.node()).collect();
        let cluster = Cluster { nodes, primaries: self.primaries, tls: self.tls };
        for (at, node) in cluster.nodes[..self.primaries].iter().enumerate() {
            let (first, last) = cluster.part(at);
            let slots = (first..=last).map(|slot| slot.to_string());
            let words: Vec<String> = ["CLUSTER", "ADDSLOTS"].map(str::to_owned).into_iter().chain(slots).collect();
            assert_eq!(node.cmd(&words).text(), "OK");
            // Else they would all begin with the same epoch.
            assert_eq!(node.cmd(&["CLUSTER", "SET-CONFIG-EPOCH", &(at + 1).to_string()]).text(), "OK");
        }
        let (first, others) = cluster.nodes.split_first().expect("there is one");
        for other in others {
            let (ip, port, bus) = (first.address().ip().to_string(), first.port().to_string(), bus(first).to_string());
            assert_eq!(other.cmd(&["CLUSTER", "MEET", &ip, &port, &bus]).text(), "OK");
        }
        let know_all = |cluster: &Cluster| {
            cluster.nodes.iter().all(|node| cluster.field(node, "cluster_known_nodes") == count.to_string())
        };
        eventually(SETTLING, "the nodes know one another", || know_all(&cluster));
        for (at, replica) in cluster.nodes[self.primaries..].iter().enumerate() {
            let id = cluster.id(at % self.primaries);
            // It may not have heard of the other's slots yet.
            eventually(SETTLING, "a node becomes a replica", || {
                replica.cmd(&["CLUSTER", "REPLICATE", &id]) == Reply::Text("OK".into())
            });
        }
        cluster.settle();
        cluster
    }

    fn node(&self) -> Server {
        let bus = port::free().to_string();
        let mut args = vec!["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"];
        args.extend(["--cluster-config-file", "nodes.conf", "--repl-diskless-sync-delay", "0"]);
        // Older ones take the port above theirs by 10,000, which no outgoing connection has either.
        if program::major_version() >= 7 {
            args.extend(["--cluster-port", &bus]);
        }
        self.server.clone().args(&args).rights(access::of_cluster()).start()
    }
}

/// The port of a node's bus.
fn bus(node: &Server) -> u16 {
    if program::major_version() < 7 {
        return node.port() + 10_000;
    }
    let port = node.cmd(&["CONFIG", "GET", "cluster-port"]).array()[1].text().to_owned();
    port.parse().expect("a port")
}

/// Primaries with all slots, and their replicas.
#[derive(Debug)]
pub struct Cluster {
    /// The servers, the primaries first.
    pub nodes: Vec<Server>,
    primaries: usize,
    tls: bool,
}

impl Cluster {
    /// Three primaries without replicas.
    #[track_caller]
    pub fn start() -> Self {
        Self::options(3).start()
    }

    /// So many primaries.
    pub fn options(primaries: usize) -> Options {
        Options { primaries, replicas: 0, server: Server::options(), tls: false }
    }

    /// `redis+cluster://127.0.0.1:PORT,...`
    pub fn url(&self) -> String {
        let addresses: Vec<String> = self.nodes.iter().map(|node| node.address().to_string()).collect();
        format!("redis+cluster://{}", addresses.join(","))
    }

    /// `rediss+cluster://127.0.0.1:PORT,...`
    pub fn tls_url(&self) -> String {
        let addresses: Vec<String> = self.nodes.iter().map(|node| node.tls_address().to_string()).collect();
        format!("rediss+cluster://{}", addresses.join(","))
    }

    /// The slots that a primary has at first.
    pub fn part(&self, primary: usize) -> (u16, u16) {
        let edge = |at: usize| (usize::from(SLOTS) * at / self.primaries) as u16;
        (edge(primary), edge(primary + 1) - 1)
    }

    /// The slot of a key.
    pub fn slot(&self, key: &str) -> u16 {
        self.slot_seen_by(0, key)
    }

    /// The same, as another node says it.
    pub fn slot_seen_by(&self, asked: usize, key: &str) -> u16 {
        self.nodes[asked].cmd(&["CLUSTER", "KEYSLOT", key]).int() as u16
    }

    /// The number of the node that serves a slot, as node `asked` sees it.
    pub fn owner_seen_by(&self, asked: usize, slot: u16) -> Option<usize> {
        let served = self.nodes[asked].cmd(&["CLUSTER", "SLOTS"]);
        let range = served.array().iter().find(|range| {
            let range = range.array();
            (range[0].int()..=range[1].int()).contains(&i64::from(slot))
        })?;
        let port = range.array()[2].array()[1].int() as u16;
        self.nodes.iter().position(|node| if self.tls { node.tls_address().port() } else { node.port() } == port)
    }

    /// Whether a node is a primary in its own eyes.
    pub fn is_primary(&self, node: usize) -> bool {
        self.nodes[node].cmd(&["INFO", "replication"]).text().contains("role:master")
    }

    /// The number of a replica of a primary.
    #[track_caller]
    pub fn replica_of(&self, primary: usize) -> usize {
        let port = format!("master_port:{}\r", self.nodes[primary].port());
        let follows = |node: &Server| node.cmd(&["INFO", "replication"]).text().contains(&port);
        (0..self.nodes.len()).find(|at| *at != primary && follows(&self.nodes[*at])).expect("it has a replica")
    }

    /// Has a replica take the place of its primary, which goes on as a replica. A busy machine may take longer than the servers
    /// give each other: then it is asked for again.
    #[track_caller]
    pub fn fail_over_to(&self, replica: usize) {
        const TRIES: usize = 6;
        let promoted = (0..TRIES).any(|_| {
            assert_eq!(self.nodes[replica].cmd(&["CLUSTER", "FAILOVER"]).text(), "OK");
            within(Duration::from_secs(6), || self.is_primary(replica))
        });
        assert!(promoted, "it stays a replica: {}", self.nodes[replica].log());
    }

    /// The id of a node.
    pub fn id(&self, node: usize) -> String {
        self.nodes[node].cmd(&["CLUSTER", "MYID"]).text().to_owned()
    }

    /// How many messages of a kind all nodes have sent to others on their bus.
    pub fn sent_on_bus(&self, kind: &str) -> u64 {
        let field = format!("cluster_stats_messages_{kind}_sent");
        // A node leaves out what it has never sent.
        self.nodes.iter().filter_map(|node| self.field(node, &field).parse::<u64>().ok()).sum()
    }

    fn field(&self, node: &Server, field: &str) -> String {
        let info = node.cmd(&["CLUSTER", "INFO"]);
        let value = info.text().lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        value.unwrap_or_default().trim().to_owned()
    }

    /// Waits until every node serves requests, and each replica has what its primary has.
    #[track_caller]
    pub fn settle(&self) {
        let settled = within(SETTLING, || {
            self.nodes.iter().all(|node| {
                let role = node.cmd(&["INFO", "replication"]);
                self.field(node, "cluster_state") == "ok"
                    && self.field(node, "cluster_slots_ok") == SLOTS.to_string()
                    && (role.text().contains("role:master") || role.text().contains("master_link_status:up"))
            })
        });
        assert!(settled, "the nodes do not agree within {SETTLING:?}: {}", self.nodes[0].log());
    }

    /// Moves a slot from one primary to another with all of its keys, as `redis-cli --cluster reshard` does.
    #[track_caller]
    pub fn move_slot(&self, slot: u16, from: usize, to: usize) {
        self.begin_to_move(slot, from, to);
        self.finish_moving(slot, from, to);
    }

    /// From now on new keys of the slot belong to the other primary, which serves those who were sent there.
    #[track_caller]
    pub fn begin_to_move(&self, slot: u16, from: usize, to: usize) {
        let (number, to_id, from_id) = (slot.to_string(), self.id(to), self.id(from));
        let (source, target) = (&self.nodes[from], &self.nodes[to]);
        assert_eq!(target.cmd(&["CLUSTER", "SETSLOT", &number, "IMPORTING", &from_id]).text(), "OK");
        assert_eq!(source.cmd(&["CLUSTER", "SETSLOT", &number, "MIGRATING", &to_id]).text(), "OK");
    }

    /// Moves what is still there, and has everybody know.
    #[track_caller]
    pub fn finish_moving(&self, slot: u16, from: usize, to: usize) {
        let (number, to_id) = (slot.to_string(), self.id(to));
        let (source, target) = (&self.nodes[from], &self.nodes[to]);
        loop {
            let keys = source.cmd(&["CLUSTER", "GETKEYSINSLOT", &number, "100"]);
            let keys: Vec<String> = keys.array().iter().map(|key| key.text().to_owned()).collect();
            if keys.is_empty() {
                break;
            }
            let (ip, port) = (target.address().ip().to_string(), target.port().to_string());
            let login = ["AUTH2", access::ADMIN, "any"].map(str::to_owned);
            let head = ["MIGRATE", &ip, &port, "", "0", "5000"].map(str::to_owned);
            let words: Vec<String> = head.into_iter().chain(login).chain(["KEYS".to_owned()]).chain(keys).collect();
            let moved = source.cmd(&words);
            // NOKEY: they have run out meanwhile.
            assert!(["OK", "NOKEY"].contains(&moved.text()), "{moved:?}");
        }
        for at in [to, from] {
            assert_eq!(self.nodes[at].cmd(&["CLUSTER", "SETSLOT", &number, "NODE", &to_id]).text(), "OK");
        }
        // A node that takes the next slot before it knows how this one was taken takes it with an epoch that is too low: then two
        // nodes name each other as the owner, for good.
        eventually(SETTLING, "all nodes know who serves the slot, and since when", || {
            let epoch = self.field(&self.nodes[to], "cluster_current_epoch");
            self.nodes.iter().enumerate().all(|(at, node)| {
                self.owner_seen_by(at, slot) == Some(to) && self.field(node, "cluster_current_epoch") == epoch
            })
        });
    }

    /// Where a node listens.
    pub fn address(&self, node: usize) -> SocketAddr {
        self.nodes[node].address()
    }
}
