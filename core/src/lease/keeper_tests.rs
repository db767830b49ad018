use std::sync::Weak;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::time::Instant;

use libdlock_testkit::Server;

use super::*;
use crate::backend::Reached;
use crate::config::Config;
use crate::contended::permits::RenewPermit;
use crate::lease::{GrantSpec, HoldState, Renewal, Source, verify};
use crate::lock::Renew;
use crate::name::ObjectName;
use crate::semaphore;
use crate::stats::Held;
use crate::time::ManualClock;

#[cfg(test)]
#[path = "chunk_tests.rs"]
mod chunks;

const LEASE: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_secs(10);

/// A keeper that no task runs: the tests do what it would do.
struct World {
    clock: ManualClock,
    keeper: Keeper,
    backend: Backend,
    losses: Arc<Losses>,
}

/// Counts the losses of which it is told.
#[derive(Default)]
struct Losses(AtomicUsize);

impl Source for Losses {
    fn lost(self: Arc<Self>, _: &Grant, _: LossReason) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl World {
    async fn new() -> World {
        let clock = ManualClock::new();
        let mut config = Config::from_url("memory://").unwrap();
        config.clock(clock.clone()).unwrap();
        World::of(clock, &config).await
    }

    /// On a real server, by real time.
    async fn on(server: &Server) -> World {
        World::of(ManualClock::new(), &Config::from_url(&server.url()).unwrap()).await
    }

    async fn of(clock: ManualClock, config: &Config) -> World {
        let tasks = Tasks::new(tokio::runtime::Handle::current(), Events::default());
        let counters = Arc::new(Counters::default());
        let backend = Backend::connect(config, &tasks, &counters).await.unwrap();
        let keeper = Keeper::new(config.clock.clone(), Events::default(), counters);
        World { clock, keeper, backend, losses: Arc::default() }
    }

    fn now(&self) -> Tick {
        self.keeper.0.clock.now()
    }

    fn hold(&self, number: u64) -> Grant {
        self.hold_for(number, LEASE, Some(LEASE))
    }

    fn hold_for(&self, number: u64, lease: Duration, watchdog: Option<Duration>) -> Grant {
        self.hold_by::<Renew>(number, lease, watchdog)
    }

    /// A hold of another kind than the lock, of which a chunk holds three.
    fn hold_permit(&self, number: u64) -> Grant {
        self.hold_by::<RenewPermit>(number, LEASE, Some(LEASE))
    }

    /// A hold of so many permits of a semaphore.
    fn hold_permits(&self, number: u64, permits: u32) -> Grant {
        self.hold_as::<semaphore::Renew>(format!("client:{number}/{permits}"), number, LEASE, Some(LEASE))
    }

    fn hold_by<R: Renewal>(&self, number: u64, lease: Duration, watchdog: Option<Duration>) -> Grant {
        self.hold_as::<R>(format!("client:{number}"), number, lease, watchdog)
    }

    fn hold_as<R: Renewal>(&self, owner: String, number: u64, lease: Duration, watchdog: Option<Duration>) -> Grant {
        let spec = GrantSpec {
            name: ObjectName::new("", &format!("jobs/{number}")).unwrap(),
            owner,
            token: number,
            lease,
            leased: true,
            watchdog,
            clock_drift: 1,
            sent: self.now(),
            granted: self.now(),
            echo_until: None,
            reached: Reached::default(),
            parcel: None,
        };
        let losses: Weak<Losses> = Arc::downgrade(&self.losses);
        let grant = Grant::new::<R>(spec, self.keeper.0.clock.clone(), losses);
        self.keeper.watch(&grant);
        grant
    }

    fn answer(&self, due: &[ToRenew], reply: Renewed) {
        due.iter().for_each(|(grant, lease)| {
            self.keeper.settle(&self.backend, grant, *lease, self.now(), reply);
        });
    }

    fn hand_over(&self, grant: &Grant, token: u64) -> Option<Grant> {
        self.keeper.hand_over(grant, token)
    }

    /// What the keeper takes out to renew, chunk after chunk.
    fn due(&self) -> Vec<ToRenew> {
        self.keeper.due(&self.backend).into_iter().flat_map(|chunk| chunk.holds).collect()
    }

    fn was_woken(&self) -> bool {
        let notified = std::pin::pin!(self.keeper.0.changed.notified());
        notified.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// Runs the keeper for a time; every renewal is answered at once. How many scripts that takes, and how many renewals.
    fn run_for(&self, time: Duration) -> (usize, usize) {
        let (until, mut scripts, mut renewals) = (self.now().plus(time), 0, 0);
        loop {
            let next = self.keeper.0.lock().arm();
            if next > until {
                self.clock.advance(until.since(self.now()));
                return (scripts, renewals);
            }
            self.clock.advance(next.since(self.now()));
            for Chunk { holds, .. } in self.keeper.due(&self.backend) {
                scripts += 1;
                renewals += holds.len();
                self.answer(&holds, Renewed::Prolonged { left_ms: 0 });
            }
        }
    }
}

/// The connection for messages breaks again and again.
#[tokio::test]
async fn all_holds_are_verified_once_a_second_at_most() {
    let world = World::new().await;
    let _held: Vec<Grant> = (0..10).map(|number| world.hold(number)).collect();
    world.clock.advance(Duration::from_millis(100));
    let verified = |after: Duration| {
        world.clock.advance(after);
        world.keeper.verify_all_if_asked();
        world.run_for(Duration::from_millis(50)).1
    };
    world.keeper.verify_all();
    assert_eq!(verified(Duration::ZERO), 10, "the first is at once");
    for _ in 0..5 {
        world.keeper.verify_all();
        assert!(world.was_woken(), "its task has another time to wait for");
        assert_eq!(verified(Duration::from_millis(100)), 0);
    }
    assert_eq!(verified(Duration::from_millis(250)), 10, "the others are one, when a second has passed");
    assert_eq!(verified(verify::PAUSE * 2), 0, "and nothing is left of them");
    world.keeper.verify_all();
    assert_eq!(verified(Duration::ZERO), 10, "at once again");
}

/// The server's clock was set back: a key that lasts too long is cut by the next renewal, which comes at once, and to no less
/// than any extension that was asked for.
#[tokio::test]
async fn a_key_that_lasts_too_long_is_cut_by_the_next_renewal() {
    let world = World::new().await;
    let hold = world.hold(1);
    let longer = LEASE * 3;
    assert_eq!(hold.asks_for(longer), None);
    let renewed = |left: Duration| {
        let due = world.due();
        assert_eq!(due.len(), 1);
        world.answer(&due, Renewed::Prolonged { left_ms: left.as_millis() as u64 });
    };
    world.clock.advance(INTERVAL);
    renewed(longer);
    assert_eq!(hold.asks_for(LEASE), None, "an extension may have been carried out");
    world.clock.advance(INTERVAL);
    renewed(longer + Duration::from_secs(3600));
    assert_eq!(hold.asks_for(LEASE), Some(longer));
    world.clock.advance(Duration::from_millis(20));
    renewed(longer);
    assert_eq!(hold.asks_for(LEASE), None);
    world.clock.advance(Duration::from_millis(20));
    assert!(world.due().is_empty(), "and then as ever");
}

#[tokio::test]
async fn holds_of_two_kinds_are_counted_apart() {
    let world = World::new().await;
    let (_lock, permits) = (world.hold(1), [world.hold_permit(2), world.hold_permit(3)]);
    let held = || (world.keeper.held::<Renew>(), world.keeper.held::<RenewPermit>());
    assert_eq!(held(), (1, 2));
    world.clock.advance(INTERVAL);
    let due = world.due();
    world.answer(&due, Renewed::Prolonged { left_ms: 0 });
    assert_eq!((due.len(), held()), (3, (1, 2)), "while they are renewed, too");
    world.keeper.forget(&permits[0]);
    assert_eq!(held(), (1, 1));
    world.keeper.0.lose(&permits[1], LossReason::Taken);
    assert_eq!(world.keeper.0.counters.snapshot(Held::default()).lock.lost, 0);
    world.keeper.end(LossReason::Closed);
    assert_eq!((held(), world.keeper.0.counters.snapshot(Held::default()).lock.lost), ((0, 0), 1));
}

#[tokio::test]
async fn a_lease_below_the_watchdogs_is_renewed_before_it_ends() {
    let world = World::new().await;
    let hold = world.hold_for(1, LEASE / 10, Some(LEASE));
    world.clock.advance(LEASE / 30 - Duration::from_millis(1));
    assert!(world.due().is_empty());
    world.clock.advance(Duration::from_millis(1));
    let due = world.due();
    assert_eq!(due.len(), 1, "at a third of the lease that runs");
    world.answer(&due, Renewed::Prolonged { left_ms: 0 });
    assert_eq!((hold.lease(), world.run_for(INTERVAL)), (LEASE, (1, 1)));
}

/// What it asks for is next to nothing; how soon it is repeated follows from the lease that the hold has.
#[tokio::test]
async fn a_hold_that_could_not_be_verified_is_tried_again() {
    let server = Server::start();
    let world = World::on(&server).await;
    let hold = world.hold_for(1, Duration::from_secs(24 * 3600), None);
    server.cmd(&["ACL", "SETUSER", "default", "-evalsha", "-eval"]);
    world.keeper.verify(&hold);
    let due = loop {
        let next = world.keeper.0.lock().arm();
        assert!(next.since(world.now()) < Duration::from_secs(1), "it is verified at once");
        world.keeper.0.clock.sleep_until(next).await;
        if let Some(due) = world.keeper.due(&world.backend).pop() {
            break due;
        }
    };
    world.keeper.renew(&world.backend, due).await;
    let next = world.keeper.0.lock().arm();
    let pause = next.since(world.now());
    assert!(pause > LONGEST_RETRY * 9 / 10 && pause <= LONGEST_RETRY, "{pause:?}");
    assert_eq!(hold.state(), HoldState::Held);
}

#[tokio::test]
async fn everything_is_asked_for_at_once_when_the_server_changed() {
    const MANY: u64 = 2 * TAKEN_AT_ONCE as u64 + 7;
    let world = World::new().await;
    let holds: Vec<Grant> = (1..=MANY).map(|number| world.hold(number)).collect();
    world.clock.advance(Duration::from_millis(1));
    world.keeper.ask_for(|_| true).await;
    let mut asked = 0;
    while asked < holds.len() {
        let due = world.due();
        assert!(!due.is_empty(), "{asked} of {MANY}");
        asked += due.len();
        world.answer(&due, Renewed::Prolonged { left_ms: 0 });
    }
    assert!(world.due().is_empty(), "each once");
}

#[tokio::test]
async fn only_what_has_moved_is_asked_for() {
    const MANY: u64 = 2 * TAKEN_AT_ONCE as u64 + 7;
    let world = World::new().await;
    let _holds: Vec<Grant> = (1..=MANY).map(|number| world.hold(number)).collect();
    world.clock.advance(Duration::from_millis(1));
    world.keeper.ask_for(|grant| grant.token() % 700 == 0).await;
    let mut asked: Vec<u64> = world.due().iter().map(|(grant, _)| grant.token()).collect();
    asked.sort_unstable();
    assert_eq!(asked, [700, 1400]);
}

#[tokio::test]
async fn a_hold_wakes_the_keeper_only_when_it_would_sleep_too_long() {
    let world = World::new().await;
    world.keeper.0.lock().arm();
    let first = world.hold(1);
    assert!(world.was_woken());
    world.keeper.0.lock().arm();
    let later = world.hold(2);
    world.keeper.forget(&first);
    world.keeper.forget(&later);
    for number in 3..10 {
        world.clock.advance(Duration::from_millis(1));
        world.keeper.forget(&world.hold(number));
    }
    assert!(!world.was_woken(), "an uncontended lock wakes nobody");
}

#[tokio::test]
async fn a_hold_handed_over_is_released_and_the_next_has_its_lease() {
    let world = World::new().await;
    let first = world.hold(1);
    world.clock.advance(Duration::from_secs(4));
    let second = world.hand_over(&first, 2).unwrap();
    assert_eq!((first.state(), first.lost().await, first.is_valid()), (HoldState::Released, None, false));
    assert_eq!(world.losses.0.load(Ordering::SeqCst), 0, "a hand-over is no loss");
    assert_eq!((second.token(), second.owner(), second.state()), (2, first.owner(), HoldState::Held));
    assert_eq!((second.valid_until(), world.keeper.held::<Renew>()), (first.valid_until(), 1));
    assert_eq!(second.since(), world.now());
    assert!(!first.lose(LossReason::Taken, || ()) && !first.begin_release(), "it is over");
    assert!(world.hand_over(&first, 3).is_none(), "only who holds can hand over");
    assert_eq!(world.run_for(INTERVAL - Duration::from_secs(4)), (1, 1));
    assert!(second.begin_release());
    assert!(world.hand_over(&second, 3).is_none(), "a release has begun");
}

#[tokio::test]
async fn what_is_under_way_for_a_hold_is_its_successors() {
    let world = World::new().await;
    let first = world.hold(1);
    world.clock.advance(INTERVAL);
    let due = world.due();
    let second = world.hand_over(&first, 2).unwrap();
    assert!(world.due().is_empty(), "its renewal is under way");
    world.answer(&due, Renewed::Prolonged { left_ms: 0 });
    assert_eq!(second.valid_until(), first.valid_until());
    assert!(second.remaining() > LEASE * 9 / 10 - Duration::from_secs(1));
    world.clock.advance(INTERVAL);
    let due = world.due();
    let third = world.hand_over(&second, 3).unwrap();
    world.answer(&due, Renewed::Gone);
    assert_eq!(third.lost().await, Some(LossReason::Deleted));
    assert_eq!((second.lost().await, world.keeper.held::<Renew>()), (None, 0));
    assert!(world.hand_over(&third, 4).is_none(), "what is lost stays lost");
    assert_eq!(world.losses.0.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn nothing_is_handed_over_after_its_validity_or_to_nobody() {
    let world = World::new().await;
    let late = world.hold(1);
    world.clock.advance(LEASE);
    assert!(world.hand_over(&late, 2).is_none());
    let last = world.hold(3);
    world.keeper.end(LossReason::Closed);
    assert!(world.hand_over(&last, 4).is_none());
    assert_eq!(late.loss(), Some(LossReason::Closed));
}

#[tokio::test]
async fn one_who_waits_for_the_end_is_told_of_the_hand_over() {
    let world = World::new().await;
    let first = world.hold(1);
    let told = tokio::spawn({
        let first = first.clone();
        async move { first.lost().await }
    });
    tokio::task::yield_now().await;
    let _second = world.hand_over(&first, 2).unwrap();
    assert_eq!(told.await.unwrap(), None);
}

/// `cargo test --release -p libdlock --lib keeper -- --nocapture` says what a hand-over costs.
#[tokio::test]
async fn a_lock_can_go_round_for_long() {
    const TIMES: u64 = 100_000;
    let world = World::new().await;
    let others: Vec<Grant> = (0..1_000).map(|number| world.hold(number)).collect();
    let mut grant = world.hold(1_000);
    let start = Instant::now();
    for token in 0..TIMES {
        grant = world.hand_over(&grant, token).unwrap();
    }
    println!("a hand-over among {} holds: {} ns", others.len(), start.elapsed().as_nanos() as u64 / TIMES);
    assert_eq!((grant.token(), world.keeper.held::<Renew>()), (TIMES - 1, 1_001));
}
