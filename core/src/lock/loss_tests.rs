//! A loss is told to its holder once; then the holder may acquire again, and nothing of the lost hold ends the new one.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{AcquireOptions, HolderId, Lock};
use crate::backend::Reached;
use crate::error::{ErrorKind, Result};
use crate::lease::{GrantSpec, Lease, LossReason};
use crate::time::ManualClock;
use crate::wait::Wait;
use crate::{Client, Config};

struct Lossy {
    clock: ManualClock,
    client: Client,
    events: Arc<Mutex<Vec<String>>>,
    lock: Lock,
    holder: HolderId,
}

impl Lossy {
    async fn new() -> Lossy {
        let clock = ManualClock::new();
        let mut config = Config::from_url("memory://?lease=10s").unwrap();
        config.clock(clock.clone()).unwrap();
        let events = Arc::<Mutex<Vec<String>>>::default();
        let seen = events.clone();
        config.on_event(Arc::new(move |event| seen.lock().unwrap().push(event.message.clone())));
        let client = Client::connect_with(config).await.unwrap();
        let lock = client.lock("jobs").unwrap();
        Lossy { clock, client, events, lock, holder: HolderId::fresh() }
    }

    async fn acquire(&self) -> Result<u64> {
        let how = AcquireOptions { wait: Wait::For(Duration::from_secs(5)), lease: None };
        self.lock.acquire_as(self.holder, how).await.map(|held| held.into_grant().token())
    }

    async fn lose(&self) {
        let grant = self.lock.grant_of(self.holder).unwrap();
        self.clock.advance(Duration::from_secs(3600));
        grant.lost().await.expect("lost");
    }

    async fn refused(&self) -> ErrorKind {
        self.acquire().await.unwrap_err().kind()
    }
}

#[tokio::test]
async fn a_hold_count_of_zero_tells_of_the_loss() {
    let lossy = Lossy::new().await;
    let lost = lossy.acquire().await.unwrap();
    lossy.lose().await;
    assert_eq!(lossy.lock.hold_count(lossy.holder), 0);
    assert!(lossy.acquire().await.unwrap() > lost);
    assert_eq!(lossy.lock.hold_count(lossy.holder), 1);
    lossy.lock.release_as(lossy.holder).await.unwrap();
}

/// A loss is announced a little before the end of validity: from then on the holder is told that it holds nothing.
#[tokio::test]
async fn an_announced_loss_is_a_loss() {
    let lossy = Lossy::new().await;
    let how = AcquireOptions { wait: Wait::Try, lease: Some(Lease::Fixed(Duration::from_secs(10))) };
    let grant = lossy.lock.acquire_as(lossy.holder, how).await.unwrap().into_grant();
    for _ in 0..100_000 {
        if grant.loss().is_some() {
            break;
        }
        lossy.clock.advance(Duration::from_millis(1));
        tokio::task::yield_now().await;
    }
    assert!(grant.loss().is_some() && grant.is_valid(), "announced");
    assert_eq!(lossy.lock.hold_count(lossy.holder), 0);
    let early = lossy.lock.acquire_as(lossy.holder, how).await.map(drop).unwrap_err();
    assert_eq!(early.kind(), ErrorKind::Busy, "{early}");
    lossy.clock.advance(Duration::from_secs(60));
    lossy.acquire().await.unwrap();
}

#[tokio::test]
async fn an_acquire_tells_of_the_loss_once() {
    let lossy = Lossy::new().await;
    lossy.acquire().await.unwrap();
    lossy.lose().await;
    assert_eq!(lossy.refused().await, ErrorKind::Lost);
    lossy.acquire().await.unwrap();
}

/// The server says so before the timer does.
#[tokio::test]
async fn a_loss_that_an_acquire_finds_is_told_as_one() {
    let lossy = Lossy::new().await;
    let how = AcquireOptions { wait: Wait::Try, lease: Some(Lease::Fixed(Duration::from_secs(10))) };
    lossy.lock.acquire_as(lossy.holder, how).await.unwrap().into_grant();
    lossy.client.lock("jobs").unwrap().force_release().await.unwrap();
    let longer = AcquireOptions { lease: Some(Lease::Fixed(Duration::from_secs(20))), ..how };
    let error = lossy.lock.acquire_as(lossy.holder, longer).await.map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
    lossy.acquire().await.unwrap();
}

/// The release comes before the timer: nothing else runs between the end of the lease and the call.
#[tokio::test]
async fn a_loss_that_a_release_finds_is_an_event() {
    let lossy = Lossy::new().await;
    let token = lossy.acquire().await.unwrap();
    lossy.clock.advance(Duration::from_secs(3600));
    let released = lossy.lock.release_as(lossy.holder).await;
    assert_eq!(released.unwrap_err().kind(), ErrorKind::NotHeld);
    let events = lossy.events.lock().unwrap();
    let told: Vec<_> = events.iter().filter(|event| event.starts_with("lost while held")).collect();
    assert_eq!(told, [&format!("lost while held, token {token}: {}", LossReason::Expired)]);
    assert_eq!(lossy.client.stats().lock.lost, 1);
}

#[tokio::test]
async fn an_extend_tells_of_the_loss() {
    let lossy = Lossy::new().await;
    lossy.acquire().await.unwrap();
    lossy.lose().await;
    let extended = lossy.lock.extend_as(lossy.holder, Duration::from_secs(20)).await;
    assert_eq!(extended.unwrap_err().kind(), ErrorKind::NotHeld);
    lossy.acquire().await.unwrap();
}

