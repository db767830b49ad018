//! A forked child never goes on with its parent's generators: it would make the same ids.
//!
//! In a process to itself: a fork takes only the calling thread along.

use libdlock::ErrorKind;
use libdlock::id::Snowflake;

#[test]
fn a_child_has_no_part_in_its_parents_generators() {
    libdlock_testkit::own_process!();
    let parents = Snowflake::new(4, 2).unwrap();
    let before = parents.next_id().unwrap();
    // SAFETY: the child runs only this test's code on its one thread and leaves by `_exit`. The allocator is usable in it:
    // glibc and musl see to that.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let code = std::panic::catch_unwind(|| in_the_child(parents)).map_or(1, |()| 0);
        // SAFETY: ends the child without running the parent's exit handlers.
        unsafe { libc::_exit(code) };
    }
    let mut status = -1;
    // SAFETY: waits for the child made above; `status` outlives the call.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child's assertions failed, see above");
    assert!(parents.next_id().unwrap() > before);
}

fn in_the_child(parents: Snowflake) {
    assert_eq!(parents.next_id().unwrap_err().kind(), ErrorKind::Forked);
    assert_eq!(parents.next_ids(5).unwrap_err().kind(), ErrorKind::Forked);
    assert_eq!(parents.clone().fill(&mut [0]).unwrap_err().kind(), ErrorKind::Forked);
    drop(parents);
    let own = Snowflake::new(4, 3).unwrap();
    let first = own.next_id().unwrap();
    assert!(own.next_id().unwrap() > first);
}
