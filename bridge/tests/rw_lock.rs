//! Operations on the sides of read-write locks, on `memory://`.

use std::time::Duration;

use libdlock::ErrorKind;
use libdlock_bridge::ops::{self, Holding, RwLockArgs};
use libdlock_bridge::{Handle, HandleKind, State, enter, this_thread};

/// The read side and the write side.
#[derive(Clone, Copy)]
struct Sides {
    read: Handle,
    write: Handle,
}

fn client(state: &'static State) -> Handle {
    state.wait(ops::client_open(state, "memory://".to_owned(), Vec::new(), None), None).unwrap()
}

fn sides(state: &'static State, client: Handle, name: &str) -> Sides {
    let open = |write| ops::rw_lock_open(state, client, name.as_bytes(), write, RwLockArgs::default()).unwrap();
    Sides { read: open(false), write: open(true) }
}

fn acquire(state: &'static State, side: Handle, holding: Holding) -> libdlock::Result<ops::Held> {
    state.wait(ops::rw_lock_acquire(state, side, holding, Some(0), None), None)
}

fn seen(state: &'static State, side: Handle) -> (bool, u64) {
    let seen = state.wait(ops::rw_lock_inspect(state, side), None).unwrap();
    (seen.writer.is_some(), seen.readers)
}

#[test]
fn a_hold_of_a_side_is_asked_and_ended_as_a_lock_s_is() {
    let state = enter().unwrap();
    let lock = sides(state, client(state), "asked");
    assert_eq!(ops::rw_lock_name(state, lock.write).unwrap(), "asked");
    let held = acquire(state, lock.write, Holding::ByHandle).unwrap();
    assert!(held.token > 0 && held.owner.ends_with(":write"));
    assert_eq!(ops::held_token(state, held.handle).unwrap(), held.token);
    assert!(ops::held_permits(state, held.handle).unwrap().is_empty());
    state.wait(ops::held_extend(state, held.handle, 60_000), None).unwrap();
    assert!(ops::held_remaining(state, held.handle).unwrap() > Duration::from_secs(40));
    ops::held_reenter(state, held.handle).unwrap();
    assert_eq!(ops::held_hold_count(state, held.handle).unwrap(), 2);
    state.wait(ops::held_release(state, held.handle), None).unwrap();
    assert_eq!(seen(state, lock.read), (true, 0));
    let detached = state.wait(ops::held_detach(state, held.handle), None).unwrap_err();
    assert_eq!(detached.kind(), ErrorKind::InvalidArgument);
    assert!(detached.message().contains("another process"), "{detached}");
    state.wait(ops::held_release(state, held.handle), None).unwrap();
    assert_eq!(seen(state, lock.read), (false, 0));
}

#[test]
fn a_thread_holds_both_sides_each_by_itself() {
    let state = enter().unwrap();
    let (lock, me) = (sides(state, client(state), "of a thread"), this_thread());
    let by = Holding::ByHolder(me);
    let writes = acquire(state, lock.write, by).unwrap();
    let reads = acquire(state, lock.read, by).unwrap();
    assert!(reads.number > writes.number);
    assert_eq!(acquire(state, lock.read, Holding::ByHandle).unwrap_err().kind(), ErrorKind::Busy);
    assert_eq!(ops::rw_lock_held(state, lock.read, me).unwrap().unwrap().number, reads.number);
    let release = |side, token| ops::rw_lock_release(state, side, me, token);
    let wrong = state.wait(release(lock.write, Some(reads.number)), None).unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::NotHeld, "a token of the other side");
    state.wait(release(lock.write, Some(writes.number)), None).unwrap();
    let count = |side| ops::rw_lock_hold_count(state, side, me).unwrap();
    assert_eq!((count(lock.write), count(lock.read)), (0, 1));
    let deadlock = acquire(state, lock.write, by).unwrap_err();
    assert_eq!(deadlock.kind(), ErrorKind::Deadlock);
    state.wait(ops::rw_lock_extend(state, lock.read, me, 60_000), None).unwrap();
    state.wait(release(lock.read, None), None).unwrap();
    assert!(ops::rw_lock_held(state, lock.read, me).unwrap().is_none());
}

