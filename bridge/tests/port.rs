//! The completion port as a binding sees it, with a real descriptor and the real runtime.

use std::future::pending;
use std::time::Duration;

use libdlock::{ErrorKind, Result};
use libdlock_bridge::ops::{self, Holding};
use libdlock_bridge::{Completion, Handle, HandleKind, Outcome, What, enter};

/// A host's loop: poll the descriptor, drain, until `count` completions are there.
fn collect(port: Handle, count: usize) -> Vec<Completion> {
    let state = enter().unwrap();
    let mut got = Vec::new();
    while got.len() < count {
        assert!(readable(port, 5_000), "{} of {count} came", got.len());
        got.extend(state.drain(port, 3).unwrap());
    }
    got
}

fn readable(port: Handle, wait_ms: i32) -> bool {
    let fd = enter().unwrap().port_fd(port).unwrap();
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one live pollfd, and the count says one.
    unsafe { libc::poll(&mut poll, 1, wait_ms) == 1 }
}

fn result(completion: Completion) -> Result<Outcome> {
    match completion.what {
        What::Done(result) => result,
        What::Log(event) => panic!("a log event: {event:?}"),
    }
}

#[test]
fn results_have_their_user_data_and_leave_the_descriptor_quiet() {
    let state = enter().unwrap();
    let port = state.port_new().unwrap();
    assert!(!readable(port, 0));
    for n in 0..10 {
        state.submit(port, n, async move { Ok(Outcome::Bool(n % 2 == 0)) }).unwrap();
    }
    let mut got = collect(port, 10);
    got.sort_by_key(|completion| completion.user_data);
    for (n, completion) in got.into_iter().enumerate() {
        assert_eq!(completion.user_data, n as u64);
        assert_eq!(result(completion).unwrap(), Outcome::Bool(n % 2 == 0));
    }
    assert!(!readable(port, 0));
    state.free(HandleKind::Port, port).unwrap();
    assert_eq!(state.drain(port, 1).unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn a_cancelled_operation_completes_at_once_and_once() {
    let state = enter().unwrap();
    let port = state.port_new().unwrap();
    let (dropped, was_dropped) = std::sync::mpsc::channel::<()>();
    let op = state
        .submit(port, 7, async move {
            let _dropped_with_the_future = dropped;
            pending::<Result<Outcome>>().await
        })
        .unwrap();
    assert!(state.cancel(op).unwrap(), "in time");
    let completion = collect(port, 1).remove(0);
    assert_eq!((completion.op, completion.user_data), (op, 7));
    assert_eq!(result(completion).unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(!state.cancel(op).unwrap(), "too late");
    was_dropped.recv_timeout(Duration::from_secs(5)).unwrap_err();
    assert!(!readable(port, 0), "no second completion");
}

#[test]
fn a_panicking_operation_completes_with_internal() {
    let state = enter().unwrap();
    let port = state.port_new().unwrap();
    state.submit(port, 1, async { panic!("in an operation") as Result<Outcome> }).unwrap();
    let error = result(collect(port, 1).remove(0)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert!(error.message().contains("in an operation"), "{error}");
    state.submit(port, 2, async { Ok(Outcome::Unit) }).unwrap();
    assert_eq!(result(collect(port, 1).remove(0)).unwrap(), Outcome::Unit);
}

#[test]
fn freeing_a_port_drops_what_is_under_way() {
    let state = enter().unwrap();
    let port = state.port_new().unwrap();
    let (dropped, was_dropped) = std::sync::mpsc::channel::<()>();
    let op = state
        .submit(port, 0, async move {
            let _dropped_with_the_future = dropped;
            pending::<Result<Outcome>>().await
        })
        .unwrap();
    state.free(HandleKind::Port, port).unwrap();
    let end = was_dropped.recv_timeout(Duration::from_secs(5));
    assert_eq!(end, Err(std::sync::mpsc::RecvTimeoutError::Disconnected), "the future is gone");
    assert!(!state.cancel(op).unwrap());
    assert_eq!(state.free(HandleKind::Port, port).unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn a_parked_thread_is_woken_by_a_completion_and_the_ports_end() {
    let state = enter().unwrap();
    let port = state.port_parked().unwrap();
    assert!(state.drain_wait(port, 8, Some(Duration::from_millis(1))).unwrap().is_empty());
    let parked = std::thread::spawn(move || {
        let mut got = Vec::new();
        loop {
            match state.drain_wait(port, 2, None) {
                Ok(completions) => got.extend(completions.into_iter().map(|completion| completion.user_data)),
                Err(closed) => return (got, closed.kind()),
            }
            if got.len() == 100 {
                state.free(HandleKind::Port, port).unwrap();
            }
        }
    });
    for n in 0..100 {
        state.submit(port, n, async { Ok(Outcome::Unit) }).unwrap();
    }
    let (mut got, end) = parked.join().unwrap();
    got.sort_unstable();
    assert_eq!(got, (0..100).collect::<Vec<u64>>());
    assert_eq!(end, ErrorKind::Closed);

    let port = state.port_parked().unwrap();
    let parked = std::thread::spawn(move || state.drain_wait(port, 1, None).unwrap_err().kind());
    state.free(HandleKind::Port, port).unwrap();
    assert_eq!(parked.join().unwrap(), ErrorKind::Closed);
}

#[test]
fn a_calling_port_signals_once_for_all_that_waits_in_it() {
    let state = enter().unwrap();
    let (signal, signals) = std::sync::mpsc::channel();
    let port = state.port_calling(Box::new(move || signal.send(()).unwrap())).unwrap();
    // A cancellation completes on the spot, so all of these are in before the host comes.
    for n in 0..50 {
        let op = state.submit(port, n, pending::<Result<Outcome>>()).unwrap();
        assert!(state.cancel(op).unwrap());
    }
    signals.recv_timeout(Duration::from_secs(5)).unwrap();
    assert_eq!(state.drain(port, usize::MAX).unwrap().len(), 50);
    assert!(signals.try_recv().is_err(), "one signal for all fifty");
    state.submit(port, 0, async { Ok(Outcome::Unit) }).unwrap();
    signals.recv_timeout(Duration::from_secs(5)).unwrap();
    assert_eq!(state.port_fd(port).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(state.drain_wait(port, 1, None).unwrap_err().kind(), ErrorKind::InvalidArgument);
    state.free(HandleKind::Port, port).unwrap();
}

#[test]
fn handles_of_another_kind_and_wild_ones_are_invalid_arguments() {
    let state = enter().unwrap();
    let port = state.port_new().unwrap();
    let token = state.cancel_new().unwrap();
    for wrong in [0, 1, u64::MAX, token, port + 1_000_000] {
        assert_eq!(state.port_fd(wrong).unwrap_err().kind(), ErrorKind::InvalidArgument, "{wrong:#x}");
        assert_eq!(state.cancel(wrong).unwrap_err().kind(), ErrorKind::InvalidArgument, "{wrong:#x}");
    }
}

/// A hand-over within the process needs no other thread: both ends are there when the releasing call returns.
#[test]
fn what_a_submission_wakes_is_complete_when_it_returns() {
    let state = enter().unwrap();
    let port = state.port_new().unwrap();
    // However slow the machine, the hold may be handed on.
    let options = vec![("cohort_age".to_owned(), "7s".to_owned())];
    let open = ops::client_open(state, "memory://".to_owned(), options, None);
    let client = state.wait(open, None).unwrap();
    let lock = ops::lock_open(state, client, b"job", None, None, None).unwrap();
    let acquire =
        |n: u64| state.submit(port, n, ops::lock_acquire(state, lock, Holding::ByHandle, None, None)).unwrap();
    let held = |completion: Completion| match result(completion).unwrap() {
        Outcome::Held(held) => held.handle,
        other => panic!("{other:?}"),
    };
    acquire(0);
    let first = held(collect(port, 1).remove(0));
    for n in 1..=4 {
        acquire(n);
    }
    // By way of the store, for the first hold has no tokens for others. From here on there are.
    state.submit(port, 10, ops::held_release(state, first)).unwrap();
    let mut completions = collect(port, 2);
    completions.sort_by_key(|completion| completion.user_data);
    let mut holder = held(completions.remove(0));
    for n in 2..=4 {
        state.submit(port, 10 + n, ops::held_release(state, holder)).unwrap();
        let mut completions = state.drain(port, 10).unwrap();
        completions.sort_by_key(|completion| completion.user_data);
        assert_eq!(completions.iter().map(|completion| completion.user_data).collect::<Vec<_>>(), [n, 10 + n]);
        holder = held(completions.remove(0));
    }
    state.free(HandleKind::Port, port).unwrap();
}

/// Fails when what the draining call completes rings, or when what others complete meanwhile does not ring after all.
#[test]
fn a_draining_submission_returns_what_it_completes_and_is_quiet() {
    let state = enter().unwrap();
    let port = state.port_new().unwrap();
    let (_, done) = state.submit_and_drain(port, 1, async { Ok(Outcome::Unit) }, 10).unwrap();
    assert_eq!(done.iter().map(|completion| completion.user_data).collect::<Vec<_>>(), [1]);
    assert!(!readable(port, 0));
    state.submit(port, 2, async { Ok(Outcome::Unit) }).unwrap();
    assert!(readable(port, 0));
    let (_, done) = state.submit_and_drain(port, 3, async { Ok(Outcome::Unit) }, 1).unwrap();
    assert_eq!(done[0].user_data, 2, "oldest first");
    assert!(readable(port, 0), "one is left");
    let (_, done) = state.submit_and_drain(port, 4, pending::<Result<Outcome>>(), 10).unwrap();
    assert_eq!(done[0].user_data, 3);
    assert!(!readable(port, 0));
    state.free(HandleKind::Port, port).unwrap();
    assert!(state.submit_and_drain(port, 5, async { Ok(Outcome::Unit) }, 1).is_err());
}
