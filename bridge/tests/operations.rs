//! The operations over handles, on `memory://`: what the bridge adds to core.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use libdlock::ErrorKind;
use libdlock::lease::{HolderId, LossReason};
use libdlock_bridge::ops::{self, Holding, LogTo};
use libdlock_bridge::{Handle, HandleKind, Interrupt, Outcome, State, What, enter, this_thread};

/// What events of the tests' clients carry.
const MINE: u64 = 77;

fn client(state: &'static State, log_port: Option<Handle>) -> Handle {
    let log = log_port.map(|port| LogTo { port, user_data: MINE });
    let opening = ops::client_open(state, "memory://".to_owned(), Vec::new(), log);
    state.wait(opening, None).unwrap()
}

fn lock(state: &'static State, client: Handle, name: &str) -> Handle {
    ops::lock_open(state, client, name.as_bytes(), None, None, None).unwrap()
}

fn try_by(state: &'static State, lock: Handle, holder: HolderId) -> libdlock::Result<ops::Held> {
    state.wait(ops::lock_acquire(state, lock, Holding::ByHolder(holder), Some(0), None), None)
}

#[test]
fn a_thread_is_a_holder_and_another_is_another() {
    assert_eq!(this_thread(), this_thread());
    assert_ne!(std::thread::spawn(this_thread).join().unwrap(), this_thread());
}

#[test]
fn a_thread_s_hold_outlives_every_handle_of_its_lock() {
    let state = enter().unwrap();
    let client = client(state, None);
    let made = || lock(state, client, "kept");
    let first = made();
    let held = try_by(state, first, this_thread()).unwrap();
    state.free(HandleKind::Held, held.handle).unwrap();
    state.free(HandleKind::Lock, first).unwrap();
    let again = made();
    assert_eq!(try_by(state, again, HolderId::fresh()).unwrap_err().kind(), ErrorKind::Busy);
    assert_eq!(ops::lock_hold_count(state, again, this_thread()).unwrap(), 1);
    state.wait(ops::lock_release(state, again, this_thread(), None), None).unwrap();
    try_by(state, again, HolderId::fresh()).unwrap();
}

#[test]
fn a_hold_ends_with_the_last_handle_of_client_and_lock() {
    let state = enter().unwrap();
    let opening = || ops::client_open(state, "memory://kept-no-longer?lease=200ms".to_owned(), Vec::new(), None);
    let (mine, other) = (state.wait(opening(), None).unwrap(), state.wait(opening(), None).unwrap());
    let held_lock = lock(state, mine, "kept");
    let held = try_by(state, held_lock, this_thread()).unwrap();
    for free in [
        state.free(HandleKind::Held, held.handle),
        state.free(HandleKind::Lock, held_lock),
        state.free(HandleKind::Client, mine),
    ] {
        free.unwrap();
    }
    let waiting = lock(state, other, "kept");
    let by = Holding::ByHolder(HolderId::fresh());
    state.wait(ops::lock_acquire(state, waiting, by, Some(5_000), None), None).expect("nobody renews the first hold");
}

#[test]
fn objects_outlive_the_handles_they_were_made_from() {
    let state = enter().unwrap();
    let client = client(state, None);
    let lock = lock(state, client, "outlive");
    state.free(HandleKind::Client, client).unwrap();
    let held = try_by(state, lock, this_thread()).unwrap();
    state.free(HandleKind::Lock, lock).unwrap();
    assert!(ops::held_valid(state, held.handle).unwrap());
    assert_eq!(ops::held_token(state, held.handle).unwrap(), held.token);
    assert_eq!(
        state.wait(ops::lock_release(state, lock, this_thread(), None), None).unwrap_err().kind(),
        ErrorKind::Closed
    );
    state.free(HandleKind::Held, held.handle).unwrap();
}

#[test]
fn an_interrupt_ends_a_wait_and_leaves_nothing() {
    let state = enter().unwrap();
    let lock = lock(state, client(state, None), "interrupt");
    let holder = HolderId::fresh();
    try_by(state, lock, holder).unwrap();
    let mut asked = 0;
    let mut check = || {
        asked += 1;
        asked == 2
    };
    let waiting = ops::lock_acquire(state, lock, Holding::ByHolder(this_thread()), None, None);
    let interrupt = Interrupt { every: Duration::from_millis(5), check: &mut check };
    assert_eq!(state.wait(waiting, Some(interrupt)).unwrap_err().kind(), ErrorKind::Cancelled);
    state.wait(ops::lock_release(state, lock, holder, None), None).unwrap();
    try_by(state, lock, HolderId::fresh()).unwrap();
}

