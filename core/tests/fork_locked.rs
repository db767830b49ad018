//! A process may fork while another of its threads has one of the client's mutexes locked: nothing in the child waits for it.
//!
//! In a process to itself: its threads keep the mutexes busy, and a fork takes only the calling thread along.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use libdlock::lease::{Grant, LossReason};
use libdlock::{Client, Rate};
use tokio::runtime::Builder;

/// A child that hangs is ended by its alarm.
const CHILD_SECONDS: u32 = 5;

/// So many forks of each kind: the mutexes are locked about half of the time.
const FORKS: usize = 30;

#[test]
fn a_forked_child_waits_for_no_mutex_of_its_parent() {
    libdlock_testkit::own_process!();
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let client = runtime.block_on(Client::connect("memory://")).unwrap();
    let limiter = client.rate_limiter("api", rate()).unwrap();
    let held = client.block_on(client.lock("job").unwrap().acquire()).unwrap();
    let over = AtomicBool::new(false);
    let mut failed = Vec::new();
    thread::scope(|scope| {
        // Also when this thread panics: the scope waits for the others.
        let _over = SetOnDrop(&over);
        for _ in 0..3 {
            scope.spawn(|| keep_busy(&client, &held, &over));
        }
        for _ in 0..FORKS {
            let Some(child) = fork() else { in_the_child(|| drop(limiter)) };
            if !ended_well(child) {
                failed.push("the drop of a limiter");
                break;
            }
        }
        for _ in 0..FORKS {
            let Some(child) = fork() else { in_the_child(|| libdlock::embed::let_go(&client)) };
            if !ended_well(child) {
                failed.push("let_go");
                break;
            }
        }
        for _ in 0..FORKS {
            let Some(child) = fork() else { in_the_child(|| assert_eq!(poll_lost(&held), told_of_the_fork())) };
            if !ended_well(child) {
                failed.push("lost");
                break;
            }
        }
    });
    assert!(failed.is_empty(), "failed or hung in the child: {failed:?}");
    client.block_on(held.release()).unwrap();
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn rate() -> Rate {
    Rate::new(1, Duration::from_secs(1))
}

fn poll_lost(grant: &Grant) -> Poll<Option<LossReason>> {
    pin!(grant.lost()).poll(&mut Context::from_waker(Waker::noop()))
}

fn told_of_the_fork() -> Poll<Option<LossReason>> {
    Poll::Ready(Some(LossReason::Closed))
}

/// Locks what the children must not wait for, again and again.
fn keep_busy(client: &Client, grant: &Grant, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        drop(client.rate_limiter("busy", rate()).unwrap());
        drop(client.lock("busy").unwrap());
        for _ in 0..5 {
            assert!(poll_lost(grant).is_pending());
        }
    }
}

/// `None` in the child.
fn fork() -> Option<libc::pid_t> {
    // SAFETY: the child runs only this test's code on its one thread and leaves by `_exit`. The allocator is usable in it:
    // glibc and musl see to that.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "{}", std::io::Error::last_os_error());
    (child > 0).then_some(child)
}

fn in_the_child(run: impl FnOnce()) -> ! {
    // SAFETY: no handler is installed, so the signal ends the child.
    unsafe { libc::alarm(CHILD_SECONDS) };
    let code = catch_unwind(AssertUnwindSafe(run)).map_or(1, |()| 0);
    // SAFETY: ends the child without running the parent's exit handlers.
    unsafe { libc::_exit(code) }
}

fn ended_well(child: libc::pid_t) -> bool {
    let mut status = -1;
    // SAFETY: waits for a child of this process; `status` outlives the call.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    status == 0
}
