//! The engine with two kinds of object side by side, locks and permits that are made up for this: nothing in it is the lock's.

use std::time::Duration;

use libdlock_testkit::Server;
use tokio::task::JoinHandle;

use super::cut_off::CutOffOnDrop;
use super::permits::{CountPermits, Counts, PERMITS, Two};
use super::*;
use crate::config::Config;
use crate::context::inbox;
use crate::error::{ErrorKind, Result};
use crate::lease::LossReason;
use crate::lock::{Lock, LockOptions, Locks};

const LEASE: Duration = Duration::from_secs(30);

struct World {
    context: Arc<Context>,
    home: Arc<Home<Two>>,
    locks: Arc<Locks>,
}

impl World {
    async fn new() -> World {
        World::at("memory://").await
    }

    async fn at(url: &str) -> World {
        let context = Context::connect(Config::from_url(url).unwrap()).await.unwrap();
        let (home, locks) = (Home::start(&context), Home::start(&context));
        World { context, home, locks }
    }

    fn lock(&self, name: &str, watchdog_lease: Duration) -> Lock {
        Lock::open(&self.locks, name, LockOptions::default().watchdog_lease(watchdog_lease)).unwrap()
    }

    async fn counts(&self, object: &Contended<Two>) -> Counts {
        self.context.operate(object.name(), &CountPermits).await.unwrap().reply
    }

    fn waits(&self, object: &Arc<Contended<Two>>, holder: u64) -> JoinHandle<Result<Grant>> {
        self.waits_for(object, holder, Term::Fixed(LEASE))
    }

    fn waits_for(&self, object: &Arc<Contended<Two>>, holder: u64, term: Term) -> JoinHandle<Result<Grant>> {
        let (object, now) = (object.clone(), self.context.clock.now());
        tokio::spawn(async move { Caller::new(&object, HolderId(holder), term, now).until(now.plus(LEASE)).await })
    }

    /// A caller waits that has asked the server.
    async fn is_queued(&self, object: &Contended<Two>) {
        while object.obstacle().is_none() {
            tokio::task::yield_now().await;
        }
    }
}

async fn free(object: &Arc<Contended<Two>>, holder: u64) -> Result<()> {
    let grant = object.primitive().take(HolderId(holder)).expect("it holds a permit");
    object.release(grant, LastHolder::Caller).await
}

#[tokio::test]
async fn one_contender_gets_all_permits_that_are_free() {
    let world = World::new().await;
    let object = world.home.open("pool").unwrap();
    let all: Vec<_> = (1..=3).map(|holder| world.waits(&object, holder)).collect();
    world.is_queued(&object).await;
    assert_eq!(object.primitive().valid().len(), PERMITS);
    assert_eq!(all.iter().filter(|waiter| waiter.is_finished()).count(), PERMITS);
    free(&object, 1).await.unwrap();
    for waiter in all {
        waiter.await.unwrap().unwrap();
    }
    assert_eq!(object.primitive().valid().len(), PERMITS);
}

