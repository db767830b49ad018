//! Which server the tests start.

use std::{ffi::OsString, process::Command, sync::OnceLock};

/// The variable that names the program. `scripts/servers.sh NAME COMMAND` sets it for a command.
pub const VARIABLE: &str = "DLOCK_TEST_SERVER";

/// The program that every test server is a process of: what [`VARIABLE`] names, else the `redis-server` of the `PATH`.
pub fn path() -> OsString {
    std::env::var_os(VARIABLE).unwrap_or_else(|| "redis-server".into())
}

/// The same for a server that has to speak TLS. Not every build does; then it is the `redis-server` of the `PATH`, because what
/// the tests of TLS look at is the client's side.
pub fn with_tls() -> OsString {
    static SPEAKS_TLS: OnceLock<bool> = OnceLock::new();
    let speaks_tls = || {
        let output = Command::new(path()).args(["--port", "0", "--tls-port", "1"]).output();
        let output = output.unwrap_or_else(|e| panic!("cannot start {}: {e}", path().display()));
        // It lacks a certificate and ends. A build without TLS does not come so far.
        String::from_utf8_lossy(&output.stdout).contains("Failed to configure TLS")
    };
    if *SPEAKS_TLS.get_or_init(speaks_tls) { path() } else { "redis-server".into() }
}

/// The first number of its version, for options that older servers do not start with. Whatever a running server can be asked is
/// not to be guessed from this.
pub fn major_version() -> u32 {
    static MAJOR: OnceLock<u32> = OnceLock::new();
    *MAJOR.get_or_init(|| {
        let output = Command::new(path()).arg("--version").output();
        let output = output.unwrap_or_else(|e| panic!("cannot start {}: {e}", path().display()));
        // Redis server v=6.2.14 sha=...
        let told = String::from_utf8_lossy(&output.stdout);
        let number = told.split_once(" v=").and_then(|(_, version)| version.split('.').next()?.parse().ok());
        number.unwrap_or_else(|| panic!("{} tells no version: {told}", path().display()))
    })
}
