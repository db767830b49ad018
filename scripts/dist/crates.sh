#!/usr/bin/env bash
# The crates that are published, into a folder: crates.sh FOLDER
# The packages are what git knows; --allow-dirty lets a working copy be tried.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
target=${CARGO_TARGET_DIR:-target}
crates=(libdlock-fork libdlock libdlock-tower libdlock-metrics)
cargo package --quiet "${crates[@]/#/--package=}" --no-verify --allow-dirty
for crate in "${crates[@]}"; do cp "$target/package/$crate-$version.crate" "$1/"; done
