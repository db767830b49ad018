//! A process may fork while another of its threads calls something for the first time: its child does not wait for what that
//! thread is making.

use std::env;
use std::panic::catch_unwind;
use std::process::Command;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use libdlock::Client;
use libdlock_testkit::Server;

const NAME: &str = "fork_first_use::a_child_does_not_wait_for_what_another_thread_makes";
/// The URL that a process forks with.
const ROLE: &str = "DLOCK_TEST_FORK_FIRST_USE";

/// Processes: each calls something for the first time once.
const PROCESSES: usize = 10;
const FORKS: usize = 12;
/// A child that hangs is ended by its alarm.
const CHILD_SECONDS: u32 = 30;

#[test]
fn a_child_does_not_wait_for_what_another_thread_makes() {
    if let Ok(url) = env::var(ROLE) {
        return fork_while_a_thread_begins(&url);
    }
    let server = Server::start();
    for process in 0..PROCESSES {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", NAME, "--nocapture"]).env(ROLE, server.url());
        let ended = command.output().unwrap();
        assert!(ended.status.success(), "process {process}: {}", String::from_utf8_lossy(&ended.stderr));
    }
}

fn fork_while_a_thread_begins(url: &str) {
    let client = Client::blocking_connect(url).unwrap();
    let begins = Barrier::new(2);
    let children: Vec<libc::pid_t> = thread::scope(|scope| {
        scope.spawn(|| {
            begins.wait();
            use_a_lock(&client);
        });
        begins.wait();
        (0..FORKS)
            .map(|_| {
                thread::sleep(Duration::from_micros(300));
                fork(|| use_a_lock(&Client::blocking_connect(url).unwrap()))
            })
            .collect()
    });
    let codes: Vec<i32> = children.into_iter().map(code_of).collect();
    assert_eq!(codes, [0; FORKS], "codes of children; {} for one that hung", libc::SIGALRM);
}

fn use_a_lock(client: &Client) {
    let lock = client.lock("job").unwrap();
    client.block_on(async { lock.acquire().await?.release().await }).unwrap();
}

/// Runs something in a child.
fn fork(run: impl FnOnce() + std::panic::UnwindSafe) -> libc::pid_t {
    // SAFETY: the child runs only this test's code on its one thread and leaves by `_exit`. The allocator is usable in it:
    // glibc and musl see to that.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "{}", std::io::Error::last_os_error());
    if child == 0 {
        // SAFETY: no handler is installed, so the signal ends the child.
        unsafe { libc::alarm(CHILD_SECONDS) };
        let code = catch_unwind(run).map_or(1, |()| 0);
        // SAFETY: ends the child without running the parent's exit handlers.
        unsafe { libc::_exit(code) }
    }
    child
}

fn code_of(child: libc::pid_t) -> i32 {
    let mut status = -1;
    // SAFETY: waits for a child of this process; `status` outlives the call.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    status
}
