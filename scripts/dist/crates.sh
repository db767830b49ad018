#!/usr/bin/env bash
# The crates that are published, into a folder: crates.sh FOLDER
# The packages are what git knows; --allow-dirty lets a working copy be tried.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
target=${CARGO_TARGET_DIR:-target}
cargo package --quiet --package libdlock-fork --package libdlock --no-verify --allow-dirty
cp "$target/package/libdlock-$version.crate" "$target/package/libdlock-fork-$version.crate" "$1/"