/// What the two want differs in their leases only, and the queue keeps the same room for both.
#[tokio::test]
async fn a_first_caller_that_leaves_costs_no_request() {
    for (world, _server) in worlds().await {
        let pool = world.home.open("pool").unwrap();
        for holder in 1..=PERMITS as u64 {
            world.waits(&pool, holder).await.unwrap().unwrap();
        }
        let first = world.waits(&pool, 3);
        world.is_queued(&pool).await;
        let next = world.waits_for(&pool, 4, Term::Renewed(LEASE));
        while pool.line().len() < 2 {
            tokio::task::yield_now().await;
        }
        let asked = world.counts(&pool).await.asked;
        first.abort();
        while pool.line().len() == 2 {
            tokio::task::yield_now().await;
        }
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        assert_eq!(world.counts(&pool).await.asked, asked);
        free(&pool, 1).await.unwrap();
        next.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_message_of_a_kind_wakes_its_waiter_in_another_client() {
    let server = Server::start();
    for url in ["memory://permits-of-two", &server.url()] {
        let (here, there) = (World::at(url).await, World::at(url).await);
        let (pool, same) = (here.home.open("pool").unwrap(), there.home.open("pool").unwrap());
        for holder in 1..=PERMITS as u64 {
            here.waits(&pool, holder).await.unwrap().unwrap();
        }
        let waiter = there.waits(&same, 3);
        there.is_queued(&same).await;
        free(&pool, 2).await.unwrap();
        assert_eq!(waiter.await.unwrap().unwrap().token(), 3);
    }
}

#[tokio::test]
async fn a_script_of_a_kind_sends_messages_that_name_it() {
    let server = Server::start();
    let world = World::at(&server.url()).await;
    let mut inbox_too = server.connect();
    inbox_too.cmd(&["SUBSCRIBE", &inbox(world.context.id())]).unwrap();
    let pool = world.home.open("pool").unwrap();
    for holder in 1..=PERMITS as u64 {
        world.waits(&pool, holder).await.unwrap().unwrap();
    }
    let waiter = world.waits(&pool, 3);
    world.is_queued(&pool).await;
    free(&pool, 1).await.unwrap();
    waiter.await.unwrap().unwrap();
    assert_eq!(inbox_too.read().unwrap().array()[2].text(), "permits:free;pool");
}

#[tokio::test]
async fn what_is_held_of_any_kind_is_released_by_close() {
    let world = World::new().await;
    let object = world.home.open("pool").unwrap();
    let grants = [world.waits(&object, 1).await.unwrap().unwrap(), world.waits(&object, 2).await.unwrap().unwrap()];
    let waiter = world.waits(&object, 3);
    world.is_queued(&object).await;
    world.context.close_releasing().await.unwrap();
    assert_eq!(waiter.await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
    let told = |grant: &Grant| !grant.is_valid() && grant.loss() == Some(LossReason::Closed);
    assert!(grants.iter().all(told), "the holders may still be at work");
    assert_eq!(object.primitive().valid().len(), 0);
}

#[tokio::test]
async fn a_holder_that_went_away_loses_its_holds_of_any_kind() {
    let world = World::new().await;
    let object = world.home.open("pool").unwrap();
    let grant = world.waits(&object, 1).await.unwrap().unwrap();
    world.context.abandon(HolderId(1));
    assert_eq!(grant.loss(), Some(LossReason::Closed));
    assert_eq!(object.primitive().valid().len(), 0);
}

/// As when the runtime is shut down, which the client may not know yet.
#[tokio::test]
async fn waiters_whose_contender_is_dropped_hear_that_it_is_closed() {
    let world = World::new().await;
    let object = world.home.open("pool").unwrap();
    for holder in 1..=PERMITS as u64 {
        world.waits(&object, holder).await.unwrap().unwrap();
    }
    let waiter = world.waits(&object, PERMITS as u64 + 1);
    world.is_queued(&object).await;
    drop(CutOffOnDrop::new(&object));
    assert_eq!(waiter.await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
}

/// Where the tests about two kinds run.
async fn worlds() -> [(World, Option<Server>); 2] {
    let server = Server::start();
    [(World::new().await, None), (World::at(&server.url()).await, Some(server))]
}

#[tokio::test]
async fn holds_of_two_kinds_are_renewed_each_by_its_own_step() {
    // Long enough for a machine that is busy with other tests.
    const SHORT: Duration = Duration::from_secs(2);
    let [(memory, _), (server, _running)] = worlds().await;
    let outlive_their_lease = async |world: World| {
        let pools: Vec<_> = (0..5).map(|number| world.home.open(&format!("pool-{number}")).unwrap()).collect();
        let (mut grants, mut locks) = (Vec::new(), Vec::new());
        for pool in &pools {
            grants.push(world.waits_for(pool, 1, Term::Renewed(SHORT)).await.unwrap().unwrap());
            locks.push(world.lock(pool.name().as_str(), SHORT).acquire().await.unwrap());
        }
        for pool in &pools {
            // One of them may be a look.
            while world.counts(pool).await.renewed < 5 {
                tokio::time::sleep(SHORT / 40).await;
            }
        }
        assert!(grants.iter().all(Grant::is_valid) && locks.iter().all(|held| held.is_valid()));
    };
    let both = async { tokio::join!(outlive_their_lease(memory), outlive_their_lease(server)) };
    tokio::time::timeout(10 * SHORT, both).await.unwrap();
}

#[tokio::test]
async fn a_hold_of_any_kind_can_be_extended() {
    for (world, _server) in worlds().await {
        let pool = world.home.open("pool").unwrap();
        let grant = world.waits(&pool, 1).await.unwrap().unwrap();
        pool.extend("extend", &grant, 2 * LEASE).await.unwrap();
        assert!(grant.remaining() > LEASE);
        assert!(world.counts(&pool).await.renewed > 0);
    }
}

#[tokio::test]
async fn queues_of_two_kinds_with_one_name_are_two() {
    for (world, server) in worlds().await {
        let (pool, lock) = (world.home.open("pool").unwrap(), world.lock("pool", LEASE));
        for holder in 1..=PERMITS as u64 {
            world.waits(&pool, holder).await.unwrap().unwrap();
        }
        let held = lock.acquire().await.unwrap();
        let waiter = world.waits(&pool, 3);
        world.is_queued(&pool).await;
        assert_eq!(lock.inspect().await.unwrap().queued, 0);
        let key = |kind: &str| pool.name().companion(kind);
        let keys = server.as_ref().map(Server::keys).unwrap_or_default();
        assert!(!keys.contains(&key("dlock_queue")));
        assert!(server.is_none() || keys.contains(&key("dlock_permits_queue")));
        held.release().await.unwrap();
        free(&pool, 1).await.unwrap();
        waiter.await.unwrap().unwrap();
    }
}
