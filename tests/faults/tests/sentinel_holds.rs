//! What a failover of sentinels does to what is held and waited for: it is kept, or lost truthfully.

use std::time::Duration;

use libdlock::{Rate, Wait};
use libdlock_faults::{
    Peer, SOON, bounded, client,
    failovers::{FAILOVER, FOLLOWED, Fault},
    is_held, listeners,
    peer::held,
    wait_until_waiting, with_options, worker,
};
use libdlock_testkit::{
    Sentinels, eventually,
    resource::Register,
    sentinels::{Node, Promotion},
    temp::TempDir,
};

/// No timer is the reason for anything here: renewals are due every 20 s, waiters look every 20 s.
const QUIET: &str = "lease=60s&poll_interval=20s&queue_poll_interval=20s";

fn after(promotion: Promotion, at: i64) -> Duration {
    Duration::from_micros((at - promotion.at).max(0) as u64)
}

#[test]
fn a_hold_that_no_replica_has_is_lost_at_the_first_look() {
    let mut deployment = Sentinels::start();
    let url = with_options(&deployment.url(), QUIET);
    let (mut first, mut second) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    let dir = TempDir::new();
    let register = Register::create(&dir.path().join("register"));
    let path = dir.path().join("register").display().to_string();
    let former = deployment.master();

    deployment.nodes[former].leave_replicas_behind();
    let a = first.acquire("job");
    first.ok(&format!("write {path} {} by-the-first", a.token));
    let waiting = second.start_acquire("job");
    wait_until_waiting(&deployment.nodes[former].server, "job");
    Fault::Killed.begin(&mut deployment, former);
    let promotion = deployment.promotion(former, FAILOVER);

    let b = second.granted(waiting, SOON);
    let waited = after(promotion, b.acquired_at);
    assert!(waited <= FOLLOWED, "the waiter had the lock {waited:?} after the promotion");
    let loss = first.loss(SOON);
    let told = after(promotion, loss.told_at);
    assert!(told <= FOLLOWED, "the first holder knew {told:?} after the promotion");
    assert_eq!(loss.reason, "server_changed");
    assert!(b.token > a.token, "tokens increase across the failover");
    second.ok(&format!("write {path} {} by-the-second", b.token));
    first.call(&format!("write {path} {} too-late", a.token)).expect_err("a stale write");
    assert_eq!(register.read(), (b.token, "by-the-second".into()));
    let (kind, _) = first.call("release 1 job").expect_err("it has nothing to release");
    assert!(kind == "NOT_HELD" || kind == "LOST", "{kind}");
    assert!(second.is_valid("job"), "and touches nothing of the second's");
    second.release("job");
}

/// Three processes; the second and the third wait.
fn what_is_held_is_kept_and_waiters_go_on_after(fault: Fault) {
    let mut deployment = Sentinels::start();
    let url = with_options(&deployment.url(), QUIET);
    let mut peers: Vec<Peer> = (0..3).map(|_| Peer::start(worker!(), &url)).collect();
    let former = deployment.master();
    let a = peers[0].acquire("job");
    let second = peers[1].start_acquire("job");
    wait_until_waiting(&deployment.nodes[former].server, "job");
    let third = peers[2].start_acquire("job");
    eventually(SOON, "both wait", || libdlock_faults::waiters(&deployment.nodes[former].server, "job") == 2);
    eventually(SOON, "the replicas have heard of it", || {
        // And of both who wait: one of whom they have not heard would stand behind the other.
        let queued = |node: &Node| node.server.cmd(&["ZCARD", "dlock_queue:{job}"]).int();
        deployment.nodes.iter().all(|node| is_held(&node.server, "job") && queued(node) == 2)
    });
    fault.begin(&mut deployment, former);
    let promotion = deployment.promotion(former, FAILOVER);
    // Before the former master comes back, which would grant until it is told: whoever listens here has left it.
    let inbox = format!("dlock_inbox:{}", a.owner.rsplit_once(':').expect("an owner").0);
    eventually(SOON, "all have come to the new master", || {
        let server = &deployment.nodes[promotion.node].server;
        libdlock_faults::waiters(server, "job") == 2 && listeners(server, &inbox) == 1
    });
    fault.end(&mut deployment, former);

    assert_eq!(peers[0].loss_within(Duration::ZERO), None);
    assert!(peers[0].is_valid("job"));
    let (called, _) = peers[0].release("job");
    let b = peers[1].granted(second, SOON);
    // By a message, and not by a timer.
    assert!(b.acquired_at - called <= 1_000_000, "handed over after {} us", b.acquired_at - called);
    peers[1].release("job");
    let c = peers[2].granted(third, SOON);
    assert!(a.token < b.token && b.token < c.token);
    peers[2].release("job");
    assert!(!is_held(&deployment.nodes[promotion.node].server, "job"));
}

