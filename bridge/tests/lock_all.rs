//! Operations on several locks as one, on `memory://`.

use std::time::Duration;

use libdlock::ErrorKind;
use libdlock::lease::{HolderId, LossReason};
use libdlock_bridge::ops::{self, Holding};
use libdlock_bridge::{Handle, HandleKind, State, What, enter, this_thread};

fn client(state: &'static State) -> Handle {
    state.wait(ops::client_open(state, "memory://".to_owned(), Vec::new(), None), None).unwrap()
}

fn set(state: &'static State, client: Handle, names: &[&str]) -> Handle {
    ops::lock_all_open(state, client, names, None, None, None).unwrap()
}

fn lock(state: &'static State, client: Handle, name: &str) -> Handle {
    ops::lock_open(state, client, name.as_bytes(), None, None, None).unwrap()
}

fn acquire(state: &'static State, set: Handle, holding: Holding) -> libdlock::Result<ops::Held> {
    state.wait(ops::lock_all_acquire(state, set, holding, Some(0), None), None)
}

fn is_held(state: &'static State, lock: Handle) -> bool {
    state.wait(ops::lock_inspect(state, lock), None).unwrap().holder.is_some()
}

#[test]
fn one_hold_has_the_token_of_each_lock_and_no_owner() {
    let state = enter().unwrap();
    let client = client(state);
    let all = set(state, client, &["b", "a", "b"]);
    assert_eq!(ops::lock_all_names(state, all).unwrap(), ["a", "b"]);
    let held = acquire(state, all, Holding::ByHandle).unwrap();
    assert_eq!((held.token, held.owner.as_str()), (0, ""));
    assert_eq!(ops::held_token(state, held.handle).unwrap(), 0);
    let tokens = ops::held_tokens(state, held.handle).unwrap();
    assert_eq!(tokens.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    for (name, token) in &tokens {
        assert_eq!(ops::held_token_of(state, held.handle, name.as_bytes()).unwrap(), *token);
        let seen = state.wait(ops::lock_inspect(state, lock(state, client, name)), None).unwrap();
        assert_eq!(seen.token, Some(*token), "that of the lock of this name");
    }
    let unknown = ops::held_token_of(state, held.handle, b"c").unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::InvalidArgument);
    assert!(unknown.message().contains(r#""c" is none of the locks of this hold: "a", "b""#), "{unknown}");
    assert!(ops::held_permits(state, held.handle).unwrap().is_empty());
    assert!(ops::held_valid(state, held.handle).unwrap());
    state.wait(ops::held_extend(state, held.handle, 60_000), None).unwrap();
    assert!(ops::held_remaining(state, held.handle).unwrap() > Duration::from_secs(40));
    state.wait(ops::held_release(state, held.handle), None).unwrap();
    assert!(!is_held(state, lock(state, client, "a")) && !is_held(state, lock(state, client, "b")));
    assert_eq!(ops::held_lost_member(state, held.handle).unwrap(), None, "released, not lost");
}

#[test]
fn a_hold_of_one_lock_has_no_tokens_by_name() {
    let state = enter().unwrap();
    let one = lock(state, client(state), "one");
    let held = state.wait(ops::lock_acquire(state, one, Holding::ByHandle, Some(0), None), None).unwrap();
    assert!(ops::held_tokens(state, held.handle).unwrap().is_empty());
    let refused = ops::held_token_of(state, held.handle, b"one").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    assert!(refused.message().contains("without a name"), "{refused}");
}

#[test]
fn names_that_make_no_set_are_refused() {
    let state = enter().unwrap();
    let client = client(state);
    let refused = |names: &[&[u8]]| ops::lock_all_open(state, client, names, None, None, None).unwrap_err();
    let none = refused(&[]);
    assert_eq!(none.kind(), ErrorKind::InvalidArgument);
    assert!(none.message().contains("0 names"), "{none}");
    let names: Vec<String> = (0..101).map(|number| format!("lock {number}")).collect();
    let many = refused(&names.iter().map(String::as_bytes).collect::<Vec<_>>());
    assert_eq!(many.kind(), ErrorKind::InvalidArgument);
    assert!(many.message().contains("101 names") && many.message().contains("1 to 100"), "{many}");
    assert_eq!(refused(&[b"good", b"\xff"]).kind(), ErrorKind::InvalidName);
    assert_eq!(refused(&[b"good", b""]).kind(), ErrorKind::InvalidName);
    let lease = ops::lock_all_open(state, client, &["a"], Some(-1), None, None).unwrap_err();
    assert_eq!(lease.kind(), ErrorKind::InvalidArgument);
}

#[test]
fn a_thread_holds_a_set_as_often_as_it_acquires_it() {
    let state = enter().unwrap();
    let client = client(state);
    let (all, me) = (set(state, client, &["x", "y"]), this_thread());
    assert!(ops::lock_all_held(state, all, me).unwrap().is_none());
    let by = Holding::ByHolder(me);
    let first = acquire(state, all, by).unwrap();
    let second = acquire(state, all, by).unwrap();
    assert_eq!(ops::lock_all_hold_count(state, all, me).unwrap(), 2);
    let busy = acquire(state, all, Holding::ByHandle).unwrap_err();
    assert_eq!((busy.kind(), busy.name()), (ErrorKind::Busy, Some("x")));
    let view = ops::lock_all_held(state, all, me).unwrap().unwrap();
    let tokens = |held| ops::held_tokens(state, held).unwrap();
    assert_eq!(tokens(view.handle), tokens(first.handle));
    let refused = state.wait(ops::held_release(state, view.handle), None).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "it is the thread's");
    state.wait(ops::lock_all_extend(state, all, me, 60_000), None).unwrap();
    assert!(ops::held_remaining(state, first.handle).unwrap() > Duration::from_secs(40));
    let release = |number| state.wait(ops::lock_all_release(state, all, me, number), None);
    release(Some(second.number)).unwrap();
    release(None).unwrap();
    assert_eq!(release(None).unwrap_err().kind(), ErrorKind::NotHeld);
    acquire(state, all, Holding::ByHandle).unwrap();
}

#[test]
fn a_release_by_number_leaves_the_next_hold_alone() {
    let state = enter().unwrap();
    let client = client(state);
    let (all, me) = (set(state, client, &["kept", "lost"]), this_thread());
    let first = acquire(state, all, Holding::ByHolder(me)).unwrap();
    assert!(state.wait(ops::lock_force_release(state, lock(state, client, "lost")), None).unwrap());
    let over = state.wait(ops::held_wait_lost(state, first.handle, Some(5_000)), None).unwrap();
    assert_eq!(over, Some(LossReason::Deleted));
    let member = ops::held_lost_member(state, first.handle).unwrap();
    assert_eq!(member, Some(("lost".to_owned(), LossReason::Deleted)));
    assert_eq!(ops::lock_all_hold_count(state, all, me).unwrap(), 0, "which tells of the loss");
    let second = acquire(state, all, Holding::ByHolder(me)).unwrap();
    let ended = state.wait(ops::lock_all_release(state, all, me, Some(first.number)), None).unwrap_err();
    assert_eq!((ended.kind(), ended.name()), (ErrorKind::NotHeld, Some("lost")));
    assert!(ops::held_valid(state, second.handle).unwrap(), "of the lock that was lost it has a new hold");
    assert_eq!(ops::lock_all_hold_count(state, all, me).unwrap(), 1);
    state.wait(ops::lock_all_release(state, all, me, Some(second.number)), None).unwrap();
    assert!(!is_held(state, lock(state, client, "kept")) && !is_held(state, lock(state, client, "lost")));
}

#[test]
fn only_a_threads_hold_of_these_locks_is_released_by_number() {
    let state = enter().unwrap();
    let client = client(state);
    let (all, me) = (set(state, client, &["p", "q"]), this_thread());
    let others = acquire(state, set(state, client, &["r", "s"]), Holding::ByHolder(me)).unwrap();
    let own = acquire(state, all, Holding::ByHandle).unwrap();
    let single = lock(state, client, "t");
    let single = state.wait(ops::lock_acquire(state, single, Holding::ByHolder(me), None, None), None).unwrap();
    for held in [others.handle, own.handle, single.handle] {
        let refused = state.wait(ops::lock_all_release(state, all, me, Some(held)), None).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
        assert!(ops::held_valid(state, held).unwrap());
    }
}

#[test]
fn a_hold_of_a_handle_is_entered_again_all_or_none() {
    let state = enter().unwrap();
    let client = client(state);
    let all = set(state, client, &["m", "n"]);
    let held = acquire(state, all, Holding::ByHandle).unwrap().handle;
    ops::held_reenter(state, held).unwrap();
    assert_eq!(ops::held_hold_count(state, held).unwrap(), 2);
    state.wait(ops::held_release(state, held), None).unwrap();
    let detached = state.wait(ops::held_detach(state, held), None).unwrap_err();
    assert_eq!(detached.kind(), ErrorKind::InvalidArgument);
    assert!(detached.message().contains("release them here"), "{detached}");
    assert!(state.wait(ops::lock_force_release(state, lock(state, client, "n")), None).unwrap());
    state.wait(ops::held_wait_lost(state, held, Some(5_000)), None).unwrap();
    let refused = ops::held_reenter(state, held).unwrap_err();
    assert_eq!((refused.kind(), refused.name()), (ErrorKind::Lost, Some("n")));
    let released = state.wait(ops::held_release(state, held), None).unwrap_err();
    assert_eq!((released.kind(), released.name()), (ErrorKind::NotHeld, Some("n")));
    assert!(!is_held(state, lock(state, client, "m")), "the level that was not entered is not left over");
}

#[test]
fn what_reaches_nobody_is_given_back() {
    let state = enter().unwrap();
    let all = set(state, client(state), &["one", "other"]);
    let held = acquire(state, all, Holding::ByHandle).unwrap();
    state.undo(held.handle);
    // The server is told in the background; its answer wakes who waits.
    let waiting = ops::lock_all_acquire(state, all, Holding::ByHandle, Some(5_000), None);
    state.wait(waiting, None).expect("an undone hold is given back");
}

#[test]
fn a_freed_handle_ends_the_renewal_of_its_own_hold() {
    let state = enter().unwrap();
    let client = client(state);
    let held = acquire(state, set(state, client, &["one", "other"]), Holding::ByHandle).unwrap();
    state.free(HandleKind::Held, held.handle).unwrap();
    let stats = ops::client_stats(state, client).unwrap().lock;
    assert_eq!((stats.held, stats.lost), (0, 2));
}

#[test]
fn a_thread_s_locks_outlive_every_handle_of_their_set() {
    let state = enter().unwrap();
    let client = client(state);
    let first = set(state, client, &["one", "other"]);
    let held = acquire(state, first, Holding::ByHolder(this_thread())).unwrap();
    state.free(HandleKind::Held, held.handle).unwrap();
    state.free(HandleKind::LockAll, first).unwrap();
    let again = set(state, client, &["other", "one"]);
    assert_eq!(acquire(state, again, Holding::ByHandle).unwrap_err().kind(), ErrorKind::Busy);
    state.wait(ops::lock_all_release(state, again, this_thread(), None), None).unwrap();
    acquire(state, again, Holding::ByHandle).unwrap();
}

#[test]
fn a_cancelled_acquire_leaves_nothing() {
    let state = enter().unwrap();
    let client = client(state);
    let (first, second) = (lock(state, client, "first"), lock(state, client, "second"));
    let other = Holding::ByHolder(HolderId::fresh());
    state.wait(ops::lock_acquire(state, second, other, None, None), None).unwrap();
    let all = set(state, client, &["first", "second"]);
    let port = state.port_parked().unwrap();
    let op = state.submit(port, 7, ops::lock_all_acquire(state, all, Holding::ByHandle, None, None)).unwrap();
    let begun = std::time::Instant::now();
    while !is_held(state, first) {
        assert!(begun.elapsed() < Duration::from_secs(5), "it takes the first and waits for the second");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(state.cancel(op).unwrap());
    let done = state.drain_wait(port, 1, Some(Duration::from_secs(5))).unwrap().pop().expect("the cancellation");
    assert!(matches!(&done.what, What::Done(Err(error)) if error.kind() == ErrorKind::Cancelled), "{done:?}");
    // The release goes on in the background; its answer wakes who waits.
    state.wait(ops::lock_acquire(state, first, Holding::ByHandle, Some(5_000), None), None).unwrap();
}
