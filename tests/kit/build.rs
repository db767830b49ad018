//! Compiles the clock shim that `Server::with_clock` preloads into redis-server.

use std::{env, path::PathBuf, process::Command};

fn main() {
    println!("cargo:rerun-if-changed=shim/clock.c");
    println!("cargo:rerun-if-env-changed=CC");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("clock.so");
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
    let status = Command::new(&compiler)
        .args(["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&out)
        .arg("shim/clock.c")
        .status()
        .unwrap_or_else(|e| panic!("the test kit needs a C compiler; `{compiler}` did not start: {e}"));
    assert!(status.success(), "`{compiler}` could not compile shim/clock.c");
    println!("cargo:rustc-env=LIBDLOCK_CLOCK_SHIM={}", out.display());
}
