//! Where the faults happen: one address, the server that it leads to, and a replica that can take its place.

use std::time::Duration;

use libdlock_testkit::{
    Proxy, Reply, Server,
    wait::{monotonic_us, within},
};

use libdlock_faults::soak::contended::Contended;

use crate::storm::insist;

/// How long a replica may take to have everything, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(2);

pub struct Place {
    /// The primary.
    pub server: Server,
    /// Follows it, by the same clock.
    pub replica: Server,
    /// The clients' address.
    pub proxy: Proxy,
    pub contended: Vec<Contended>,
}

impl Place {
    pub fn start(contended: Vec<Contended>) -> Self {
        let options =
            || Server::options().args(&["--lua-time-limit", "300", "--repl-diskless-sync-delay", "0"]).debug_command();
        let server = options().clock().start();
        let replica = options().clock_of(&server).start();
        let proxy = Proxy::start(server.address());
        follow(&replica, &server);
        Self { server, replica, proxy, contended }
    }

    /// A planned failover, as operators do it: writes pause, the replica has everything, the roles change, and some time later
    /// the address leads to the new primary. Nothing is lost. False when the replica does not follow at the moment.
    pub fn hand_over(&mut self, until_the_address: Duration) -> bool {
        insist(&self.server, &["CLIENT", "UNPAUSE"]);
        if !self.is_followed() {
            return false;
        }
        let port = self.replica.port().to_string();
        if let Reply::Error(_) = self.server.cmd(&["FAILOVER", "TO", "127.0.0.1", &port, "TIMEOUT", "1000"]) {
            return false;
        }
        let state = || insist(&self.server, &["INFO", "replication"]).text().to_owned();
        let over = || state().contains("master_failover_state:no-failover");
        if !within(PATIENCE, over) {
            self.server.cmd(&["FAILOVER", "ABORT"]);
            assert!(within(PATIENCE, over), "a failover neither ends nor stops: {}", state());
        }
        if state().contains("role:master") {
            return false;
        }
        std::thread::sleep(until_the_address);
        self.swap();
        true
    }

    /// The replica is promoted without a word to the primary, whose clients stay there until the address leads to the new
    /// one: what they are granted, renew and release meanwhile is lost. Between which instants; `None` when the replica does
    /// not follow at the moment.
    pub fn fall_over(&mut self, until_the_address: Duration) -> Option<(i64, i64)> {
        insist(&self.server, &["CLIENT", "UNPAUSE"]);
        let from = monotonic_us();
        if !self.is_followed() {
            return None;
        }
        insist(&self.replica, &["REPLICAOF", "NO", "ONE"]);
        std::thread::sleep(until_the_address);
        self.swap();
        follow(&self.replica, &self.server);
        Some((from, monotonic_us()))
    }

    /// Those that are connected to the replica though the address leads elsewhere.
    pub fn strays(&self) -> Vec<String> {
        let list = insist(&self.replica, &["CLIENT", "LIST"]);
        list.text().lines().filter(|line| line.contains("name=libdlock")).map(str::to_owned).collect()
    }

    /// Whether the replica soon has what the primary has now.
    fn is_followed(&self) -> bool {
        let written = self.server.info("replication", "master_repl_offset");
        within(PATIENCE, || {
            let replication = insist(&self.replica, &["INFO", "replication"]);
            replication.text().contains("master_link_status:up")
                && self.replica.info("replication", "slave_repl_offset") >= written
        })
    }

    fn swap(&mut self) {
        self.proxy.point_at(self.replica.address());
        std::mem::swap(&mut self.server, &mut self.replica);
    }
}

fn follow(replica: &Server, primary: &Server) {
    insist(replica, &["REPLICAOF", "127.0.0.1", &primary.port().to_string()]);
}
