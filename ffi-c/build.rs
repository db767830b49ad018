//! Link arguments of libdlock.so, and of libdlock.dylib; dlock.dll needs none.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_VENDOR").as_deref() == Ok("apple") {
        // Programs look for it where their own rpath says.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libdlock.0.dylib");
        return;
    }
    if std::env::var("CARGO_CFG_TARGET_FAMILY").as_deref() == Ok("windows") {
        return;
    }
    // The number is DLOCK_ABI_VERSION: programs record it when they are linked, so that an incompatible library is a
    // loader's error and not a crash.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libdlock.so.0");
    // A host that unloads the library would pull the code away under its runtime's thread and its fork handler.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
