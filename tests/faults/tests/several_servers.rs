//! Faults where there is more than one server: what one server survives, the master of sentinels and a node of a cluster survive,
//! too. Failovers are in `sentinel`, `sentinel_holds` and `cluster`.

use std::{
    thread,
    time::{Duration, Instant},
};

use libdlock_faults::{Peer, SOON, is_held, slack, wait_until_waiting, waiters, with_options, worker};
use libdlock_testkit::{ClockHandle, Cluster, Reply, Sentinels, Server, access::ADMIN, eventually, temp::TempDir};

const HOUR: i64 = 3_600_000_000;

/// The servers, of which one has the lock.
enum Place {
    Sentinels(Sentinels),
    Cluster(Cluster),
}

impl Place {
    fn sentinels() -> Self {
        Self::Sentinels(Sentinels::options().clock().start())
    }

    fn cluster() -> Self {
        Self::Cluster(Cluster::options(3).clock().start())
    }

    fn url(&self, options: &str) -> String {
        match self {
            Self::Sentinels(sentinels) => with_options(&sentinels.url(), options),
            Self::Cluster(cluster) => with_options(&cluster.url(), options),
        }
    }

    /// The one that has the lock.
    fn server(&self) -> &Server {
        match self {
            Self::Sentinels(sentinels) => &sentinels.nodes[sentinels.master()].server,
            Self::Cluster(cluster) => {
                &cluster.nodes[cluster.owner_seen_by(0, cluster.slot("job")).expect("it is served")]
            }
        }
    }

    fn peer(&self, options: &str) -> Peer {
        Peer::start(worker!(), &self.url(options))
    }

    fn configure(&self, option: &str, value: &str) {
        assert_eq!(self.server().cmd(&["CONFIG", "SET", option, value]).text(), "OK");
    }
}

/// Every key expires at once.
fn a_clock_ahead_lets_in_a_higher_token(place: &Place) {
    let (mut first, mut second) = (place.peer("lease=6s"), place.peer("lease=6s"));
    let a = first.acquire("job");
    let waiting = second.start_acquire("job");
    wait_until_waiting(place.server(), "job");
    place.server().clock().advance(HOUR);
    let b = second.granted(waiting, SOON);
    assert!(b.token > a.token, "tokens increase across the jump");
    // By the next renewal, which may come before the waiter where the clock has the nodes of a cluster lose sight of each other.
    let reason = first.loss(SOON).reason;
    assert!(["taken", "deleted"].contains(&reason.as_str()), "{reason}");
    second.release("job");
    place.server().clock().advance(-HOUR);
    let c = first.acquire_after_a_loss("job");
    assert!(c.token > b.token, "tokens increase when the clock is back");
    first.release("job");
}

/// Every lease is an hour too long, until its holder renews it.
fn a_clock_back_is_mended(place: &Place) {
    const LEASE: Duration = Duration::from_secs(2);
    let (mut holder, mut waiter) = (place.peer("lease=2s"), place.peer("lease=2s"));
    let a = holder.acquire("job");
    let waiting = waiter.start_acquire("job");
    wait_until_waiting(place.server(), "job");
    place.server().clock().advance(-HOUR);
    let ttl = || place.server().cmd(&["PTTL", "job"]).int();
    eventually(SOON, "the holder mends it", || (1..=LEASE.as_millis() as i64).contains(&ttl()));
    assert_eq!(holder.loss_within(LEASE), None, "nothing is lost");
    holder.process().kill();
    let b = waiter.granted(waiting, SOON);
    assert!(b.token > a.token, "tokens increase though the clock went back");
    waiter.release("job");
}

fn a_clients_wall_clock_changes_nothing(place: &Place) {
    let dir = TempDir::new();
    let clock = ClockHandle::create(&dir.path().join("clock"));
    let url = place.url("lease=2s");
    let mut odd = Peer::start_with(worker!(), &url, &clock.environment());
    let mut other = place.peer("lease=2s");
    for step in [HOUR, -2 * HOUR] {
        let a = odd.acquire("job");
        let waiting = other.start_acquire("job");
        wait_until_waiting(place.server(), "job");
        clock.advance(step);
        assert_eq!(odd.loss_within(Duration::from_secs(4)), None, "renewed all the time, for two leases");
        odd.release("job");
        let b = other.granted(waiting, SOON);
        assert!(b.token > a.token);
        other.release("job");
    }
}

fn a_dead_head_keeps_nobody_out(place: &Place) {
    let (mut holder, mut head, mut next) = (place.peer("lease=60s"), place.peer("lease=60s"), place.peer("lease=60s"));
    holder.acquire("job");
    head.start_acquire("job");
    wait_until_waiting(place.server(), "job");
    let waiting = next.start_acquire("job");
    eventually(SOON, "both wait", || waiters(place.server(), "job") == 2);
    head.process().kill();
    let (called, _) = holder.release("job");
    let held = next.granted(waiting, SOON);
    let took = Duration::from_micros((held.acquired_at - called) as u64);
    assert!(took <= Duration::from_millis(4_000) + slack(), "{took:?}");
    next.release("job");
    assert!(!is_held(place.server(), "job"));
}