#[test]
fn holds_and_waiters_survive_a_stop_of_the_master() {
    what_is_held_is_kept_and_waiters_go_on_after(Fault::Stopped);
}

#[test]
fn holds_and_waiters_survive_a_failover_by_command() {
    what_is_held_is_kept_and_waiters_go_on_after(Fault::Command);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_primitive_goes_on_after_a_failover() {
    let mut deployment = Sentinels::start();
    let url = with_options(&deployment.url(), QUIET);
    let mut other = Peer::start(worker!(), &url);
    let client = client(&url).await;
    let former = deployment.master();
    let seats = client.semaphore("seats", 3).expect("a name");
    let two = seats.acquire_many(2).await.expect("acquire");
    let sides = client.rw_lock("prices").expect("a name");
    let read = sides.read().acquire().await.expect("acquire");
    let slots = client.counting_semaphore("slots").expect("a name");
    assert!(slots.try_set_permits(2).await.expect("set"));
    slots.acquire_many(2).await.expect("acquire");
    let latch = client.latch("ready").expect("a name");
    assert!(latch.try_set_count(2).await.expect("set"));
    latch.count_down().await.expect("count down");
    let limiter = client.rate_limiter("api", Rate::new(2, Duration::from_secs(3_600)).burst(2)).expect("a name");
    assert!(limiter.acquire(2, Wait::Try).await.expect("a decision").allowed);
    let taking = other.request("take 1 seats 3 2 -1");
    let writing = other.request("take-side 1 prices write -1");
    let drawing = other.request("draw slots 1 -1");
    let waiting = other.request("wait-for ready -1");
    let old = &deployment.nodes[former].server;
    let queues = ["dlock_semaphore_queue:{seats}", "dlock_rw_queue:{prices}", "dlock_counting_queue:{slots}"];
    eventually(SOON, "the other waits for all", || queues.iter().all(|queue| old.cmd(&["EXISTS", queue]).int() == 1));
    let offset = |at: usize| deployment.nodes[at].server.info("replication", "master_repl_offset");
    eventually(SOON, "the replicas have everything", || (0..3).all(|at| offset(at) == offset(former)));

    Fault::Killed.begin(&mut deployment, former);
    deployment.promotion(former, FAILOVER);
    let decision = bounded(FOLLOWED, "a decision", limiter.acquire(1, Wait::Try)).await.expect("a decision");
    assert!(!decision.allowed, "what was spent is spent");
    assert!(two.is_valid() && read.is_valid());
    for (waits, what) in [(taking, "permits"), (writing, "the write side"), (drawing, "a slot"), (waiting, "the latch")]
    {
        assert_eq!(other.answer_within(waits, Duration::ZERO), None, "{what}: it is not free");
    }
    bounded(FOLLOWED, "a release", two.release()).await.expect("release");
    bounded(FOLLOWED, "a release", read.release()).await.expect("release");
    bounded(FOLLOWED, "a release", slots.release()).await.expect("release");
    bounded(FOLLOWED, "the last count", latch.count_down()).await.expect("count down");
    held(other.answer(taking, SOON));
    held(other.answer(writing, SOON));
    other.answer(drawing, SOON).expect("a slot");
    let open = other.answer(waiting, SOON).expect("the latch");
    assert_eq!(open[0], "true");
    other.ok("give-back 1 seats");
    other.ok("leave 1 prices");
}
