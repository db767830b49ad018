//! The slab and the completion port under shuttle: the very files of the library, with shuttle's primitives in the place of
//! std's, run under thousands of random interleavings. A lost wake-up shows as a deadlock.

use shuttle::sync::Arc;
use shuttle::{check_random, thread};

/// How many interleavings each property is tried with. Enough to find each of the faults described at the tests within a
/// few hundred; a second in all.
const RUNS: usize = 3_000;

/// Stands in for `src/sync.rs`.
mod sync {
    pub(crate) use shuttle::sync::{Arc, Mutex, MutexGuard};

    pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap()
    }
}

#[allow(dead_code, reason = "the library's own file; not every function is of interest here")]
#[path = "../src/slab.rs"]
mod slab;

#[allow(dead_code, reason = "as above")]
#[path = "../src/port"]
mod port {
    pub(crate) mod pending;
    pub(crate) mod queue;

    /// Stands in for `src/port/wake.rs`: a descriptor that a host blocks on.
    pub(crate) mod wake {
        use shuttle::sync::{Condvar, Mutex};

        #[derive(Default)]
        pub(crate) struct Wake {
            bytes: Mutex<u32>,
            readable: Condvar,
        }

        impl Wake {
            pub(crate) fn ring(&self) {
                let mut bytes = self.bytes.lock().unwrap();
                *bytes += 1;
                assert_eq!(*bytes, 1, "one wake-up serves a batch: never two bytes in flight");
                self.readable.notify_all();
            }

            pub(crate) fn clear(&self) {
                *self.bytes.lock().unwrap() = 0;
            }

            pub(crate) fn poll(&self) {
                let mut bytes = self.bytes.lock().unwrap();
                while *bytes == 0 {
                    bytes = self.readable.wait(bytes).unwrap();
                }
            }
        }
    }
}

use port::pending::{Advance, Pending};
use port::queue::Queue;
use port::wake::Wake;
use slab::{Missing, Slab};

/// Fails when the byte is cleared outside the mutex, or rung before the item is in.
#[test]
fn a_host_that_polls_and_drains_gets_everything_once() {
    check_random(
        || {
            let queue = Arc::new(Queue::new(Wake::default()));
            let producers: Vec<_> = (0..3)
                .map(|producer| {
                    let queue = queue.clone();
                    thread::spawn(move || (0..3).for_each(|n| queue.push(10 * producer + n).unwrap()))
                })
                .collect();
            let mut got = Vec::new();
            while got.len() < 9 {
                queue.wake().poll();
                got.extend(queue.drain(2));
            }
            producers.into_iter().for_each(|producer| producer.join().unwrap());
            for producer in 0..3 {
                let order: Vec<_> = got.iter().filter(|n| **n / 10 == producer).collect();
                assert!(order.is_sorted(), "of one producer, oldest first: {got:?}");
            }
            got.sort_unstable();
            assert_eq!(got, [0, 1, 2, 10, 11, 12, 20, 21, 22]);
        },
        RUNS,
    );
}

/// Fails when a draining submission that leaves something behind, or comes too early for it, does not see to it that it rings.
#[test]
fn what_comes_just_before_a_drain_is_drained_or_rings() {
    check_random(
        || {
            let queue = Arc::new(Queue::new(Wake::default()));
            let producer = {
                let queue = queue.clone();
                thread::spawn(move || (0..3).for_each(|n| queue.push(n).unwrap()))
            };
            let comer = {
                let queue = queue.clone();
                thread::spawn(move || {
                    let _coming = queue.coming();
                    queue.push(10).unwrap();
                    queue.drain(2)
                })
            };
            let mut got = comer.join().unwrap();
            while got.len() < 4 {
                queue.wake().poll();
                got.extend(queue.drain(1));
            }
            producer.join().unwrap();
            got.sort_unstable();
            assert_eq!(got, [0, 1, 2, 10]);
        },
        RUNS,
    );
}

/// Fails when the work is looked at and taken in two steps, or when `end` does not wait for a step that is being taken.
#[test]
fn a_cancelled_operation_has_one_completion_when_cancel_returns() {
    check_random(
        || {
            let queue = Arc::new(Queue::new(Wake::default()));
            let pending = Arc::new(Pending::new(queue.clone(), "work"));
            let working = {
                let pending = pending.clone();
                // The second step is the last one.
                thread::spawn(move || {
                    assert!(!matches!(pending.advance(|_| None), Advance::Undelivered(_)));
                    assert!(matches!(pending.advance(|_| Some("done")), Advance::Over));
                })
            };
            let cancelled = pending.end("cancelled").is_some();
            let delivered = queue.drain(10);
            assert_eq!(delivered, [if cancelled { "cancelled" } else { "done" }]);
            working.join().unwrap();
            assert!(queue.drain(10).is_empty());
        },
        RUNS,
    );
}

/// Fails when a closed queue still takes items in: what comes then would be neither drained nor undone.
#[test]
fn freeing_a_port_loses_no_result_on_the_way() {
    check_random(
        || {
            let queue = Arc::new(Queue::new(Wake::default()));
            let workers: Vec<_> = (0..3)
                .map(|n| {
                    let pending = Pending::new(queue.clone(), "work");
                    thread::spawn(move || pending.advance(|_| Some(n)))
                })
                .collect();
            let mut undone = queue.close();
            // A host that was still polling is not left asleep.
            queue.wake().poll();
            for worker in workers {
                if let Advance::Undelivered(item) = worker.join().unwrap() {
                    undone.push(item);
                }
            }
            undone.sort_unstable();
            assert_eq!(undone, [0, 1, 2], "each is either handed to who closed or given back");
        },
        RUNS,
    );
}

/// Fails when a slot's generation is not raised as it is freed.
#[test]
fn one_of_two_frees_of_a_handle_succeeds() {
    check_random(
        || {
            let slab = Arc::new(Slab::new(7));
            let first = slab.insert(Arc::new(1)).unwrap();
            let freeing: Vec<_> = (0..2)
                .map(|_| {
                    let slab = slab.clone();
                    thread::spawn(move || slab.remove(first).is_ok())
                })
                .collect();
            let reusing = {
                let slab = slab.clone();
                thread::spawn(move || slab.insert(Arc::new(2)).unwrap())
            };
            match slab.get(first) {
                Ok(value) => assert_eq!(*value, 1),
                Err(missing) => assert_eq!(missing, Missing::Removed),
            }
            let freed = freeing.into_iter().map(|thread| thread.join().unwrap());
            assert_eq!(freed.filter(|freed| *freed).count(), 1);
            let second = reusing.join().unwrap();
            assert_ne!(first, second);
            assert_eq!(*slab.get(second).unwrap(), 2);
            assert_eq!(slab.get(first), Err(Missing::Removed));
        },
        RUNS,
    );
}
