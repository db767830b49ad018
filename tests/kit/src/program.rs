//! Which server the tests start.

use std::ffi::OsString;

/// The variable that names the program. `scripts/servers.sh NAME COMMAND` sets it for a command.
pub const VARIABLE: &str = "DLOCK_TEST_SERVER";

/// The program that every test server is a process of: what [`VARIABLE`] names, else the `redis-server` of the `PATH`.
pub fn path() -> OsString {
    std::env::var_os(VARIABLE).unwrap_or_else(|| "redis-server".into())
}
