//! Does nothing: without a build script cargo leaves this package's build dependencies aside.

fn main() {}
