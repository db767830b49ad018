//! A forked child has no part in its parent's client: both would hold with one owner and one token.
//!
//! In a process to itself: a fork takes only the calling thread along.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use libdlock::lease::{Grant, HoldState, HolderId, LossReason};
use libdlock::lock::AcquireOptions;
use libdlock::{Client, ErrorKind, Held, HeldAll, IdGenerator, Latch, Lock, LockAll, Rate, Wait, embed};
use libdlock_testkit::Server;
use tokio::runtime::Builder;

/// The child ends by itself when something in it hangs.
const CHILD_SECONDS: u32 = 20;

#[test]
fn a_forked_child_is_refused_with_an_open_client_of_its_parent() {
    libdlock_testkit::own_process!();
    let server = Server::start();
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let client = runtime.block_on(Client::connect(&server.url())).unwrap();
    let (lock, other) = (client.lock("job").unwrap(), client.lock("other").unwrap());
    let held = client.block_on(lock.acquire()).unwrap();
    let (all, latch) = (client.lock_all(["one", "two"]).unwrap(), client.latch("ready").unwrap());
    let both = client.block_on(all.acquire()).unwrap();
    let ids = client.id_generator("ids").unwrap();
    assert_eq!(client.block_on(ids.next_id()).unwrap(), 1);
    assert!(client.block_on(latch.try_set_count(1)).unwrap());
    let waiter = runtime.spawn({
        let latch = latch.clone();
        async move { latch.wait().await }
    });
    let listening = || server.cmd(&["PUBSUB", "NUMSUB", "redisson_countdownlatch__channel__{ready}"]).array()[1].int();
    libdlock_testkit::eventually(Duration::from_secs(10), "it waits", || listening() == 1);
    let grant: Grant = (*held).clone();
    for _ in 0..3 {
        // SAFETY: the child runs only this test's code on its one thread and leaves by `_exit`. The allocator is usable in it:
        // glibc and musl see to that.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: no handler is installed, so the signal ends the child.
            unsafe { libc::alarm(CHILD_SECONDS) };
            let url = server.url();
            let run = AssertUnwindSafe(|| {
                several_and_a_latch(&all, both, &latch);
                no_ids(&ids);
                in_the_child(&url, client, lock, &other, held);
            });
            let code = catch_unwind(run).map_or(1, |()| 0);
            // SAFETY: ends the child without running the parent's exit handlers.
            unsafe { libc::_exit(code) };
        }
        let mut status = -1;
        // SAFETY: waits for the child made above; `status` outlives the call.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "the child's assertions failed, or it hung; see above");
        assert_eq!(server.cmd(&["HKEYS", "job"]).array()[0].text(), grant.owner(), "the parent still holds");
        assert!(grant.is_valid() && held.state() == HoldState::Held);
        assert_eq!(server.cmd(&["EXISTS", "other"]).int(), 0, "the child took nothing");
        assert!(both.is_valid() && server.cmd(&["EXISTS", "one", "two"]).int() == 2, "the child gave nothing back");
        assert_eq!(server.cmd(&["GET", "ready"]).text(), "1");
    }
    assert_eq!(client.block_on(latch.count_down()).unwrap(), 0);
    assert_eq!(client.block_on(ids.next_ids(2)).unwrap(), [2, 3]);
    client.block_on(waiter).unwrap().unwrap();
    client.block_on(both.release()).unwrap();
    client.block_on(held.release()).unwrap();
    client.block_on(async { lock.acquire().await?.release().await }).unwrap();
}

