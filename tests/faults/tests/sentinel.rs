//! Sentinels replace a master, which went in one of four ways, under processes that contend for a lock.

use libdlock_faults::{
    SOON,
    failovers::{Contest, FOLLOWED, Failover, Fault, LOCK, clients_of, fail_over, times, unexplained},
    worker,
};
use libdlock_testkit::{Sentinels, eventually};

/// One failover under processes that contend, until everything is as it was before.
fn go_through(deployment: &mut Sentinels, contest: &mut Contest, fault: Fault) -> Failover {
    let failover = fail_over(deployment, fault, LOCK);
    contest.all_go_on();
    // It is not what it was, and does not know yet.
    fault.end(deployment, failover.former);
    deployment.settle();
    contest.all_go_on();
    let former = &deployment.nodes[failover.former].server;
    eventually(SOON, "nobody is left at the former master", || clients_of(former) == 0);
    failover
}

fn processes_go_on_after(fault: Fault) {
    let mut deployment = Sentinels::start();
    let mut contest = Contest::start(worker!(), &deployment.url(), 3);
    let failover = go_through(&mut deployment, &mut contest, fault);
    let (history, _, _) = contest.finish();
    let (unlawful, _) = unexplained(&history, &[failover]);
    assert_eq!(unlawful, [], "{fault:?}");
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
fn a_failover_of_a_stopped_master_is_followed_at_once() {
    processes_go_on_after(Fault::Stopped);
}

#[test]
fn a_failover_after_a_network_cut_is_followed_at_once() {
    processes_go_on_after(Fault::Cut);
}

/// 50 failovers, a quarter of them in each way.
#[test]
#[ignore = "long: make check-long"]
fn fifty_failovers_lose_no_write_and_stop_nobody() {
    const FAILOVERS: usize = 50;
    let mut deployment = Sentinels::start();
    let mut contest = Contest::start(worker!(), &deployment.url(), 3);
    let faults = Fault::ALL.into_iter().cycle().take(FAILOVERS);
    let failovers: Vec<Failover> = faults.map(|fault| go_through(&mut deployment, &mut contest, fault)).collect();
    let (history, rounds, lost) = contest.finish();
    let (unlawful, conceded) = unexplained(&history, &failovers);
    let times = times(&failovers);
    let (median, longest) = (times[FAILOVERS / 2], times[FAILOVERS - 1]);
    println!(
        "{FAILOVERS} failovers: {rounds} rounds, {lost} lost; {} violations, and {conceded} of which an asynchronous failover is \
         the reason; from promotion to grant {median:?} (median), {longest:?} (longest)",
        unlawful.len()
    );
    assert_eq!(unlawful, []);
    assert!(longest <= FOLLOWED && median <= FOLLOWED / 4, "{times:?}");
}
