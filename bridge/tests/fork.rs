//! A forked child: old handles say so, new ones work, and nothing hangs on what the parent's threads held.
//!
//! In a process to itself: a fork takes only the calling thread along.

use libdlock::ErrorKind;
use libdlock_bridge::{HandleKind, Outcome, What, enter, ops};

#[test]
fn a_child_gets_a_state_of_its_own_and_its_parent_keeps_working() {
    libdlock_testkit::own_process!();
    let parent = enter().unwrap();
    let port = parent.port_new().unwrap();
    let given = ops::SnowflakeArgs { datacenter: 1, worker: 1, layout: None, borrow_ahead_ms: 0, start_wait_ms: None };
    let ids = ops::snowflake_open(parent, given).unwrap();
    ops::snowflake_next_id(parent, ids).unwrap();
    // SAFETY: the child runs only this test's code on its one thread and leaves by `_exit`. The allocator is usable in it:
    // glibc and musl see to that.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let code = std::panic::catch_unwind(|| in_the_child(port, ids)).map_or(1, |()| 0);
        // SAFETY: ends the child without running the parent's exit handlers.
        unsafe { libc::_exit(code) };
    }
    let mut status = -1;
    // SAFETY: waits for the child made above; `status` outlives the call.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child's assertions failed, see above");
    assert!(std::ptr::eq(enter().unwrap(), parent));
    assert!(parent.drain(port, 1).unwrap().is_empty());
    ops::snowflake_next_id(parent, ids).unwrap();
}

fn in_the_child(parents_port: u64, parents_ids: u64) {
    let state = enter().unwrap();
    assert_eq!(state.drain(parents_port, 1).unwrap_err().kind(), ErrorKind::Forked);
    assert_eq!(state.free(HandleKind::Port, parents_port).unwrap_err().kind(), ErrorKind::Forked);
    // Also though this thread, which was the parent's, has the generator at hand.
    assert_eq!(ops::snowflake_next_id(state, parents_ids).unwrap_err().kind(), ErrorKind::Forked);
    assert_eq!(ops::snowflake_decode(state, parents_ids, 1).unwrap_err().kind(), ErrorKind::Forked);
    assert_eq!(state.free(HandleKind::Snowflake, parents_ids).unwrap_err().kind(), ErrorKind::Forked);
    let port = state.port_new().unwrap();
    assert_ne!(port, parents_port);
    state.submit(port, 9, async { Ok(Outcome::Unit) }).unwrap();
    let fd = state.port_fd(port).unwrap();
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one live pollfd, and the count says one.
    assert_eq!(unsafe { libc::poll(&mut poll, 1, 5_000) }, 1, "the child's own runtime runs");
    let completion = state.drain(port, 1).unwrap().remove(0);
    assert!(matches!(completion.what, What::Done(Ok(Outcome::Unit))));
}