fn several_and_a_latch(all: &LockAll, both: HeldAll, latch: &Latch) {
    let own = Builder::new_current_thread().enable_all().build().unwrap();
    let forked = |kind: ErrorKind| assert_eq!(kind, ErrorKind::Forked);
    let now = AcquireOptions::default().wait(Wait::Try);
    forked(own.block_on(all.acquire_as(HolderId::fresh(), now)).unwrap_err().kind());
    forked(own.block_on(all.acquire()).unwrap_err().kind());
    forked(own.block_on(all.release_as(both.holder())).unwrap_err().kind());
    forked(own.block_on(both.extend(Duration::from_secs(1))).unwrap_err().kind());
    assert_eq!((both.is_valid(), both.remaining(), all.hold_count(both.holder())), (false, Duration::ZERO, 0));
    assert_eq!(own.block_on(both.lost()).map(|lost| lost.reason), Some(LossReason::Closed));
    forked(own.block_on(both.release()).unwrap_err().kind());
    forked(own.block_on(latch.try_set_count(1)).unwrap_err().kind());
    forked(own.block_on(latch.count_down()).unwrap_err().kind());
    forked(own.block_on(latch.count()).unwrap_err().kind());
    forked(own.block_on(latch.wait()).unwrap_err().kind());
    forked(own.block_on(latch.wait_timeout(Duration::from_millis(10))).unwrap_err().kind());
    forked(own.block_on(latch.delete()).unwrap_err().kind());
}

/// Its parent would give out the same.
fn no_ids(ids: &IdGenerator) {
    let own = Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(own.block_on(ids.next_id()).unwrap_err().kind(), ErrorKind::Forked);
    assert_eq!(own.block_on(ids.next_ids(9_000)).unwrap_err().kind(), ErrorKind::Forked);
    assert_eq!((ids.block_size(), ids.name()), (5_000, "ids"));
    drop(ids.clone());
}

fn in_the_child(url: &str, client: Client, lock: Lock, other: &Lock, held: Held) {
    let own = Builder::new_current_thread().enable_all().build().unwrap();
    let forked = |kind: ErrorKind| assert_eq!(kind, ErrorKind::Forked);
    let (me, now) = (held.holder(), AcquireOptions::default().wait(Wait::Try));
    forked(client.block_on(other.acquire_as(HolderId::fresh(), now)).unwrap_err().kind());
    forked(client.block_on(other.acquire()).unwrap_err().kind());
    forked(own.block_on(other.try_acquire()).unwrap_err().kind());
    forked(own.block_on(lock.acquire_as(me, now)).unwrap_err().kind());
    forked(embed::reenter(&lock, me).unwrap_err().kind());
    forked(own.block_on(held.extend(Duration::from_secs(1))).unwrap_err().kind());
    forked(own.block_on(lock.force_release()).unwrap_err().kind());
    forked(own.block_on(lock.inspect()).unwrap_err().kind());
    forked(own.block_on(lock.detach_as(me)).unwrap_err().kind());
    forked(own.block_on(lock.attach_as(HolderId::fresh(), "dlock1;w;30000;1;a:1;job")).unwrap_err().kind());
    forked(own.block_on(lock.release_as(me)).unwrap_err().kind());
    forked(client.lock("new").unwrap_err().kind());
    forked(client.rate_limiter("new", Rate::new(1, Duration::from_secs(1))).unwrap_err().kind());
    forked(own.block_on(client.close_releasing()).unwrap_err().kind());
    assert_eq!(
        (lock.hold_count(me), lock.grant_of(me).is_none(), embed::release_reentry(&lock, me, None)),
        (0, true, false)
    );
    assert_eq!((held.is_valid(), held.remaining(), held.loss()), (false, Duration::ZERO, Some(LossReason::Closed)));
    assert_eq!(own.block_on(held.lost()), Some(LossReason::Closed));
    embed::release_in_background(&lock, me, held.token());
    embed::abandon(&lock, me);
    embed::abandon_all(&client, me);
    assert_eq!(client.stats().lock.held, 0);
    own.block_on(client.close());
    forked(client.block_on(held.release()).unwrap_err().kind());
    drop((lock, client));
    let client = own.block_on(Client::connect(url)).unwrap();
    let lock = client.lock("childs").unwrap();
    own.block_on(async { lock.acquire().await?.release().await }).unwrap();
}
