//! Primaries of a cluster that are replaced, and slots that go to and fro, under processes that contend for locks.

use libdlock_faults::{
    failovers::{Contest, FAILOVER, FOLLOWED, Failover, Fault, LOCK, clients_of, come_back_in, fail_over_in, times},
    with_options, worker,
};
use libdlock_testkit::{Cluster, checker::violations, eventually};

/// A call lives longer than the cluster takes to see that a primary is gone, and to elect another.
const PATIENT: &str = "operation_timeout=20s";

fn start() -> (Cluster, Contest) {
    let cluster = Cluster::options(3).replicas(1).start();
    let contest = Contest::start(worker!(), &with_options(&cluster.url(), PATIENT), 3);
    (cluster, contest)
}

/// One failover under processes that contend, until everything is as it was before.
fn go_through(cluster: &mut Cluster, contest: &mut Contest, fault: Fault) -> Failover {
    let failover = fail_over_in(cluster, fault, LOCK);
    contest.all_go_on();
    come_back_in(cluster, &failover);
    contest.all_go_on();
    failover
}

fn processes_go_on_after(fault: Fault) {
    let (mut cluster, mut contest) = start();
    let failover = go_through(&mut cluster, &mut contest, fault);
    let former = &cluster.nodes[failover.former];
    eventually(FAILOVER, "nobody is left at the former primary", || clients_of(former) == 0);
    let (history, _, _) = contest.finish();
    assert_eq!(violations(&history), [], "{fault:?}");
    assert!(failover.granted_after <= FOLLOWED, "{fault:?}: granted {:?} after the promotion", failover.granted_after);
}

#[test]
fn a_failover_by_command_is_followed_at_once() {
    processes_go_on_after(Fault::Command);
}

#[test]
fn a_failover_after_kill_9_is_followed_at_once() {
    processes_go_on_after(Fault::Killed);
}

#[test]
fn a_failover_of_a_stopped_primary_is_followed_at_once() {
    processes_go_on_after(Fault::Stopped);
}

/// 50 failovers, a third of them in each way.
#[test]
#[ignore = "long: make check-long"]
fn fifty_failovers_lose_no_write_and_stop_nobody() {
    const FAILOVERS: usize = 50;
    let (mut cluster, mut contest) = start();
    let faults = [Fault::Command, Fault::Killed, Fault::Stopped].into_iter().cycle().take(FAILOVERS);
    let failovers: Vec<Failover> = faults.map(|fault| go_through(&mut cluster, &mut contest, fault)).collect();
    let (history, rounds, lost) = contest.finish();
    let times = times(&failovers);
    let (median, longest) = (times[FAILOVERS / 2], times[FAILOVERS - 1]);
    let violations = violations(&history);
    println!(
        "{FAILOVERS} failovers: {rounds} rounds, {lost} lost; {} violations; from promotion to grant {median:?} (median), \
         {longest:?} (longest)",
        violations.len()
    );
    assert_eq!(violations, []);
    assert!(longest <= FOLLOWED && median <= FOLLOWED / 4, "{times:?}");
}
