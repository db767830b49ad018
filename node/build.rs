//! What a linker has to be told for an addon: Node itself brings the symbols of Node-API.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    napi_build::setup();
    // The runtime's thread outlives a worker that unloads the addon, so the code has to stay.
    // macOS has no such flag.
    if std::env::var("CARGO_CFG_TARGET_VENDOR").as_deref() != Ok("apple") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
