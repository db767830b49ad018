use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::time::Instant;

use super::*;
use crate::config::Config;
use crate::lease::{GrantSpec, HoldState};
use crate::lock::Renew;
use crate::name::ObjectName;
use crate::step::BatchStep;
use crate::time::ManualClock;

const LEASE: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_secs(10);

/// A keeper that no task runs: the tests do what it would do.
struct World {
    clock: ManualClock,
    keeper: Keeper,
    backend: Backend,
    losses: Arc<AtomicUsize>,
}

impl World {
    async fn new() -> World {
        let clock = ManualClock::new();
        let mut config = Config::from_url("memory://").unwrap();
        config.clock(clock.clone()).unwrap();
        let tasks = Tasks::new(tokio::runtime::Handle::current(), Events::default());
        let counters = Arc::new(Counters::default());
        let backend = Backend::connect(&config, &tasks, &counters).await.unwrap();
        let keeper = Keeper::new(config.clock.clone(), Events::default(), counters);
        World { clock, keeper, backend, losses: Arc::default() }
    }

    fn now(&self) -> Tick {
        self.keeper.0.clock.now()
    }

    fn on_lost(&self) -> OnLost {
        let losses = self.losses.clone();
        Box::new(move || _ = losses.fetch_add(1, Ordering::SeqCst))
    }

    fn hold(&self, number: u64) -> Grant {
        let spec = GrantSpec {
            name: ObjectName::new("", &format!("jobs/{number}")).unwrap(),
            owner: format!("client:{number}"),
            token: number,
            lease: LEASE,
            watchdog: Some(LEASE),
            sent: self.now(),
            echo_until: None,
            server_generation: 0,
        };
        let grant = Grant::new(spec, self.keeper.0.clock.clone(), self.on_lost());
        self.keeper.watch(&grant);
        grant
    }

    fn answer(&self, due: &[Due], reply: Renewed) {
        due.iter().for_each(|(grant, lease)| {
            self.keeper.settle(&self.backend, grant, *lease, self.now(), reply);
        });
    }

    fn hand_over(&self, grant: &Grant, token: u64) -> Option<Grant> {
        self.keeper.hand_over(grant, token, self.on_lost())
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
            let due = self.keeper.due(Renew::CHUNK);
            scripts += due.len().div_ceil(Renew::CHUNK);
            renewals += due.len();
            self.answer(&due, Renewed::Prolonged { left_ms: 0 });
        }
    }
}

/// The server's clock was set back: a key that lasts too long is cut by the next renewal, which comes at once, and to no less
/// than any extension that was asked for.
#[tokio::test]
async fn a_key_that_lasts_longer_than_was_ever_asked_for_is_cut_by_the_next_renewal() {
    let world = World::new().await;
    let hold = world.hold(1);
    let longer = LEASE * 3;
    assert_eq!(hold.asks_for(longer), None);
    let renewed = |left: Duration| {
        let due = world.keeper.due(Renew::CHUNK);
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
    assert!(world.keeper.due(Renew::CHUNK).is_empty(), "and then as ever");
}

#[tokio::test]
async fn what_is_due_soon_fills_a_chunk_up_and_chunks_stay_full() {
    let world = World::new().await;
    let holds: Vec<Grant> = (0..10_000)
        .map(|number| {
            world.clock.advance(INTERVAL / 10_000);
            world.hold(number)
        })
        .collect();
    let (scripts, _) = world.run_for(INTERVAL);
    assert!(scripts <= 110, "{scripts} scripts for the first renewals of 10,000");
    for _ in 0..5 {
        assert_eq!(world.run_for(INTERVAL), (100, 10_000));
    }
    // One more, and the full chunks stay as they are; two that lack some become one.
    let _odd = world.hold(10_000);
    for _ in 0..5 {
        assert_eq!(world.run_for(INTERVAL), (101, 10_001));
    }
    assert!(holds.iter().all(|grant| grant.state() == HoldState::Held));
}

#[tokio::test]
async fn one_in_ten_of_an_interval_is_the_most_that_a_renewal_comes_early() {
    let world = World::new().await;
    let _first = world.hold(1);
    world.clock.advance(INTERVAL / 10);
    let _second = world.hold(2);
    world.clock.advance(Duration::from_millis(1));
    let _third = world.hold(3);
    world.clock.advance(INTERVAL - INTERVAL / 10 - Duration::from_millis(1));
    let due: Vec<u64> = world.keeper.due(100).iter().map(|(grant, _)| grant.token()).collect();
    assert_eq!(due, [1, 2]);
}

#[tokio::test]
async fn a_renewal_that_failed_does_not_fill_another_chunk_before_its_time() {
    let world = World::new().await;
    let _failed = world.hold(1);
    world.clock.advance(Duration::from_millis(500));
    let _other = world.hold(2);
    world.clock.advance(INTERVAL - Duration::from_millis(500));
    let due = world.keeper.due(1);
    world.keeper.retry_later(&due);
    world.clock.advance(Duration::from_millis(500));
    let due = world.keeper.due(100);
    assert_eq!(due.iter().map(|(grant, _)| grant.token()).collect::<Vec<_>>(), [2]);
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
async fn a_hold_that_was_handed_over_is_released_and_the_next_has_its_lease() {
    let world = World::new().await;
    let first = world.hold(1);
    world.clock.advance(Duration::from_secs(4));
    let second = world.hand_over(&first, 2).unwrap();
    assert_eq!((first.state(), first.lost().await, first.is_valid()), (HoldState::Released, None, false));
    assert_eq!(world.losses.load(Ordering::SeqCst), 0, "a hand-over is no loss");
    assert_eq!((second.token(), second.owner(), second.state()), (2, first.owner(), HoldState::Held));
    assert_eq!((second.valid_until(), world.keeper.held()), (first.valid_until(), 1));
    assert_eq!(second.held_for(), Duration::ZERO);
    assert!(!first.lose(LossReason::Taken) && !first.begin_release(), "it is over");
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
    let due = world.keeper.due(100);
    let second = world.hand_over(&first, 2).unwrap();
    assert!(world.keeper.due(100).is_empty(), "its renewal is under way");
    world.answer(&due, Renewed::Prolonged { left_ms: 0 });
    assert_eq!(second.valid_until(), first.valid_until());
    assert!(second.remaining() > LEASE - Duration::from_secs(1));
    world.clock.advance(INTERVAL);
    let due = world.keeper.due(100);
    let third = world.hand_over(&second, 3).unwrap();
    world.answer(&due, Renewed::Absent);
    assert_eq!(third.lost().await, Some(LossReason::Deleted));
    assert_eq!((second.lost().await, world.keeper.held()), (None, 0));
    assert!(world.hand_over(&third, 4).is_none(), "what is lost stays lost");
    assert_eq!(world.losses.load(Ordering::SeqCst), 1);
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
    assert_eq!((grant.token(), world.keeper.held()), (TIMES - 1, 1_001));
}
