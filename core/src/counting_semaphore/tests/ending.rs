//! Callers that go away, and clients that close: no permit is left with nobody.

use std::sync::{Arc, Mutex};

use super::*;
use libdlock_testkit::{Action, Proxy};

use crate::Config;
use crate::contended::place::dropped_after;
use crate::counting_semaphore::MAX_PERMITS;

/// The events of a client, with the names that they are about.
pub(super) type Told = Arc<Mutex<Vec<String>>>;

pub(super) async fn client_that_tells(url: &str) -> (Client, Told) {
    let (told, mut config) = (Told::default(), Config::from_url(url).unwrap());
    let seen = told.clone();
    config.on_event(Arc::new(move |event| seen.lock().unwrap().push(format!("{:?}: {}", event.name, event.message))));
    (Client::connect_with(config).await.unwrap(), told)
}

/// What was said of permits that may be missing.
fn warnings(told: &Told) -> Vec<String> {
    let about = |event: &&String| event.starts_with("Some(\"slots\"): ") && event.contains("may be missing");
    told.lock().unwrap().iter().filter(about).cloned().collect()
}

#[tokio::test]
async fn an_acquire_dropped_at_any_point_gives_its_permits_back() {
    for place in Place::both() {
        let slots = &place.slots(1, 2).await[0];
        let mut finished = 0;
        for polls in 0..200 {
            for wait in [Wait::Forever, Wait::Try] {
                let acquiring = async { slots.acquire_within(2, wait).await.unwrap() };
                if dropped_after(polls, acquiring).await {
                    finished += 1;
                    slots.release_many(2).await.unwrap();
                }
                all_are_back(slots, 2).await;
            }
        }
        assert!(finished > 0, "no acquire came to its end");
    }
}

/// The grant meets a caller that leaves.
#[tokio::test]
async fn a_wait_dropped_at_any_point_gives_its_permits_back() {
    for place in Place::both() {
        let slots = place.slots(2, 0).await;
        for polls in 0..60 {
            let releasing = async {
                for _ in 0..polls / 2 {
                    tokio::task::yield_now().await;
                }
                slots[0].release_many(2).await.unwrap();
            };
            let (acquired, ()) = tokio::join!(dropped_after(polls, slots[1].acquire_many(2)), releasing);
            if !acquired {
                slots[0].acquire_many(2).await.unwrap();
            }
            all_are_back(&slots[0], 0).await;
        }
    }
}

#[tokio::test]
async fn callers_that_leave_a_common_request_cost_no_permit() {
    for place in Place::both() {
        let slots = place.slots(2, 0).await;
        for round in 0..20 {
            let callers: Vec<_> = (0..6).map(|caller| (caller, waits(&slots[1], 1 + (round + caller) % 3))).collect();
            waiting(&slots[1], 6).await;
            let releasing = slots[0].release_many(6 * 3);
            callers.iter().filter(|(at, _)| at % 2 == 1).for_each(|(_, caller)| caller.abort());
            releasing.await.unwrap();
            let mut taken = 0;
            for (at, caller) in callers {
                if let Ok(acquired) = soon("a caller is granted, or has left", caller).await {
                    acquired.unwrap();
                    taken += 1 + (round + at) % 3;
                }
            }
            all_are_back(&slots[0], i64::from(18 - taken)).await;
            assert_eq!(slots[0].drain().await.unwrap(), i64::from(18 - taken));
        }
    }
}

#[tokio::test]
async fn a_release_that_is_dropped_goes_on() {
    for place in Place::both() {
        let slots = &place.slots(1, 0).await[0];
        for polls in 1..20 {
            dropped_after(polls, slots.release()).await;
            all_are_back(slots, polls as i64).await;
        }
    }
}

