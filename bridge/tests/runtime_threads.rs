//! The option `runtime_threads`: in a process to itself, because the first client of a process decides.

use std::time::{Duration, Instant};

use libdlock_bridge::{enter, ops};

/// The worker threads of libdlock's runtime in this process.
fn workers() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim_end() == "libdlock").count()
}

#[test]
fn the_first_client_decides_how_many_threads_there_are() {
    libdlock_testkit::own_process!();
    let state = enter().unwrap();
    let open = |threads: &str| {
        let options = vec![("runtime_threads".to_owned(), threads.to_owned())];
        state.wait(ops::client_open(state, "memory://".to_owned(), options, None), None)
    };
    assert_eq!(workers(), 0);
    open("3").unwrap();
    // A thread takes its name when it first runs.
    let patience = Instant::now() + Duration::from_secs(10);
    while workers() < 3 && Instant::now() < patience {
        std::thread::yield_now();
    }
    assert_eq!(workers(), 3);
    open("5").unwrap();
    assert_eq!(workers(), 3);
    assert!(open("65").unwrap_err().message().contains("1 to 64"));
}
