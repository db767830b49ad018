//! A forked child has no part in its parent's client of several servers, whatever that is in the middle of.
//!
//! In a process to itself: a fork takes only the calling thread along.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Waker};
use std::time::Duration;

use crate::common::quorum::{KEPT, NAME, PATIENCE, Servers};
use libdlock::{Client, ErrorKind};
use tokio::runtime::Builder;

/// The child ends by itself when something in it hangs.
const CHILD_SECONDS: u32 = 20;

#[test]
fn a_forked_child_has_no_part_in_rounds_at_several_servers() {
    libdlock_testkit::own_process!();
    let servers = Servers::start(3);
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let client = runtime.block_on(servers.ready_client(&format!("{KEPT}&lease=2s")));
    let lock = client.lock(NAME).unwrap();
    let held = client.block_on(lock.acquire()).unwrap();
    servers.servers[2].pause();
    let waits = client.lock(NAME).unwrap();
    for number in 0..10 {
        // One that nothing of the round before is in the way of.
        let tries = client.lock(&format!("other-{number}")).unwrap();
        let enter = runtime.enter();
        let mut waiting = Box::pin(waits.acquire());
        let mut trying = Box::pin(tries.try_acquire());
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        // On a busy machine it may be done already.
        let tried = trying.as_mut().poll(&mut context);
        drop(enter);
        // At a different point of their rounds each time.
        std::thread::sleep(Duration::from_micros(150 * number));
        // SAFETY: the child runs only this test's code on its one thread and leaves by `_exit`. The allocator is usable in it:
        // glibc and musl see to that.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: no handler is installed, so the signal ends the child.
            unsafe { libc::alarm(CHILD_SECONDS) };
            let url = servers.url(KEPT);
            let run = AssertUnwindSafe(|| {
                assert!(!held.is_valid());
                drop((waiting, trying, tried));
                let refused = client.block_on(lock.try_acquire()).map(drop).unwrap_err();
                assert_eq!(refused.kind(), ErrorKind::Forked);
                client.block_on(client.close());
                drop((held, lock, client));
                let own = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
                let client = own.block_on(Client::connect(&url)).unwrap();
                assert!(
                    own.block_on(client.lock(NAME).unwrap().try_acquire()).unwrap().is_none(),
                    "the parent holds it"
                );
                let third = own.block_on(client.lock("third").unwrap().acquire_timeout(PATIENCE)).unwrap();
                own.block_on(third.release()).unwrap();
            });
            let code = catch_unwind(run).map_or(1, |()| 0);
            // SAFETY: ends the child without running the parent's exit handlers.
            unsafe { libc::_exit(code) };
        }
        let mut status = -1;
        // SAFETY: waits for the child made above; `status` outlives the call.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "the child's assertions failed, or it hung; see above");
        assert!(held.is_valid(), "the parent still holds");
        drop((waiting, trying, tried));
    }
    // A few more leases.
    std::thread::sleep(Duration::from_secs(4));
    assert!(held.is_valid());
    servers.servers[2].resume();
    client.block_on(held.release()).unwrap();
    servers.nothing_is_left();
}
