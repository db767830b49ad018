//! Masters that go while processes contend for a lock, and what came of it.

use std::time::Duration;

use libdlock_testkit::{
    Cluster, Hold, Sentinels, Server,
    checker::{Violation, violations},
    eventually,
    resource::Register,
    sentinels::Promotion,
    temp::TempDir,
    wait::{monotonic_us, within},
};

use crate::{Peer, SOON, peer::number};

/// How a master goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The sentinels are told to promote another one. The master goes on until they make it a replica.
    Command,
    /// `kill -9`. It comes back empty.
    Killed,
    /// SIGSTOP. It comes back as it was, and does not know what happened meanwhile.
    Stopped,
    /// The network to it is cut: nothing arrives, nothing is refused. It comes back as after a stop.
    Cut,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 4] = [Fault::Command, Fault::Killed, Fault::Stopped, Fault::Cut];

    /// Begins. Whatever follows must not need the server.
    pub fn begin(self, deployment: &mut Sentinels, master: usize) {
        match self {
            Fault::Command => deployment.fail_over(),
            Fault::Killed => deployment.nodes[master].server.stop(),
            Fault::Stopped => deployment.nodes[master].server.pause(),
            Fault::Cut => deployment.nodes[master].proxy.hold_all(),
        }
    }

    /// The former master is there again.
    pub fn end(self, deployment: &mut Sentinels, master: usize) {
        match self {
            Fault::Command => {}
            Fault::Killed => deployment.nodes[master].server.start_again(),
            Fault::Stopped => deployment.nodes[master].server.resume(),
            Fault::Cut => deployment.nodes[master].proxy.heal(),
        }
    }
}

/// So long a failover may take that nobody has to wait for a second try of.
pub const FAILOVER: Duration = Duration::from_secs(30);

/// So long after sentinels named another master everything goes on there. Far less if nothing else keeps the machine busy.
pub const FOLLOWED: Duration = Duration::from_secs(2);

/// What was seen of one failover.
#[derive(Clone, Copy, Debug)]
pub struct Failover {
    /// What began it.
    pub fault: Fault,
    /// The number of the node that was the master.
    pub former: usize,
    /// When sentinels first named another master, and which.
    pub promotion: Promotion,
    /// From then until the new master granted the lock.
    pub granted_after: Duration,
}

/// Has the master go, and waits for the first grant of its successor. The former one does not come back yet.
#[track_caller]
pub fn fail_over(deployment: &mut Sentinels, fault: Fault, lock: &str) -> Failover {
    let former = deployment.master();
    fault.begin(deployment, former);
    let promotion = deployment.promotion(former, FAILOVER);
    let granted_after = first_grant(&deployment.nodes[promotion.node].server, lock, promotion.at);
    Failover { fault, former, promotion, granted_after }
}

/// Has the primary go that serves the lock, and waits for the first grant of the replica in its place. Not by a cut, which has to
/// be on the bus as well.
#[track_caller]
pub fn fail_over_in(cluster: &mut Cluster, fault: Fault, lock: &str) -> Failover {
    let former = cluster.owner_seen_by(0, cluster.slot(lock)).expect("it is served");
    let node = cluster.replica_of(former);
    match fault {
        Fault::Command => cluster.fail_over_to(node),
        Fault::Killed => cluster.nodes[former].stop(),
        Fault::Stopped => cluster.nodes[former].pause(),
        Fault::Cut => unreachable!("not in a cluster"),
    }
    assert!(
        within(FAILOVER, || cluster.is_primary(node)),
        "no failover within {FAILOVER:?}: {}",
        cluster.nodes[node].log()
    );
    let promotion = Promotion { node, at: monotonic_us() };
    let granted_after = first_grant(&cluster.nodes[node], lock, promotion.at);
    Failover { fault, former, promotion, granted_after }
}

/// The former primary is there again, and becomes a replica.
#[track_caller]
pub fn come_back_in(cluster: &mut Cluster, failover: &Failover) {
    match failover.fault {
        Fault::Command | Fault::Cut => {}
        Fault::Killed => cluster.nodes[failover.former].start_again(),
        Fault::Stopped => cluster.nodes[failover.former].resume(),
    }
    eventually(FAILOVER, "the former primary becomes a replica", || !cluster.is_primary(failover.former));
    cluster.settle();
}

