//! Who comes next: the order between callers and processes, and when a waiter is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::*;

#[tokio::test]
async fn neighbouring_readers_are_admitted_together() {
    for place in Place::both() {
        let locks = place.prices(6).await;
        let writes = locks[0].write().acquire().await.unwrap();
        let mut waiters = Vec::new();
        for (at, side) in [Side::Read, Side::Read, Side::Write, Side::Read].into_iter().enumerate() {
            let lock = &locks[at + 1];
            waiters.push(waits(&if side == Side::Read { lock.read() } else { lock.write() }));
            queued(&locks[0], at as u64 + 1).await;
        }
        let released = Instant::now();
        writes.release().await.unwrap();
        let mut waiters = waiters.into_iter();
        let readers = [granted(waiters.next().unwrap()).await, granted(waiters.next().unwrap()).await];
        assert!(released.elapsed() < TOLD, "{:?}", released.elapsed());
        queued(&locks[0], 2).await;
        assert!(waiters.as_slice().iter().all(|waiter| !waiter.is_finished()), "a writer and a reader behind it");
        drop(readers);
        let writes = granted(waiters.next().unwrap()).await;
        let last = waiters.next().unwrap();
        assert!(!last.is_finished());
        writes.release().await.unwrap();
        granted(last).await.release().await.unwrap();
        nothing_is_left(&locks[0]).await;
    }
}

#[tokio::test]
async fn a_reader_stands_behind_a_writer_that_waits() {
    for place in Place::both() {
        let locks = place.prices(3).await;
        let reads = locks[0].read().acquire().await.unwrap();
        let writer = waits(&locks[1].write());
        queued(&locks[0], 1).await;
        let reader = waits(&locks[2].read());
        queued(&locks[0], 2).await;
        assert!(!reader.is_finished(), "it could read beside the first");
        reads.release().await.unwrap();
        let writes = granted(writer).await;
        assert!(!reader.is_finished());
        writes.release().await.unwrap();
        granted(reader).await.release().await.unwrap();
        nothing_is_left(&locks[0]).await;
    }
}

