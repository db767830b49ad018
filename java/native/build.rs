//! Link arguments of the library in the jar.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A JVM that collects the class loader unloads the library: that must not pull the code away under the runtime's thread.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
