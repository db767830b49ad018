//! Link arguments of the library in the jar.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A JVM that collects the class loader unloads the library: that must not pull the code away under the runtime's thread.
    // macOS has no such flag.
    if std::env::var("CARGO_CFG_TARGET_VENDOR").as_deref() != Ok("apple") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
