//! The dependencies of this package are all of it; see `Cargo.toml`.