#[test]
fn a_thread_that_writes_goes_on_as_a_reader() {
    let state = enter().unwrap();
    let (lock, me) = (sides(state, client(state), "goes on"), this_thread());
    let downgrade = |side, token| state.wait(ops::rw_lock_downgrade(state, side, me, token), None);
    assert_eq!(downgrade(lock.write, None).unwrap_err().kind(), ErrorKind::NotHeld);
    let writes = acquire(state, lock.write, Holding::ByHolder(me)).unwrap();
    assert_eq!(downgrade(lock.write, Some(writes.number + 1)).unwrap_err().kind(), ErrorKind::NotHeld);
    assert_eq!(seen(state, lock.read), (true, 0), "another hold's token changes nothing");
    let reads = downgrade(lock.write, Some(writes.number)).unwrap();
    assert_eq!(seen(state, lock.read), (false, 1));
    let refused = downgrade(lock.read, None).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    assert!(refused.message().contains("reads already"), "{refused}");
    assert!(ops::held_valid(state, reads.handle).unwrap());
    state.wait(ops::rw_lock_release(state, lock.read, me, Some(reads.number)), None).unwrap();
    assert_eq!(seen(state, lock.read), (false, 0));
}

/// The holder of both is the same, and only one of its holds is the handle's.
#[test]
fn the_handle_that_was_downgraded_ends_nothing() {
    let state = enter().unwrap();
    let client = client(state);
    let lock = sides(state, client, "spent");
    let writes = acquire(state, lock.write, Holding::ByHandle).unwrap();
    let reads = state.wait(ops::held_downgrade(state, writes.handle), None).unwrap();
    state.free(HandleKind::Held, writes.handle).unwrap();
    assert!(ops::held_valid(state, reads.handle).unwrap());
    assert_eq!(ops::client_stats(state, client).unwrap().rw_lock.lost, 0);
    assert_eq!(seen(state, lock.read), (false, 1));
    state.wait(ops::held_release(state, reads.handle), None).unwrap();
    assert_eq!(seen(state, lock.read), (false, 0));
}

#[test]
fn only_a_hold_of_a_write_side_is_downgraded() {
    let state = enter().unwrap();
    let client = client(state);
    let lock = sides(state, client, "refused");
    let reads = acquire(state, lock.read, Holding::ByHandle).unwrap();
    let mutex = ops::lock_open(state, client, b"mutex", None, None, None).unwrap();
    let held = state.wait(ops::lock_acquire(state, mutex, Holding::ByHandle, None, None), None).unwrap();
    for handle in [reads.handle, held.handle] {
        let refused = state.wait(ops::held_downgrade(state, handle), None).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
        assert!(ops::held_valid(state, handle).unwrap());
    }
}

#[test]
fn what_reaches_nobody_is_given_back() {
    let state = enter().unwrap();
    let lock = sides(state, client(state), "undone");
    let writes = acquire(state, lock.write, Holding::ByHandle).unwrap();
    state.undo(writes.handle);
    // The server is told in the background; its answer wakes who waits.
    let waiting = ops::rw_lock_acquire(state, lock.read, Holding::ByHandle, Some(5_000), None);
    state.wait(waiting, None).expect("an undone grant is given back");
}

#[test]
fn a_thread_s_side_outlives_every_handle_of_its_lock() {
    let state = enter().unwrap();
    let client = client(state);
    let first = sides(state, client, "kept");
    let held = acquire(state, first.write, Holding::ByHolder(this_thread())).unwrap();
    state.free(HandleKind::Held, held.handle).unwrap();
    state.free(HandleKind::RwLockSide, first.write).unwrap();
    state.free(HandleKind::RwLockSide, first.read).unwrap();
    let again = sides(state, client, "kept");
    assert_eq!(acquire(state, again.read, Holding::ByHandle).unwrap_err().kind(), ErrorKind::Busy);
    state.wait(ops::rw_lock_release(state, again.write, this_thread(), None), None).unwrap();
    acquire(state, again.read, Holding::ByHandle).unwrap();
}

#[test]
fn options_of_a_lock_out_of_range_are_refused() {
    let state = enter().unwrap();
    let client = client(state);
    let open = |given| ops::rw_lock_open(state, client, b"options", false, given).unwrap_err();
    for age in [-1, 10_001, i64::MIN] {
        let error = open(RwLockArgs { shared_age_ms: Some(age), ..RwLockArgs::default() });
        assert_eq!((error.kind(), error.allowed()), (ErrorKind::InvalidArgument, Some("0 to 10 s")), "{error}");
    }
    let both = RwLockArgs { lease_ms: Some(500), watchdog_lease_ms: Some(500), ..RwLockArgs::default() };
    assert_eq!(open(both).kind(), ErrorKind::InvalidArgument);
}
