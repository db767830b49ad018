//! Leases run by the machine's clock, also where a test has paused tokio's.

#![cfg(test)]

use std::future::poll_fn;
use std::pin::pin;
use std::time::{Duration, Instant};

use libdlock::lease::{HolderId, Lease};
use libdlock::lock::AcquireOptions;
use libdlock::{Client, ErrorKind};

/// A timer is over at once. Leases still run by the machine's clock, and nothing spins.
#[tokio::test(start_paused = true)]
async fn a_paused_clock_of_tokio_does_not_spin() {
    let client = Client::connect("memory://").await.unwrap();
    let lock = client.lock("job").unwrap();
    let held = lock
        .acquire_as(HolderId::fresh(), AcquireOptions::default().lease(Lease::Fixed(Duration::from_secs(60))))
        .await;
    let (start, mut polls) = (Instant::now(), 0);
    let mut acquiring = pin!(lock.acquire_timeout(Duration::from_millis(500)));
    let busy = poll_fn(|context| {
        polls += 1;
        acquiring.as_mut().poll(context)
    });
    assert_eq!(busy.await.unwrap_err().kind(), ErrorKind::Busy);
    assert!(start.elapsed() >= Duration::from_millis(499), "by the machine's clock: {:?}", start.elapsed());
    assert!(polls <= 30, "polled {polls} times in half a second");
    drop(held);
}