/// Scopes end in the opposite order: the release of the inner one is of the new hold, that of the outer one of the lost one.
#[tokio::test]
async fn nested_scopes_release_each_their_own_hold() {
    let lossy = Lossy::new().await;
    lossy.acquire().await.unwrap();
    lossy.lose().await;
    assert_eq!(lossy.refused().await, ErrorKind::Lost);
    lossy.acquire().await.unwrap();
    lossy.lock.release_as(lossy.holder).await.unwrap();
    assert!(lossy.lock.inspect().await.unwrap().holder.is_none());
    let outer = lossy.lock.release_as(lossy.holder).await.unwrap_err();
    assert_eq!(outer.kind(), ErrorKind::NotHeld);
    assert!(outer.message().contains("lease ran out"), "{outer}");
}

#[tokio::test]
async fn the_guard_of_a_lost_hold_does_not_end_the_next_hold() {
    let lossy = Lossy::new().await;
    let lost = lossy.lock.acquire_as(lossy.holder, AcquireOptions::default()).await.unwrap();
    lossy.lose().await;
    assert_eq!(lossy.lock.hold_count(lossy.holder), 0);
    let token = lossy.acquire().await.unwrap();
    let again = lossy.lock.acquire_as(lossy.holder, AcquireOptions::default()).await.unwrap();
    drop(lost);
    assert_eq!(lossy.lock.hold_count(lossy.holder), 2);
    drop(again);
    assert_eq!(lossy.lock.grant_of(lossy.holder).map(|grant| (grant.token(), grant.is_valid())), Some((token, true)));
    assert_eq!(lossy.lock.hold_count(lossy.holder), 1);
}

#[tokio::test]
async fn losses_that_nobody_releases_do_not_add_up() {
    let lossy = Lossy::new().await;
    for _ in 0..200 {
        lossy.acquire().await.unwrap();
        lossy.lose().await;
        assert_eq!(lossy.lock.hold_count(lossy.holder), 0);
    }
    let mut releases = 0;
    while lossy.lock.grant_of(lossy.holder).is_some() && releases < 10 {
        releases += 1;
        assert_eq!(lossy.lock.release_as(lossy.holder).await.unwrap_err().kind(), ErrorKind::NotHeld);
    }
    assert!(releases <= 2, "{releases}");
}

/// The answer of the server before comes after everything was asked for on the present one: that did not include this hold.
#[tokio::test]
async fn a_grant_by_the_server_before_is_verified_at_once() {
    let lossy = Lossy::new().await;
    let lease = Duration::from_secs(24 * 3600);
    let grant = lossy.lock.shared.admit(GrantSpec {
        name: lossy.lock.shared.name().clone(),
        owner: lossy.lock.client().next_owner(),
        token: 1,
        lease,
        leased: true,
        watchdog: None,
        clock_drift: 1,
        sent: lossy.lock.client().clock.now(),
        granted: lossy.lock.client().clock.now(),
        echo_until: None,
        reached: Reached { generation: 1, moves: 1 },
        parcel: None,
    });
    for _ in 0..1_000 {
        lossy.clock.advance(Duration::from_millis(1));
        tokio::task::yield_now().await;
        if grant.loss().is_some() {
            break;
        }
    }
    assert_eq!(grant.loss(), Some(LossReason::ServerChanged));
}

/// What a client gives up when it closes is what is held, and not what was lost before.
#[tokio::test]
async fn a_loss_is_remembered_when_the_client_closes() {
    let lossy = Lossy::new().await;
    lossy.acquire().await.unwrap();
    lossy.lose().await;
    let other = HolderId::fresh();
    lossy.lock.acquire_as(other, AcquireOptions::default()).await.unwrap().into_grant();
    lossy.client.close_releasing().await.unwrap();
    let of = |holder| lossy.lock.grant_of(holder).map(|grant| grant.loss());
    assert_eq!((of(lossy.holder), of(other)), (Some(Some(LossReason::Expired)), None));
}

/// The test runs on a thread of its own, because an attach that deadlocks never returns.
#[test]
fn an_attach_tells_of_the_loss_once() {
    let (returned, outcome) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        returned.send(runtime.block_on(attach_twice_after_a_loss())).unwrap();
    });
    let (refused, detached, attached) = outcome.recv_timeout(Duration::from_secs(20)).expect("attach returns");
    assert_eq!(refused, ErrorKind::Lost);
    assert_eq!(attached, detached, "the second attach gets the hold with its token");
}

async fn attach_twice_after_a_loss() -> (ErrorKind, u64, u64) {
    let lossy = Lossy::new().await;
    lossy.acquire().await.unwrap();
    lossy.lose().await;
    let other = HolderId::fresh();
    let held = lossy.lock.acquire_as(other, AcquireOptions::default()).await.unwrap();
    let token = held.into_grant().token();
    let text = lossy.lock.detach_as(other).await.unwrap();
    let refused = lossy.lock.attach_as(lossy.holder, &text).await.map(drop).unwrap_err();
    let attached = lossy.lock.attach_as(lossy.holder, &text).await.unwrap().into_grant();
    (refused.kind(), token, attached.token())
}