/// From `since` until the server grants the lock, when it has been promoted: what comes by replication it has by then.
#[track_caller]
fn first_grant(server: &Server, lock: &str, since: i64) -> Duration {
    let token = || server.cmd(&["GET", &format!("redisson_lock_token:{{{lock}}}")]);
    let before = token();
    let granted = within(SOON, || token() != before);
    // What stands in the way, to be read in the failure.
    let holder = || server.cmd(&["HGETALL", lock]);
    let queue = || server.cmd(&["ZRANGE", &format!("dlock_queue:{{{lock}}}"), "0", "-1"]);
    assert!(granted, "not granted within {SOON:?}: held by {:?}, waited for by {:?}", holder(), queue());
    Duration::from_micros((monotonic_us() - since) as u64)
}

/// Processes that contend for one lock for as long as the test lasts.
#[derive(Debug)]
pub struct Contest {
    dir: TempDir,
    peers: Vec<Peer>,
    requests: Vec<u64>,
    holds: Vec<Hold>,
}

/// The lock that they contend for.
pub const LOCK: &str = "job";

impl Contest {
    /// So many processes.
    #[track_caller]
    pub fn start(program: &str, url: &str, processes: usize) -> Self {
        let dir = TempDir::new();
        let register = dir.path().join("register");
        Register::create(&register);
        let mut peers: Vec<Peer> = (0..processes).map(|_| Peer::start(program, url)).collect();
        let take_part = format!("take-part 1 {LOCK} {}", register.display());
        let requests = peers.iter_mut().map(|peer| peer.request(&take_part)).collect();
        let mut contest = Self { dir, peers, requests, holds: Vec::new() };
        eventually(SOON, "all have had the lock", || contest.have_all_held());
        contest
    }

    fn have_all_held(&mut self) -> bool {
        self.read();
        let mut who: Vec<&str> = self.holds.iter().map(|hold| hold.who.as_str()).collect();
        who.sort_unstable();
        who.dedup();
        who.len() == self.peers.len()
    }

    fn read(&mut self) {
        self.holds.extend(self.peers.iter_mut().flat_map(Peer::holds));
    }

    /// Waits until each process has held the lock once more.
    #[track_caller]
    pub fn all_go_on(&mut self) {
        self.read();
        let kept = std::mem::take(&mut self.holds);
        eventually(SOON, "all have had the lock again", || self.have_all_held());
        self.holds.splice(0..0, kept);
    }

    /// Ends it: every process must come to its end. The history, how many rounds there were, and how many of them were lost. No
    /// write of a holder is missing in the register.
    #[track_caller]
    pub fn finish(mut self) -> (Vec<Hold>, i64, i64) {
        self.peers.iter_mut().for_each(|peer| drop(peer.ok("that-is-all")));
        let (mut rounds, mut lost) = (0, 0);
        for (peer, request) in self.peers.iter_mut().zip(&self.requests) {
            let values = peer.answer(*request, SOON).expect("nothing happens but what a failover may bring");
            rounds += number(&values[0]);
            lost += number(&values[1]);
        }
        self.read();
        let (token, value) = Register::open(&self.dir.path().join("register")).read();
        let highest = self.holds.iter().map(|hold| hold.token).max().expect("holds");
        assert!(token >= highest, "the write with token {highest} was acknowledged and is lost behind {token}");
        assert_eq!(value, token.to_string());
        (self.holds, rounds, lost)
    }
}

/// The connections that libdlock has on a server.
pub fn clients_of(server: &Server) -> usize {
    let list = server.cmd(&["CLIENT", "LIST"]);
    list.text().lines().filter(|line| line.contains("name=libdlock")).count()
}

/// From each promotion to the next grant, the shortest time first.
pub fn times(failovers: &[Failover]) -> Vec<Duration> {
    let mut times: Vec<Duration> = failovers.iter().map(|failover| failover.granted_after).collect();
    times.sort_unstable();
    times
}

/// What is wrong with a history, less what an asynchronous failover is known to do: a master that is replaced while it works
/// grants for as long as its clients have not heard of it, and its successor knows nothing of these grants.
///
/// What remains is a defect.
pub fn unexplained(history: &[Hold], failovers: &[Failover]) -> (Vec<Violation>, usize) {
    // The sentinels look at a replica every second when they have told it to be a master.
    const BEFORE: i64 = 3_000_000;
    // The clients have left by then.
    const AFTER: i64 = 2_000_000;
    let is_conceded = |violation: &Violation| {
        let (Violation::Overlap(_, second) | Violation::Token(_, second)) = violation else { return false };
        failovers.iter().filter(|failover| failover.fault == Fault::Command).any(|failover| {
            (failover.promotion.at - BEFORE..failover.promotion.at + AFTER).contains(&second.acquired_at)
        })
    };
    let (conceded, rest): (Vec<_>, Vec<_>) = violations(history).into_iter().partition(is_conceded);
    (rest, conceded.len())
}