/// A caller that is granted, and is not polled for longer than its acquire is remembered, cannot give its permits back.
#[tokio::test]
async fn permits_that_cannot_be_given_back_any_more_are_warned_of() {
    let place = Place::server();
    let server = place.server.as_ref().unwrap();
    let others = &place.slots(1, 0).await[0];
    let (client, events) = client_that_tells(&place.url).await;
    let slots = client.counting_semaphore("slots").unwrap();
    let acquiring = granted_unpolled(&slots, others).await;
    server.cmd(&["DEL", DONE]);
    drop(acquiring);
    soon("the warning", async {
        while events.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    assert_eq!(warnings(&events), *events.lock().unwrap());
    assert_eq!(warnings(&events).len(), 1, "{events:?}");
    assert_eq!(others.available().await.unwrap(), 0);
}

/// Others brought so many meanwhile that there is no room for all: Redisson counts in an `int`.
#[tokio::test]
async fn what_is_given_back_leaves_no_more_than_there_can_be() {
    for place in Place::both() {
        let slots = place.slots(2, 0).await;
        for (added, expected) in [(MAX_PERMITS, MAX_PERMITS), (MAX_PERMITS - 1, MAX_PERMITS), (5, 6)] {
            let acquiring = granted_unpolled(&slots[1], &slots[0]).await;
            slots[0].release_many(added).await.unwrap();
            drop(acquiring);
            all_are_back(&slots[0], expected.into()).await;
            settle().await;
            assert_eq!(slots[0].drain().await.unwrap(), i64::from(expected));
        }
    }
}

/// It may have been granted on the server, which the client can no longer tell.
#[tokio::test]
async fn an_undo_that_is_owed_when_the_client_goes() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let others = Client::connect(&server.url()).await.unwrap().counting_semaphore("slots").unwrap();
    others.release().await.unwrap();
    for closes in [false, true] {
        let url = format!("{}?response_timeout=3s&operation_timeout=3s", proxy.url());
        let (client, told) = client_that_tells(&url).await;
        let slots = client.counting_semaphore("slots").unwrap();
        slots.available().await.unwrap();
        let held = proxy.on(&["slots", "/1"], Action::HoldRequest);
        let undone = proxy.on_each(&["slots", "/1"], Action::Pass);
        assert!(slots.try_acquire().await.is_err());
        held.expect(SOON);
        soon("the first undo", async {
            while undone.hits() == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        slots.available().await.expect("answered behind it");
        settle().await;
        assert_eq!(warnings(&told), [""; 0], "there is another to come when the bytes can arrive no more");
        if closes {
            client.close().await;
        }
        drop((slots, client));
        // A client that closes is not waited for, one that nobody uses any more goes on in the background.
        soon("the warning, or the last undo", async {
            while warnings(&told).is_empty() && undone.hits() < 2 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        settle().await;
        assert_eq!(warnings(&told).len(), usize::from(closes), "{told:?}");
        proxy.heal();
    }
}

#[tokio::test]
async fn a_client_that_closes_leaves_the_queue_to_others() {
    for place in Place::both() {
        let clients = [place.client().await, place.client().await, place.client().await];
        let slots = clients.each_ref().map(|client: &Client| client.counting_semaphore("slots").unwrap());
        slots[0].add_permits(1).await.unwrap();
        let many = waits(&slots[1], 2);
        queued(&slots[0], 1).await;
        let behind = waits(&slots[2], 1);
        queued(&slots[0], 2).await;
        clients[1].close().await;
        assert_eq!(soon("the refusal", many).await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
        granted(behind).await;
        all_are_back(&slots[0], 0).await;
        assert_eq!(slots[1].acquire().await.unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(slots[1].release().await.unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(slots[1].available().await.unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(slots[1].drain().await.unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(slots[1].try_set_permits(1).await.unwrap_err().kind(), ErrorKind::Closed);
    }
}

/// They have no owner who could be told.
#[tokio::test]
async fn permits_stay_taken_when_the_client_closes() {
    for place in Place::both() {
        let clients = [place.client().await, place.client().await];
        let slots = clients.each_ref().map(|client| client.counting_semaphore("slots").unwrap());
        slots[0].add_permits(2).await.unwrap();
        slots[0].acquire().await.unwrap();
        clients[0].close_releasing().await.unwrap();
        assert_eq!(slots[1].available().await.unwrap(), 1);
        slots[1].release().await.unwrap();
        assert_eq!(slots[1].available().await.unwrap(), 2);
    }
}