#[test]
fn a_null_handle_is_told_from_one_that_never_was() {
    let state = enter().unwrap();
    let refused = |handle| ops::semaphore_name(state, handle).unwrap_err();
    let (null, wild) = (refused(0), refused(1));
    assert_eq!((null.kind(), wild.kind()), (ErrorKind::InvalidArgument, ErrorKind::InvalidArgument));
    let text = "null was given where a semaphore belongs: it was not made, or it was moved from or released";
    assert_eq!((null.message(), wild.message()), (text, "this is no semaphore of libdlock"));
}

#[test]
fn the_library_may_be_used_while_a_wait_asks_its_host() {
    let state = enter().unwrap();
    let lock = lock(state, client(state, None), "handler");
    let holder = HolderId::fresh();
    try_by(state, lock, holder).unwrap();
    let mut asked = 0;
    // As a signal handler does that releases what the wait is for.
    let mut check = || {
        asked += 1;
        if asked == 1 {
            state.wait(ops::lock_release(state, lock, holder, None), None).unwrap();
        }
        false
    };
    let waiting = ops::lock_acquire(state, lock, Holding::ByHolder(this_thread()), None, None);
    state.wait(waiting, Some(Interrupt { every: Duration::from_millis(5), check: &mut check })).unwrap();
    assert_eq!(asked, 1);
}

#[test]
fn only_a_hold_of_a_handle_is_released_through_it() {
    let state = enter().unwrap();
    let lock = lock(state, client(state, None), "owners");
    let of_thread = try_by(state, lock, this_thread()).unwrap();
    let refused = state.wait(ops::held_release(state, of_thread.handle), None).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    state.wait(ops::lock_release(state, lock, this_thread(), None), None).unwrap();
    let of_handle = state.wait(ops::lock_acquire(state, lock, Holding::ByHandle, Some(0), None), None).unwrap();
    assert_eq!(try_by(state, lock, this_thread()).unwrap_err().kind(), ErrorKind::Busy);
    state.wait(ops::held_release(state, of_handle.handle), None).unwrap();
    assert_eq!(state.wait(ops::held_wait_lost(state, of_handle.handle, None), None).unwrap(), None);
    try_by(state, lock, this_thread()).unwrap();
}