fn without_memory_holds_are_renewed_and_released(place: &Place) {
    let (mut holder, mut other) = (place.peer("lease=2s"), place.peer("lease=2s"));
    holder.acquire("job");
    place.configure("maxmemory", "1");
    assert_eq!(holder.loss_within(Duration::from_secs(4)), None, "it is renewed");
    holder.release("job");
    let (kind, _) = other.call("acquire 1 job 0 0").expect_err("there is no room");
    assert_eq!(kind, "OUT_OF_MEMORY");
    place.configure("maxmemory", "0");
    other.acquire("job");
    other.release("job");
}

/// The script takes less time than a failover.
fn a_busy_server_is_waited_for(place: &Place) {
    let mut peer = place.peer("lease=60s");
    peer.acquire("job");
    peer.release("job");
    place.configure("lua-time-limit", "50");
    let server = place.server();
    let mut busy = server.connect();
    busy.read_timeout(Some(SOON)).expect("a bound");
    busy.send(&["EVAL", "while true do end", "0"]).expect("send");
    let is_busy = || matches!(server.cmd(&["PING"]), Reply::Error(error) if error.starts_with("BUSY"));
    eventually(SOON, "it is busy", is_busy);
    let waiting = peer.start_acquire("job");
    thread::sleep(Duration::from_millis(500)); // so long it says no
    assert_eq!(peer.answer_within(waiting, Duration::ZERO), None, "nobody hears of it");
    eventually(SOON, "the script ends", || !matches!(server.cmd(&["SCRIPT", "KILL"]), Reply::Error(_)));
    peer.granted(waiting, SOON);
    peer.release("job");
}

fn without_the_right_to_publish_waiters_come_by_themselves(place: &Place) {
    let (mut holder, mut other) = (place.peer("lease=60s"), place.peer("lease=60s"));
    holder.acquire("job");
    let waiting = other.start_acquire("job");
    wait_until_waiting(place.server(), "job");
    let forbid = ["ACL", "SETUSER", "default", "-publish"];
    assert_eq!(place.server().cmd(&forbid).text(), "OK");
    if let Place::Cluster(_) = place {
        // Servers before 7.0 know no such command.
        let _ = place.server().cmd(&["ACL", "SETUSER", "default", "-spublish"]);
    }
    holder.release("job");
    other.granted(waiting, SOON);
    other.release("job");
}

macro_rules! at_both {
    ($($row:ident),+ $(,)?) => {
        mod on_sentinels {
            $(#[test] fn $row() { super::$row(&super::Place::sentinels()); })+
        }
        mod on_a_cluster {
            $(#[test] fn $row() { super::$row(&super::Place::cluster()); })+
        }
    };
}

at_both!(
    a_clock_ahead_lets_in_a_higher_token,
    a_clock_back_is_mended,
    a_clients_wall_clock_changes_nothing,
    a_dead_head_keeps_nobody_out,
    without_memory_holds_are_renewed_and_released,
    a_busy_server_is_waited_for,
    without_the_right_to_publish_waiters_come_by_themselves,
);

/// Two of three nodes are silent: the third says that the cluster is down.
#[test]
fn a_cluster_that_is_down_is_waited_for() {
    let cluster = Cluster::start();
    let node = cluster.owner_seen_by(0, cluster.slot("job")).expect("it is served");
    let mut peer = Peer::start(worker!(), &with_options(&cluster.url(), "operation_timeout=40s"));
    peer.acquire("job");
    peer.release("job");
    let others: Vec<&Server> =
        cluster.nodes.iter().enumerate().filter(|(at, _)| *at != node).map(|(_, node)| node).collect();
    others.iter().for_each(|other| other.pause());
    let is_down = || cluster.nodes[node].cmd(&["CLUSTER", "INFO"]).text().contains("cluster_state:fail");
    eventually(SOON, "the cluster is down", is_down);
    let (waiting, since) = (peer.start_acquire("job"), Instant::now());
    thread::sleep(Duration::from_millis(500)); // so long it says no
    assert_eq!(peer.answer_within(waiting, Duration::ZERO), None, "nobody hears of it");
    others.iter().for_each(|other| other.resume());
    peer.granted(waiting, 3 * SOON);
    println!("granted after {:?}", since.elapsed());
    peer.release("job");
}

/// The replica has not heard of the grant, and is promoted.
#[test]
fn a_hold_that_a_promoted_replica_lacks_is_lost() {
    let mut cluster = Cluster::options(3).replicas(1).start();
    let url = with_options(&cluster.url(), "lease=60s&operation_timeout=40s");
    let (mut first, mut second) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    let former = cluster.owner_seen_by(0, cluster.slot("job")).expect("it is served");
    let replica = cluster.replica_of(former);
    // It is still a replica, and hears nothing.
    let primary = &cluster.nodes[former];
    assert_eq!(primary.cmd(&["ACL", "SETUSER", ADMIN, "-psync", "-sync"]).text(), "OK");
    assert_eq!(primary.cmd(&["CLIENT", "KILL", "TYPE", "replica"]).int(), 1);
    let a = first.acquire("job");
    // A replica that is asked by others than clients of the cluster says what it has.
    assert_eq!(cluster.nodes[replica].cmd(&["DBSIZE"]).int(), 0, "it has not heard of the grant");
    cluster.nodes[former].stop();
    let waiting = second.start_acquire("job");
    let b = second.granted(waiting, 4 * SOON);
    assert!(b.token > a.token, "tokens increase across the failover");
    assert_eq!(first.loss(SOON).reason, "server_changed");
    second.release("job");
}
