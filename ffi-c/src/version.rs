//! Which library this is.

use std::ffi::{CStr, c_char};

/// The version of the binary interface that this header describes: the number in the SONAME. It changes when a program
/// has to be compiled anew.
pub const DLOCK_ABI_VERSION: u32 = 0;

/// The version of the binary interface of the library that is loaded; equals DLOCK_ABI_VERSION when the two fit.
#[unsafe(no_mangle)]
pub extern "C" fn dlock_abi_version() -> u32 {
    libdlock_bridge::guard("dlock_abi_version", || Ok(DLOCK_ABI_VERSION)).unwrap_or(u32::MAX)
}

/// The version of the library, such as "0.1.0". Static, NUL-terminated.
#[unsafe(no_mangle)]
pub extern "C" fn dlock_version() -> *const c_char {
    libdlock_bridge::guard("dlock_version", || Ok(VERSION)).unwrap_or(c"").as_ptr()
}

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};
