//! Operations on counting semaphores, on `memory://`.

use std::time::{Duration, Instant};

use libdlock::ErrorKind;
use libdlock_bridge::ops;
use libdlock_bridge::{Handle, HandleKind, Outcome, State, What, enter};

/// A client and a counting semaphore of it that is not there yet.
fn semaphore(state: &'static State, name: &str) -> (Handle, Handle) {
    let opening = ops::client_open(state, "memory://".to_owned(), Vec::new(), None);
    let client = state.wait(opening, None).unwrap();
    (client, ops::counting_semaphore_open(state, client, name.as_bytes()).unwrap())
}

fn set(state: &'static State, semaphore: Handle, permits: i64) -> bool {
    state.wait(ops::counting_semaphore_try_set_permits(state, semaphore, permits), None).unwrap()
}

fn available(state: &'static State, semaphore: Handle) -> i64 {
    state.wait(ops::counting_semaphore_inspect(state, semaphore), None).unwrap().available
}

fn acquire(state: &'static State, semaphore: Handle, permits: i64, wait_ms: i64) -> Result<(), ErrorKind> {
    let acquiring = ops::counting_semaphore_acquire(state, semaphore, permits, Some(wait_ms));
    state.wait(acquiring, None).map(drop).map_err(|error| error.kind())
}

/// Waits until so many are available, ten seconds at most.
fn comes_to(state: &'static State, semaphore: Handle, permits: i64) {
    let begun = Instant::now();
    while available(state, semaphore) != permits {
        assert!(begun.elapsed() < Duration::from_secs(10), "{} are available", available(state, semaphore));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn permits_are_taken_and_brought_back_by_anybody() {
    let state = enter().unwrap();
    let (client, slots) = semaphore(state, "slots");
    assert_eq!(ops::counting_semaphore_name(state, slots).unwrap(), "slots");
    assert_eq!(ops::counting_semaphore_key(state, slots).unwrap(), "slots");
    assert!(!state.wait(ops::counting_semaphore_inspect(state, slots), None).unwrap().exists);
    assert!(set(state, slots, 3));
    assert!(!set(state, slots, 4));
    assert_eq!(acquire(state, slots, 2, 0), Ok(()));
    assert_eq!(acquire(state, slots, 2, 0), Err(ErrorKind::Busy));
    assert_eq!(acquire(state, slots, 2, 20), Err(ErrorKind::Busy));
    // Another handle, of the same name.
    let other = ops::counting_semaphore_open(state, client, b"slots").unwrap();
    state.wait(ops::counting_semaphore_release(state, other, 2), None).unwrap();
    state.wait(ops::counting_semaphore_add_permits(state, slots, 2), None).unwrap();
    state.wait(ops::counting_semaphore_add_permits(state, slots, -1), None).unwrap();
    assert_eq!(available(state, slots), 4);
    assert_eq!(state.wait(ops::counting_semaphore_drain(state, slots), None).unwrap(), 4);
    assert_eq!(available(state, slots), 0);
    let waiter = std::thread::spawn(move || acquire(state, slots, 1, 10_000));
    std::thread::sleep(Duration::from_millis(20));
    state.wait(ops::counting_semaphore_release(state, slots, 1), None).unwrap();
    assert_eq!(waiter.join().unwrap(), Ok(()));
    state.free(HandleKind::CountingSemaphore, slots).unwrap();
    assert_eq!(acquire(state, slots, 1, 0), Err(ErrorKind::Closed));
}

#[test]
fn numbers_that_no_counting_semaphore_has_are_refused() {
    let state = enter().unwrap();
    let (client, slots) = semaphore(state, "numbers");
    for permits in [-1, 1 << 31, 1 << 32, i64::MIN, i64::MAX] {
        let refused = [
            (
                state.wait(ops::counting_semaphore_try_set_permits(state, slots, permits), None).map(drop),
                "0 to 2147483647",
            ),
            (
                state.wait(ops::counting_semaphore_acquire(state, slots, permits, None), None).map(drop),
                "1 to 2147483647",
            ),
            (state.wait(ops::counting_semaphore_release(state, slots, permits), None), "1 to 2147483647"),
        ];
        for (refused, allowed) in refused {
            let error = refused.unwrap_err();
            assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("numbers")), "{error}");
            assert_eq!(error.allowed(), Some(allowed));
        }
    }
    for permits in [0, 1 << 31, -1 << 31, i64::MIN, i64::MAX] {
        let error = state.wait(ops::counting_semaphore_add_permits(state, slots, permits), None).unwrap_err();
        assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("numbers")), "{error}");
        assert_eq!(error.allowed(), Some("1 to 2147483647, and as many below 0"));
    }
    for permits in [0, -1] {
        assert_eq!(acquire(state, slots, permits, 0), Err(ErrorKind::InvalidArgument));
    }
    assert_eq!(acquire(state, slots, 1, -1), Err(ErrorKind::InvalidArgument));
    assert_eq!(ops::counting_semaphore_open(state, client, b"a{").unwrap_err().kind(), ErrorKind::InvalidName);
    assert_eq!(available(state, slots), 0);
}

