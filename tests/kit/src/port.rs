//! Free loopback ports.

use std::{
    net::TcpListener,
    sync::atomic::{AtomicU32, Ordering},
};

/// Ports below the range that the kernel hands to outgoing connections, so that a server which stops for a moment does
/// not lose its port to a client of some other test.
const FIRST: u32 = 20_000;
const COUNT: u32 = 12_000;

/// A port on 127.0.0.1 that nobody listens on at the moment. Another process may still take it before the caller does:
/// whoever binds it must be ready to ask for another.
pub fn free() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(7919);
    for _ in 0..COUNT {
        let n = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = (FIRST + n % COUNT) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no free port between {FIRST} and {}", FIRST + COUNT);
}