#[test]
fn a_grant_that_nobody_drained_is_released_with_its_port() {
    let state = enter().unwrap();
    let lock = lock(state, client(state, None), "undrained");
    let port = state.port_new().unwrap();
    let (granted, was_granted) = mpsc::channel();
    let acquiring = ops::lock_acquire(state, lock, Holding::ByHandle, None, None);
    let submitted = async move {
        let held = acquiring.await?;
        granted.send(held.handle).unwrap();
        Ok(Outcome::Held(held))
    };
    state.submit(port, 0, submitted).unwrap();
    let handle = was_granted.recv_timeout(Duration::from_secs(5)).unwrap();
    state.free(HandleKind::Port, port).unwrap();
    // Waits for the release in the background.
    let next = ops::lock_acquire(state, lock, Holding::ByHolder(this_thread()), Some(5_000), None);
    state.wait(next, None).unwrap();
    assert_eq!(ops::held_valid(state, handle).unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn the_end_of_a_holding_thread_ends_its_hold_here_and_warns() {
    let state = enter().unwrap();
    let port = state.port_new().unwrap();
    let lock = lock(state, client(state, Some(port)), "ended");
    let held = std::thread::spawn(move || try_by(state, lock, this_thread()).unwrap()).join().unwrap();
    assert!(!ops::held_valid(state, held.handle).unwrap());
    let warned = state.drain(port, 100).unwrap().into_iter().any(|completion| match completion.what {
        What::Log(event) => {
            assert_eq!((completion.op, completion.user_data), (0, MINE));
            event.level >= libdlock::event::Level::Warn && event.name.as_deref() == Some("ended")
        }
        What::Done(_) => false,
    });
    assert!(warned);
    // The lease goes on: nobody else has the lock.
    assert_eq!(try_by(state, lock, this_thread()).unwrap_err().kind(), ErrorKind::Busy);
}

#[test]
fn a_holder_that_the_host_saw_end_is_abandoned() {
    let state = enter().unwrap();
    let client = client(state, None);
    let lock = lock(state, client, "abandoned");
    let task = HolderId::fresh();
    let held = try_by(state, lock, task).unwrap();
    ops::client_abandon(state, client, task).unwrap();
    assert!(!ops::held_valid(state, held.handle).unwrap());
    assert_eq!(ops::lock_hold_count(state, lock, task).unwrap(), 0);
    assert_eq!(try_by(state, lock, this_thread()).unwrap_err().kind(), ErrorKind::Busy, "the lease goes on");
}

#[test]
fn a_hold_of_a_handle_is_entered_again_and_released_as_often() {
    let state = enter().unwrap();
    let client = client(state, None);
    let lock = lock(state, client, "levels");
    let held = state.wait(ops::lock_acquire(state, lock, Holding::ByHandle, Some(0), None), None).unwrap().handle;
    for _ in 0..10_000 {
        ops::held_reenter(state, held).unwrap();
    }
    for level in (1..=10_001).rev() {
        assert_eq!(ops::held_hold_count(state, held).unwrap(), level);
        state.wait(ops::held_release(state, held), None).unwrap();
    }
    assert_eq!(ops::held_hold_count(state, held).unwrap(), 0);
    assert_eq!(ops::held_reenter(state, held).unwrap_err().kind(), ErrorKind::NotHeld);

    let once = ops::lock_open(state, client, b"once", None, None, Some(false)).unwrap();
    let held = state.wait(ops::lock_acquire(state, once, Holding::ByHandle, Some(0), None), None).unwrap().handle;
    assert_eq!(ops::held_reenter(state, held).unwrap_err().kind(), ErrorKind::Deadlock);
    state.wait(ops::held_release(state, held), None).unwrap();
}

#[test]
fn closing_ends_holds_and_later_calls() {
    let state = enter().unwrap();
    let client = client(state, None);
    let lock = lock(state, client, "closing");
    let held = try_by(state, lock, this_thread()).unwrap();
    state.wait(ops::client_close(state, client, false), None).unwrap();
    let lost = state.wait(ops::held_wait_lost(state, held.handle, None), None).unwrap();
    assert_eq!(lost, Some(LossReason::Closed));
    assert_eq!(try_by(state, lock, this_thread()).unwrap_err().kind(), ErrorKind::Closed);
    state.wait(ops::client_close(state, client, false), None).unwrap();
}

#[test]
fn an_undrained_log_port_keeps_a_bounded_number_of_events() {
    let state = enter().unwrap();
    let port = state.port_new().unwrap();
    let lock = lock(state, client(state, Some(port)), "logged");
    let rounds = 1_100;
    for _ in 0..rounds {
        let held = state.wait(ops::lock_acquire(state, lock, Holding::ByHandle, Some(0), None), None).unwrap();
        // One warning each.
        state.free(HandleKind::Held, held.handle).unwrap();
        state.wait(ops::lock_force_release(state, lock), None).unwrap();
    }
    let kept = state.drain(port, 2 * rounds).unwrap().len();
    assert_eq!(kept, 1_024);
    let held = state.wait(ops::lock_acquire(state, lock, Holding::ByHandle, Some(0), None), None).unwrap();
    state.free(HandleKind::Held, held.handle).unwrap();
    let What::Log(event) = state.drain(port, 1).unwrap().remove(0).what else { panic!("a log event") };
    assert!(event.message.contains("dropped"), "{}", event.message);
}

#[test]
fn a_wait_polls_once_and_once_more_for_each_wake_up() {
    let state = enter().unwrap();
    let ready_at = |poll: u32| {
        let mut polls = 0;
        std::future::poll_fn(move |context| {
            polls += 1;
            context.waker().wake_by_ref();
            match polls == poll {
                true => std::task::Poll::Ready(Ok(polls)),
                false => std::task::Poll::Pending,
            }
        })
    };
    assert_eq!(state.wait(ready_at(1), None).unwrap(), 1);
    assert_eq!(state.wait(ready_at(3), None).unwrap(), 3);
    let check = &mut || panic!("nothing to ask: it never slept");
    assert_eq!(state.wait(ready_at(3), Some(Interrupt { every: Duration::from_secs(60), check })).unwrap(), 3);
}

/// Fails when the host is asked and the future not polled again.
#[test]
fn a_wake_up_that_a_call_of_the_hosts_took_is_not_lost() {
    let state = enter().unwrap();
    let (waker, ready) = (Mutex::new(None::<std::task::Waker>), AtomicBool::new(false));
    let waiting = std::future::poll_fn(|context| {
        *waker.lock().unwrap() = Some(context.waker().clone());
        if ready.load(Ordering::SeqCst) { std::task::Poll::Ready(Ok(())) } else { std::task::Poll::Pending }
    });
    let mut asked = 0;
    let mut check = || {
        asked += 1;
        ready.store(true, Ordering::SeqCst);
        waker.lock().unwrap().as_ref().unwrap().wake_by_ref();
        let mut polls = 0;
        let second_poll = std::future::poll_fn(|_| {
            polls += 1;
            if polls == 2 { std::task::Poll::Ready(Ok(())) } else { std::task::Poll::Pending }
        });
        state.wait(second_poll, None).unwrap();
        asked > 1
    };
    state.wait(waiting, Some(Interrupt { every: Duration::from_millis(5), check: &mut check })).unwrap();
}

#[test]
fn the_statistics_of_a_client_outlive_its_end() {
    let state = enter().unwrap();
    let client = client(state, None);
    let lock = lock(state, client, "counted");
    let held = try_by(state, lock, this_thread()).unwrap();
    assert_eq!(ops::client_stats(state, client).unwrap().lock.held, 1);
    state.wait(ops::client_close(state, client, false), None).unwrap();
    let all = ops::client_stats(state, client).unwrap();
    let stats = all.lock;
    assert_eq!((stats.held, stats.lost, stats.released, stats.wait_time.count()), (0, 1, 0, 1));
    assert_eq!(ops::counters(&all)[9], 1, "`lost` is the tenth");
    assert_eq!(ops::histograms(&all)[0].count, 1, "`lock.wait_time` is the first");
    state.free(HandleKind::Held, held.handle).unwrap();
}

#[test]
fn what_was_submitted_has_begun_and_needs_its_handles_no_more() {
    let state = enter().unwrap();
    let client = client(state, None);
    for round in 0..100 {
        let port = state.port_new().unwrap();
        let name = format!("begun {round}");
        let first = lock(state, client, &name);
        state.submit(port, 1, ops::lock_acquire(state, first, Holding::ByHandle, None, None)).unwrap();
        state.free(HandleKind::Lock, first).unwrap();
        let What::Done(Ok(Outcome::Held(held))) = next(state, port) else { panic!("acquired") };
        state.submit(port, 2, ops::held_release(state, held.handle)).unwrap();
        state.free(HandleKind::Held, held.handle).unwrap();
        state.free(HandleKind::Port, port).unwrap();
        // Nobody is left to hear of the release; it is carried out.
        let again = lock(state, client, &name);
        let waited = ops::lock_acquire(state, again, Holding::ByHandle, Some(5_000), None);
        state.wait(waited, None).unwrap();
    }
}

#[test]
fn what_needs_no_io_is_complete_when_it_was_submitted() {
    let state = enter().unwrap();
    let port = state.port_new().unwrap();
    let lock = lock(state, client(state, None), "at once");
    let holder = HolderId::fresh();
    try_by(state, lock, holder).unwrap();
    let op = state.submit(port, 9, ops::lock_acquire(state, lock, Holding::ByHolder(holder), None, None)).unwrap();
    assert!(!state.cancel(op).unwrap(), "a re-entry");
    let again = state.drain(port, 1).unwrap().remove(0);
    assert!(matches!((again.user_data, again.what), (9, What::Done(Ok(Outcome::Held(_))))));
    assert_eq!(ops::lock_hold_count(state, lock, holder).unwrap(), 2);
}

fn next(state: &State, port: Handle) -> What {
    for _ in 0..5_000 {
        if let Some(completion) = state.drain(port, 1).unwrap().pop() {
            return completion.what;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("no completion within 5 s")
}

#[test]
fn a_release_by_token_leaves_the_next_hold_alone() {
    let state = enter().unwrap();
    let lock = lock(state, client(state, None), "told once");
    let holder = HolderId::fresh();
    let short = ops::lock_acquire(state, lock, Holding::ByHolder(holder), Some(0), Some(100));
    let lost = state.wait(short, None).unwrap();
    let over = state.wait(ops::held_wait_lost(state, lost.handle, Some(5_000)), None).unwrap();
    assert_eq!(over, Some(LossReason::Expired));
    // It is announced a little before its end.
    let told = (0..1_000).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        ops::lock_hold_count(state, lock, holder).unwrap() == 0
    });
    assert!(told, "this tells of the loss");
    let acquiring = ops::lock_acquire(state, lock, Holding::ByHolder(holder), Some(5_000), None);
    let next = state.wait(acquiring, None).unwrap();
    for _ in 0..2 {
        assert!(!ops::lock_release_reentry(state, lock, holder, Some(lost.token)).unwrap());
        let released = state.wait(ops::lock_release(state, lock, holder, Some(lost.token)), None);
        assert_eq!(released.unwrap_err().kind(), ErrorKind::NotHeld);
    }
    assert_eq!(ops::lock_hold_count(state, lock, holder).unwrap(), 1);
    state.wait(ops::lock_release(state, lock, holder, Some(next.token)), None).unwrap();
}
