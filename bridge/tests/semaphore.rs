//! Operations on semaphores, on `memory://`.

use std::time::Duration;

use libdlock::ErrorKind;
use libdlock::lease::HolderId;
use libdlock_bridge::ops::{self, Holding};
use libdlock_bridge::{Handle, HandleKind, State, enter, this_thread};

fn semaphore(state: &'static State, name: &str, permits: i64) -> Handle {
    let opening = ops::client_open(state, "memory://".to_owned(), Vec::new(), None);
    let client = state.wait(opening, None).unwrap();
    ops::semaphore_open(state, client, name.as_bytes(), permits, None, None).unwrap()
}

fn acquire(state: &'static State, semaphore: Handle, holding: Holding, permits: i64) -> libdlock::Result<ops::Held> {
    state.wait(ops::semaphore_acquire(state, semaphore, holding, permits, Some(0), None), None)
}

fn available(state: &'static State, semaphore: Handle) -> i64 {
    state.wait(ops::semaphore_inspect(state, semaphore), None).unwrap().available
}

#[test]
fn a_hold_of_permits_has_ids_and_no_fencing_token() {
    let state = enter().unwrap();
    let semaphore = semaphore(state, "ids", 5);
    assert_eq!(ops::semaphore_name(state, semaphore).unwrap(), "ids");
    let held = acquire(state, semaphore, Holding::ByHandle, 3).unwrap();
    assert_eq!((held.token, ops::held_token(state, held.handle).unwrap()), (0, 0));
    let ids = ops::held_permits(state, held.handle).unwrap();
    assert_eq!((ids.len(), ids.iter().map(String::len).max()), (3, Some(32)));
    assert_eq!(available(state, semaphore), 2);
    state.wait(ops::held_extend(state, held.handle, 60_000), None).unwrap();
    assert!(ops::held_remaining(state, held.handle).unwrap() > Duration::from_secs(40));
    state.wait(ops::held_release(state, held.handle), None).unwrap();
    assert_eq!(available(state, semaphore), 5);
}

#[test]
fn each_acquire_of_a_thread_is_released_by_itself() {
    let state = enter().unwrap();
    let semaphore = semaphore(state, "of a thread", 3);
    let by = Holding::ByHolder(this_thread());
    let (first, second) = (acquire(state, semaphore, by, 2).unwrap(), acquire(state, semaphore, by, 1).unwrap());
    assert_ne!(first.number, second.number);
    assert_eq!(ops::semaphore_hold_count(state, semaphore, this_thread()).unwrap(), 2);
    assert_eq!(acquire(state, semaphore, by, 1).unwrap_err().kind(), ErrorKind::Busy);
    let latest = ops::semaphore_held(state, semaphore, this_thread()).unwrap().unwrap();
    assert_eq!(latest.number, second.number);
    let extend = |number| ops::semaphore_extend(state, semaphore, this_thread(), number, 90_000);
    state.wait(extend(Some(first.number)), None).unwrap();
    assert!(ops::held_remaining(state, first.handle).unwrap() > Duration::from_secs(60));
    assert!(ops::held_remaining(state, second.handle).unwrap() < Duration::from_secs(60));
    let release = |number| ops::semaphore_release(state, semaphore, this_thread(), number);
    state.wait(release(Some(first.number)), None).unwrap();
    assert_eq!(available(state, semaphore), 2);
    assert_eq!(state.wait(release(Some(first.number)), None).unwrap_err().kind(), ErrorKind::NotHeld);
    state.wait(release(None), None).unwrap();
    assert_eq!(available(state, semaphore), 3);
    assert!(ops::semaphore_held(state, semaphore, this_thread()).unwrap().is_none());
}

#[test]
fn permits_are_neither_entered_again_nor_detached() {
    let state = enter().unwrap();
    let semaphore = semaphore(state, "only its own", 2);
    let held = acquire(state, semaphore, Holding::ByHandle, 1).unwrap().handle;
    let again = ops::held_reenter(state, held).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::InvalidArgument);
    assert!(again.message().contains("a hold of its own"), "{again}");
    let detached = state.wait(ops::held_detach(state, held), None).unwrap_err();
    assert_eq!(detached.kind(), ErrorKind::InvalidArgument);
    assert!(detached.message().contains("release them here"), "{detached}");
    assert!(ops::held_valid(state, held).unwrap());
    state.undo(held);
    // The server is told in the background; its answer wakes who waits.
    let both = ops::semaphore_acquire(state, semaphore, Holding::ByHandle, 2, Some(5_000), None);
    state.wait(both, None).expect("an undone grant is given back");
}

#[test]
fn a_thread_s_permits_outlive_every_handle_of_theirs() {
    let state = enter().unwrap();
    let opening = ops::client_open(state, "memory://".to_owned(), Vec::new(), None);
    let client = state.wait(opening, None).unwrap();
    let made = || ops::semaphore_open(state, client, b"kept", 1, None, None).unwrap();
    let first = made();
    let held = acquire(state, first, Holding::ByHolder(this_thread()), 1).unwrap();
    state.free(HandleKind::Held, held.handle).unwrap();
    state.free(HandleKind::Semaphore, first).unwrap();
    let again = made();
    assert_eq!(acquire(state, again, Holding::ByHandle, 1).unwrap_err().kind(), ErrorKind::Busy);
    state.wait(ops::semaphore_release(state, again, this_thread(), None), None).unwrap();
    acquire(state, again, Holding::ByHandle, 1).unwrap();
}

#[test]
fn the_number_of_permits_is_set_and_its_range_is_said() {
    let state = enter().unwrap();
    let semaphore = semaphore(state, "set", 1);
    acquire(state, semaphore, Holding::ByHolder(HolderId::fresh()), 1).unwrap();
    state.wait(ops::semaphore_set_permits(state, semaphore, 3), None).unwrap();
    assert_eq!(available(state, semaphore), 2);
    for permits in [-1, 0, i64::from(u32::MAX)] {
        let error = state.wait(ops::semaphore_set_permits(state, semaphore, permits), None).unwrap_err();
        assert_eq!(error.allowed(), Some("1 to 2147483647"), "{error}");
    }
    for permits in [-1, 0, 10_001, i64::MAX] {
        let error = acquire(state, semaphore, Holding::ByHandle, permits).unwrap_err();
        assert_eq!(error.allowed(), Some("1 to 10000"), "{error}");
    }
}
