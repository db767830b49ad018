//! Operations on latches, on `memory://`.

use std::time::Duration;

use libdlock::ErrorKind;
use libdlock_bridge::ops;
use libdlock_bridge::{Handle, HandleKind, State, enter};

fn latch(state: &'static State, name: &str) -> Handle {
    let opening = ops::client_open(state, "memory://".to_owned(), Vec::new(), None);
    let client = state.wait(opening, None).unwrap();
    ops::latch_open(state, client, name.as_bytes()).unwrap()
}

#[test]
fn a_latch_is_set_counted_down_and_waited_for() {
    let state = enter().unwrap();
    let latch = latch(state, "ready");
    assert_eq!(ops::latch_name(state, latch).unwrap(), "ready");
    assert_eq!(ops::latch_key(state, latch).unwrap(), "ready");
    assert!(state.wait(ops::latch_wait(state, latch, None), None).unwrap(), "it is open");
    assert!(state.wait(ops::latch_try_set_count(state, latch, 3), None).unwrap());
    assert!(!state.wait(ops::latch_try_set_count(state, latch, 4), None).unwrap());
    assert_eq!(state.wait(ops::latch_count_down(state, latch, 2), None).unwrap(), 1);
    assert_eq!(state.wait(ops::latch_count(state, latch), None).unwrap(), 1);
    assert!(!state.wait(ops::latch_wait(state, latch, Some(0)), None).unwrap());
    let waiter = std::thread::spawn(move || state.wait(ops::latch_wait(state, latch, Some(10_000)), None).unwrap());
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(state.wait(ops::latch_count_down(state, latch, 1), None).unwrap(), 0);
    assert!(waiter.join().unwrap());
    assert!(!state.wait(ops::latch_delete(state, latch), None).unwrap());
    state.free(HandleKind::Latch, latch).unwrap();
    let error = state.wait(ops::latch_count(state, latch), None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
}

#[test]
fn numbers_that_no_latch_has_are_refused() {
    let state = enter().unwrap();
    let latch = latch(state, "numbers");
    for count in [0, -1, i64::MIN, i64::MAX] {
        let refused = [
            state.wait(ops::latch_try_set_count(state, latch, count), None).map(drop),
            state.wait(ops::latch_count_down(state, latch, count), None).map(drop),
        ];
        for refused in refused {
            let error = refused.unwrap_err();
            assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("numbers")), "{error}");
            assert_eq!(error.allowed(), Some("1 to 9007199254740991"));
        }
    }
    let opening = ops::client_open(state, "memory://".to_owned(), Vec::new(), None);
    let client = state.wait(opening, None).unwrap();
    assert_eq!(ops::latch_open(state, client, b"a{").unwrap_err().kind(), ErrorKind::InvalidName);
    let error = state.wait(ops::latch_wait(state, latch, Some(-1)), None).unwrap_err();
    assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("numbers")));
    assert_eq!(state.wait(ops::latch_count(state, latch), None).unwrap(), 0);
}

#[test]
fn a_latch_whose_client_is_closed_says_so() {
    let state = enter().unwrap();
    let client = state.wait(ops::client_open(state, "memory://".to_owned(), Vec::new(), None), None).unwrap();
    let latch = ops::latch_open(state, client, b"closed").unwrap();
    assert!(state.wait(ops::latch_try_set_count(state, latch, 1), None).unwrap());
    let waiter = std::thread::spawn(move || state.wait(ops::latch_wait(state, latch, None), None).unwrap_err());
    state.wait(ops::client_close(state, client, false), None).unwrap();
    assert_eq!(waiter.join().unwrap().kind(), ErrorKind::Closed);
    assert_eq!(ops::latch_open(state, client, b"closed").unwrap_err().kind(), ErrorKind::Closed);
}
