//! Free loopback ports.

use std::{
    fs::{File, OpenOptions},
    net::TcpListener,
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use crate::sys;

/// Ports below the range that the kernel hands to outgoing connections, so that a server which stops for a moment does
/// not lose its port to a client of some other test.
const FIRST: u32 = 20_000;
const COUNT: u32 = 12_000;

/// A port on 127.0.0.1 that nobody listens on and that no other process gets from here while this one lives, so that a
/// server that was stopped and a proxy that refuses get theirs again. A program that does not ask here may still take it:
/// a caller must be ready to ask for another.
pub fn free() -> u16 {
    static PORTS: OnceLock<Ports> = OnceLock::new();
    let ports = PORTS.get_or_init(|| {
        let path = std::env::temp_dir().join(format!("dlock-ports-{}", sys::user()));
        Ports::new(&path, std::process::id().wrapping_mul(7919))
    });
    ports.free()
}

/// The ports of one process.
struct Ports {
    /// Byte N is locked by the process that has port N.
    file: File,
    next: AtomicU32,
}

impl Ports {
    fn new(path: &Path, start: u32) -> Ports {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path);
        let file = file.unwrap_or_else(|e| panic!("cannot open {}: {e}", path.display()));
        Ports { file, next: AtomicU32::new(start) }
    }

    fn free(&self) -> u16 {
        for _ in 0..COUNT {
            let port = FIRST + self.next.fetch_add(1, Ordering::Relaxed) % COUNT;
            let port = u16::try_from(port).expect("a port");
            if sys::try_lock_byte(&self.file, port.into()) && TcpListener::bind(("127.0.0.1", port)).is_ok() {
                return port;
            }
        }
        panic!("no free port between {FIRST} and {}", FIRST + COUNT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temp::TempDir;

    /// Two open files stand for two processes: their locks exclude each other in the same way.
    #[test]
    fn a_port_is_given_to_one_process_while_it_lives() {
        let dir = TempDir::new();
        let [one, other] = [7, 7].map(|start| Ports::new(&dir.path().join("ports"), start));
        let first = one.free();
        assert_ne!(other.free(), first, "though nobody listens on it");
        drop(one);
        let third = Ports::new(&dir.path().join("ports"), 7);
        assert_eq!(third.free(), first);
    }
}