#[tokio::test]
async fn a_writer_is_not_kept_waiting_by_a_stream_of_readers() {
    for place in Place::both() {
        let locks = place.prices(3).await;
        let taken = Arc::new(AtomicU64::new(0));
        let reading = |n: usize| {
            let (lock, taken) = (locks[n % 2].clone(), taken.clone());
            tokio::spawn(async move {
                loop {
                    let held = lock.read().acquire().await.unwrap();
                    taken.fetch_add(1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(3)).await;
                    held.release().await.unwrap();
                }
            })
        };
        let readers: Vec<_> = (0..8).map(reading).collect();
        soon("they take turns", async {
            while taken.load(Ordering::SeqCst) < 40 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        let asked = Instant::now();
        let writes = granted(waits(&locks[2].write())).await;
        assert!(asked.elapsed() < TOLD, "{:?}", asked.elapsed());
        // Nor are they by writers.
        let before = taken.load(Ordering::SeqCst);
        let again = waits(&locks[2].write());
        writes.release().await.unwrap();
        let again = granted(again).await;
        assert!(taken.load(Ordering::SeqCst) > before, "who waited in front was served");
        again.release().await.unwrap();
        readers.iter().for_each(JoinHandle::abort);
        nothing_is_left(&locks[0]).await;
    }
}

#[tokio::test]
async fn callers_of_one_process_are_served_in_order() {
    for place in Place::both() {
        let lock = &place.prices(1).await[0];
        let writes = lock.write().acquire().await.unwrap();
        let mut waiters = Vec::new();
        for (at, side) in [lock.read(), lock.write(), lock.read(), lock.read()].into_iter().enumerate() {
            waiters.push(waits(&side));
            waiting(lock, at as u64 + 1).await;
        }
        writes.release().await.unwrap();
        let mut waiters = waiters.into_iter();
        let first = granted(waiters.next().unwrap()).await;
        assert!(waiters.as_slice().iter().all(|waiter| !waiter.is_finished()));
        first.release().await.unwrap();
        let second = granted(waiters.next().unwrap()).await;
        assert!(second.side() == Side::Write && waiters.as_slice().iter().all(|waiter| !waiter.is_finished()));
        second.release().await.unwrap();
        let last = [granted(waiters.next().unwrap()).await, granted(waiters.next().unwrap()).await];
        assert_eq!(last[0].token(), last[1].token());
        drop(last);
        nothing_is_left(lock).await;
    }
}

#[tokio::test]
async fn a_non_blocking_attempt_jumps_a_head_twice_at_most() {
    for place in Place::both() {
        let locks = place.prices(3).await;
        let reads = locks[0].read().acquire().await.unwrap();
        let writer = waits(&locks[1].write());
        queued(&locks[0], 1).await;
        for _ in 0..2 {
            locks[2].read().try_acquire().await.unwrap().unwrap().release().await.unwrap();
        }
        assert!(locks[2].read().try_acquire().await.unwrap().is_none());
        reads.release().await.unwrap();
        granted(writer).await.release().await.unwrap();
        nothing_is_left(&locks[0]).await;
    }
}

#[tokio::test]
async fn a_writer_that_gives_up_lets_readers_through() {
    for place in Place::both() {
        let locks = place.prices(4).await;
        let reads = locks[0].read().acquire().await.unwrap();
        let writer = waits(&locks[1].write());
        queued(&locks[0], 1).await;
        let readers = [waits(&locks[2].read()), waits(&locks[3].read())];
        queued(&locks[0], 3).await;
        let left = Instant::now();
        writer.abort();
        for reader in readers {
            granted(reader).await.release().await.unwrap();
        }
        assert!(left.elapsed() < TOLD, "{:?}", left.elapsed());
        reads.release().await.unwrap();
        nothing_is_left(&locks[0]).await;
    }
}

/// The server keeps the whole lock for the writer that gave up. With a clock that stands still no timer helps.
#[tokio::test]
async fn a_reader_behind_a_writer_that_gives_up_is_asked_for() {
    let (client, _clock) = still_client().await;
    let lock = client.rw_lock("prices").unwrap();
    let reads = lock.read().acquire().await.unwrap();
    let writer = waits(&lock.write());
    queued(&lock, 1).await;
    let reader = waits(&lock.read());
    waiting(&lock, 2).await;
    settle().await;
    assert!(!reader.is_finished());
    writer.abort();
    granted(reader).await.release().await.unwrap();
    reads.release().await.unwrap();
    nothing_is_left(&lock).await;
}

/// The contender learns of both at once: it has not left the queue, and keeps the place of the writer.
#[tokio::test]
async fn a_reader_right_after_a_writer_that_gave_up_is_asked_for() {
    for place in Place::both() {
        let locks = place.prices(3).await;
        let reads = locks[0].read().acquire().await.unwrap();
        let writer = waits(&locks[1].write());
        queued(&locks[0], 1).await;
        let behind = waits(&locks[2].read());
        queued(&locks[0], 2).await;
        let left = Instant::now();
        writer.abort();
        let reader = waits(&locks[1].read());
        let both = [granted(reader).await, granted(behind).await];
        assert!(left.elapsed() < TOLD, "{:?}", left.elapsed());
        drop((both, reads));
        nothing_is_left(&locks[0]).await;
    }
}

/// The same the other way round: the place of a reader lets other readers pass, and a writer's does not.
#[tokio::test]
async fn a_writer_right_after_a_reader_that_gave_up_is_asked_for() {
    let place = Place::server();
    let locks = place.prices(3).await;
    let writes = locks[0].write().acquire().await.unwrap();
    let reader = waits(&locks[1].read());
    queued(&locks[0], 1).await;
    let behind = waits(&locks[2].read());
    queued(&locks[0], 2).await;
    let left = Instant::now();
    reader.abort();
    let writer = waits(&locks[1].write());
    let field = format!("want:{}", locks[1].shared.client().id());
    soon("the queue knows what it wants now", async {
        while place.server.as_ref().unwrap().cmd(&["HGET", "dlock_rw_seen:{prices}", &field]).text() == "1" {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    assert!(left.elapsed() < TOLD, "{:?}", left.elapsed());
    writes.release().await.unwrap();
    granted(writer).await.release().await.unwrap();
    granted(behind).await.release().await.unwrap();
    nothing_is_left(&locks[0]).await;
}

/// The next caller of a process wants less than the place in the queue says: those behind the process fit too.
#[tokio::test]
async fn a_writer_that_gives_up_lets_through_those_behind_its_process() {
    for place in Place::both() {
        let locks = place.prices(3).await;
        let reads = locks[2].read().acquire().await.unwrap();
        let writer = waits(&locks[0].write());
        queued(&locks[2], 1).await;
        let reader = waits(&locks[0].read());
        waiting(&locks[0], 2).await;
        let behind = waits(&locks[1].read());
        queued(&locks[2], 2).await;
        let left = Instant::now();
        writer.abort();
        let both = [granted(reader).await, granted(behind).await];
        assert!(left.elapsed() < TOLD, "{:?}", left.elapsed());
        drop(both);
        reads.release().await.unwrap();
        nothing_is_left(&locks[0]).await;
    }
}
