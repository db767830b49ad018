use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Wake, Waker};

use super::*;
use crate::lock::Renew;
use crate::time::ManualClock;

struct Nobody;

impl Source for Nobody {
    fn lost(self: Arc<Self>, _: &Grant, _: LossReason) {}
}

fn grant(clock: &ManualClock, lease: Duration) -> Grant {
    let clock = Clock::Manual(clock.clone());
    let spec = GrantSpec {
        name: ObjectName::new("", "jobs").unwrap(),
        owner: "o:1".to_owned(),
        token: 7,
        lease,
        leased: true,
        watchdog: Some(lease),
        clock_drift: 1,
        sent: clock.now(),
        granted: clock.now(),
        echo_until: None,
        reached: Reached::default(),
        parcel: None,
    };
    Grant::new::<Renew>(spec, clock, Weak::<Nobody>::new())
}

#[test]
fn validity_ends_at_sent_plus_lease_less_the_margin_exactly() {
    let clock = ManualClock::new();
    let grant = grant(&clock, Duration::from_secs(1));
    assert_eq!(grant.remaining(), Duration::from_millis(890));
    clock.advance(Duration::from_millis(890) - Duration::from_nanos(1));
    assert!(grant.is_valid());
    assert_eq!(grant.state(), HoldState::Suspended);
    clock.advance(Duration::from_nanos(1));
    assert!(!grant.is_valid());
    assert_eq!(grant.state(), HoldState::Lost(LossReason::Expired));
}

#[test]
fn a_confirmation_prolongs_and_never_shortens() {
    let clock = ManualClock::new();
    let grant = grant(&clock, Duration::from_secs(10));
    let start = Clock::Manual(clock.clone()).now();
    grant.tenure().confirm(start.plus(Duration::from_secs(1)), Duration::from_secs(1), Duration::ZERO);
    assert_eq!(grant.remaining(), Duration::from_millis(8_990));
    clock.advance(Duration::from_secs(5));
    grant.tenure().confirm(start.plus(Duration::from_secs(5)), Duration::from_secs(10), Duration::ZERO);
    assert_eq!(grant.remaining(), Duration::from_millis(8_990));
}

#[tokio::test]
async fn the_end_comes_once_and_is_told() {
    let clock = ManualClock::new();
    let lost = grant(&clock, Duration::from_secs(1));
    assert!(lost.lose(LossReason::Taken, || ()));
    assert!(!lost.lose(LossReason::Expired, || ()) && !lost.release());
    assert_eq!(lost.lost().await, Some(LossReason::Taken));
    assert!(!lost.is_valid());
    assert!(
        !lost.tenure().confirm(Clock::Manual(clock.clone()).now(), Duration::from_secs(60), Duration::ZERO),
        "what is lost stays lost"
    );
    let released = grant(&clock, Duration::from_secs(1));
    assert!(released.begin_release());
    assert!(!released.is_valid() && !released.lose(LossReason::Deleted, || ()), "a release on its way is no loss");
    assert!(released.release());
    assert_eq!((released.lost().await, released.loss()), (None, None));
}

#[test]
fn a_loss_is_told_before_its_waiters_are_woken() {
    let grant = grant(&ManualClock::new(), Duration::from_secs(1));
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let mut waiter = Box::pin(grant.lost());
    assert!(waiter.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let mut before = None;
    assert!(grant.lose(LossReason::Taken, || before = Some(woken.0.load(Relaxed))));
    assert_eq!((before, woken.0.load(Relaxed)), (Some(false), true));
}

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn looking_at_a_grant_while_it_ends_blocks_nobody() {
    let clock = ManualClock::new();
    for _ in 0..200 {
        let grant = grant(&clock, Duration::from_secs(1));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| while grant.state() == HoldState::Held {});
            }
            scope.spawn(|| {
                grant.tenure().confirm(Tick(2_000_000_000), Duration::from_secs(1), Duration::ZERO);
                grant.lose(LossReason::Taken, || ())
            });
        });
    }
}

#[tokio::test]
async fn a_shared_hold_ends_for_each_of_its_holders_by_itself() {
    let clock = ManualClock::new();
    let first = grant(&clock, Duration::from_secs(1)).shared();
    let (second, third) = (first.join().unwrap(), first.join().unwrap());
    assert_eq!(first.token(), second.token());
    assert!(!first.leave() && !first.leave(), "others have it, and nobody leaves twice");
    assert_eq!((first.state(), first.lost().await), (HoldState::Released, None));
    assert!(!third.leave_abandoned());
    assert_eq!(third.lost().await, Some(LossReason::Closed));
    assert!(second.is_valid() && second.state() == HoldState::Held);
    let fourth = first.join().expect("one still has it");
    assert!(second.whole().lose(LossReason::Taken, || ()));
    assert_eq!((second.lost().await, fourth.lost().await), (Some(LossReason::Taken), Some(LossReason::Taken)));
    assert_eq!(first.state(), HoldState::Released, "it had left before");
    assert!(!second.leave() && fourth.leave(), "the last ends the hold");
    assert!(fourth.join().is_none());
}

#[tokio::test]
async fn a_holder_that_leaves_wakes_only_those_who_watch_its_part() {
    let clock = ManualClock::new();
    let first = grant(&clock, Duration::from_secs(1)).shared();
    let second = first.join().unwrap();
    let (leaves, stays) = (first.clone(), second.clone());
    let (left, stayed) =
        (tokio::spawn(async move { leaves.lost().await }), tokio::spawn(async move { stays.lost().await }));
    tokio::task::yield_now().await;
    first.leave();
    assert_eq!(left.await.unwrap(), None);
    tokio::task::yield_now().await;
    assert!(!stayed.is_finished());
    second.whole().lose(LossReason::Deleted, || ());
    assert_eq!(stayed.await.unwrap(), Some(LossReason::Deleted));
}

#[test]
fn a_hold_of_one_holder_cannot_be_joined() {
    let alone = grant(&ManualClock::new(), Duration::from_secs(1));
    assert!(alone.join().is_none());
    assert!(alone.leave());
}
