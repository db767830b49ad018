//! A forked child gives no permit of its parent's back, and leaves no place of its parent's in a queue.
//!
//! In a process to itself: a fork takes only the calling thread along.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::time::Duration;

use libdlock::{Client, CountingSemaphore, ErrorKind, Result};
use libdlock_testkit::{Server, eventually};
use tokio::runtime::Builder;

const SOON: Duration = Duration::from_secs(10);

/// The child ends by itself when something in it hangs.
const CHILD_SECONDS: u32 = 20;

type Acquiring<'a> = Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

#[test]
fn a_forked_child_has_no_part_in_permits_that_are_on_their_way() {
    libdlock_testkit::own_process!();
    let server = Server::start();
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let client = runtime.block_on(Client::connect(&server.url())).unwrap();
    let other = runtime.block_on(Client::connect(&server.url())).unwrap().counting_semaphore("slots").unwrap();
    let slots = client.counting_semaphore("slots").unwrap();
    // The first was granted in the background and does not know yet; the second stands in line.
    let mut waits: Vec<Acquiring<'_>> = vec![Box::pin(slots.acquire_many(2)), Box::pin(slots.acquire_many(3))];
    let waiting = || client.stats().counting_semaphore.waiting;
    for (at, wait) in waits.iter_mut().enumerate() {
        while waiting() <= at as u64 {
            let polled = runtime.block_on(async { tokio::time::timeout(Duration::from_millis(5), &mut *wait).await });
            assert!(polled.is_err(), "{polled:?}");
        }
    }
    runtime.block_on(other.release_many(2)).unwrap();
    let seen = || runtime.block_on(other.inspect()).map(|seen| (seen.available, seen.queued)).unwrap();
    eventually(SOON, "the first is granted", || seen() == (0, 1));
    for _ in 0..3 {
        // SAFETY: the child runs only this test's code on its one thread and leaves by `_exit`. The allocator is usable in it:
        // glibc and musl see to that.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: no handler is installed, so the signal ends the child.
            unsafe { libc::alarm(CHILD_SECONDS) };
            let code = catch_unwind(AssertUnwindSafe(|| in_the_child(client, &slots, waits))).map_or(1, |()| 0);
            // SAFETY: ends the child without running the parent's exit handlers.
            unsafe { libc::_exit(code) };
        }
        let mut status = -1;
        // SAFETY: waits for the child made above; `status` outlives the call.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "the child's assertions failed, or it hung; see above");
        assert_eq!(seen(), (0, 1));
    }
    let second = waits.pop().unwrap();
    runtime.block_on(waits.pop().unwrap()).expect("granted before the fork");
    runtime.block_on(other.release_many(3)).unwrap();
    runtime.block_on(second).unwrap();
    eventually(SOON, "nobody waits", || seen() == (0, 0));
}

fn in_the_child(client: Client, slots: &CountingSemaphore, mut waits: Vec<Acquiring<'_>>) {
    let own = Builder::new_current_thread().enable_all().build().unwrap();
    let forked = |kind: ErrorKind| assert_eq!(kind, ErrorKind::Forked);
    drop(waits.pop());
    drop(waits);
    forked(own.block_on(slots.acquire()).unwrap_err().kind());
    forked(own.block_on(slots.try_acquire()).unwrap_err().kind());
    forked(own.block_on(slots.release()).unwrap_err().kind());
    forked(own.block_on(slots.add_permits(-1)).unwrap_err().kind());
    forked(own.block_on(slots.try_set_permits(1)).unwrap_err().kind());
    forked(own.block_on(slots.drain()).unwrap_err().kind());
    forked(own.block_on(slots.inspect()).unwrap_err().kind());
    drop(client);
}