#[test]
fn a_port_that_goes_gives_undrained_permits_back() {
    let state = enter().unwrap();
    let (_client, slots) = semaphore(state, "undrained");
    assert!(set(state, slots, 2));
    let port = state.port_new().unwrap();
    state.submit(port, 1, ops::counting_semaphore_acquire(state, slots, 2, None)).unwrap();
    comes_to(state, slots, 0);
    // Nobody has drained its completion.
    state.free(HandleKind::Port, port).unwrap();
    comes_to(state, slots, 2);
}

#[test]
fn drained_permits_stay_with_the_host() {
    let state = enter().unwrap();
    let (_client, slots) = semaphore(state, "drained");
    assert!(set(state, slots, 2));
    let port = state.port_new().unwrap();
    let (op, mut done) =
        state.submit_and_drain(port, 7, ops::counting_semaphore_acquire(state, slots, 2, None), 8).unwrap();
    let begun = Instant::now();
    while done.is_empty() && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(1));
        done = state.drain(port, 8).unwrap();
    }
    let [completion] = &done[..] else { panic!("{done:?}") };
    assert!(matches!(completion.what, What::Done(Ok(Outcome::Granted(_)))), "{completion:?}");
    assert_eq!((completion.op, completion.user_data), (op, 7));
    drop(done);
    assert!(!state.cancel(op).unwrap(), "it is too late");
    state.free(HandleKind::Port, port).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(available(state, slots), 0);
}

#[test]
fn a_cancelled_acquire_leaves_no_permits_behind() {
    let state = enter().unwrap();
    let (_client, slots) = semaphore(state, "cancelled");
    assert!(set(state, slots, 1));
    assert_eq!(acquire(state, slots, 1, 0), Ok(()));
    let port = state.port_new().unwrap();
    let op = state.submit(port, 1, ops::counting_semaphore_acquire(state, slots, 1, None)).unwrap();
    assert!(state.cancel(op).unwrap());
    state.wait(ops::counting_semaphore_release(state, slots, 1), None).unwrap();
    assert_eq!(acquire(state, slots, 1, 5_000), Ok(()), "nobody stands before it");
}

#[test]
fn a_counting_semaphore_of_a_closed_client_says_so() {
    let state = enter().unwrap();
    let (client, slots) = semaphore(state, "closed");
    let waiter = std::thread::spawn(move || acquire(state, slots, 1, 10_000));
    std::thread::sleep(Duration::from_millis(20));
    state.wait(ops::client_close(state, client, false), None).unwrap();
    assert_eq!(waiter.join().unwrap(), Err(ErrorKind::Closed));
    assert_eq!(ops::counting_semaphore_open(state, client, b"closed").unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn a_number_out_of_range_is_refused_by_the_same_call() {
    let state = enter().unwrap();
    let (_client, slots) = semaphore(state, "out of range");
    for permits in [-1, i64::from(i32::MAX) + 1, i64::MAX] {
        let refused = state.wait(ops::counting_semaphore_try_set_permits(state, slots, permits), None).unwrap_err();
        assert_eq!((refused.kind(), refused.op()), (ErrorKind::InvalidArgument, "try set permits"));
    }
}
