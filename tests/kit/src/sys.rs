//! The few system calls that std does not offer; all unsafe code of the kit is here.

use std::{
    fs::File,
    io,
    net::TcpStream,
    os::{fd::AsRawFd, unix::process::CommandExt},
    process::Command,
    sync::atomic::AtomicI64,
};

/// Sends a signal to a process that this process started and has not reaped yet.
pub fn signal(pid: u32, signal: i32) {
    // SAFETY: kill takes two integers and touches no memory of ours.
    let result = unsafe { libc::kill(pid as libc::pid_t, signal) };
    assert_eq!(result, 0, "kill({pid}, {signal}): {}", io::Error::last_os_error());
}

/// Makes the command's process die with the thread that spawns it.
pub fn die_with_parent(command: &mut Command) {
    // SAFETY: between fork and exec only prctl runs, which is async-signal-safe and allocates nothing.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
}

/// Sets SIGPIPE back to what a C program starts with: it ends the process.
pub fn restore_sigpipe() {
    // SAFETY: signal takes two integers, and SIG_DFL is no handler that could run.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// CLOCK_MONOTONIC in microseconds.
pub fn monotonic_us() -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec for the call to write to.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    assert_eq!(result, 0, "clock_gettime: {}", io::Error::last_os_error());
    now.tv_sec * 1_000_000 + now.tv_nsec / 1_000
}

/// Breaks the connection with an RST at once, also while other threads are blocked in it.
pub fn reset(stream: &TcpStream) {
    // Connecting to AF_UNSPEC dissolves the association there and then. SO_LINGER 0 would wait for the last close.
    let nowhere = libc::sockaddr { sa_family: libc::AF_UNSPEC as libc::sa_family_t, sa_data: [0; 14] };
    let size = size_of::<libc::sockaddr>() as libc::socklen_t;
    // SAFETY: `nowhere` is a whole sockaddr of the given size; the descriptor is open while `stream` lives. A failure
    // means that the connection is gone already.
    unsafe { libc::connect(stream.as_raw_fd(), &nowhere, size) };
}

/// Waits until this process alone has the file locked; the lock ends when the file is closed.
pub fn lock_exclusively(file: &File) {
    // SAFETY: flock takes two integers; the descriptor is open while `file` lives.
    let result = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) };
    assert_eq!(result, 0, "flock: {}", io::Error::last_os_error());
}

/// The same if nobody else has it locked now; whether it did.
pub fn try_lock_exclusively(file: &File) -> bool {
    // SAFETY: as in `lock_exclusively`.
    let result = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    let error = io::Error::last_os_error();
    assert!(result == 0 || error.kind() == io::ErrorKind::WouldBlock, "flock: {error}");
    result == 0
}

/// Locks one byte of a file for as long as the file is open here, if no other open file has it locked; whether it did.
pub fn try_lock_byte(file: &File, at: i64) -> bool {
    let byte = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: at,
        l_len: 1,
        l_pid: 0,
    };
    // SAFETY: `byte` is a whole flock that the call only reads; the descriptor is open while `file` lives.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &byte) };
    let error = io::Error::last_os_error();
    let taken = matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES));
    assert!(result == 0 || taken, "fcntl: {error}");
    result == 0
}

/// The user that this process runs as.
pub fn user() -> u32 {
    // SAFETY: getuid takes nothing and cannot fail.
    unsafe { libc::getuid() }
}

/// Integers at the start of a file, shared with every process that maps it. Never unmapped: a handful of pages a test run.
pub fn shared_integers<const N: usize>(file: &File) -> &'static [AtomicI64; N] {
    let size = size_of::<[AtomicI64; N]>();
    assert!(file.metadata().expect("stat").len() >= size as u64, "the file is shorter than what it is to hold");
    // SAFETY: a fresh shared mapping of at least `size` bytes (checked above), page-aligned, readable and writable; no
    // other reference to it exists in this process, and other processes access it atomically.
    unsafe {
        let map = libc::mmap(
            std::ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        );
        assert_ne!(map, libc::MAP_FAILED, "mmap: {}", io::Error::last_os_error());
        &*map.cast()
    }
}
