#!/usr/bin/env bash
# What is the same for all platforms: the crates, Python's source distribution, and npm's package without a native library:
# packages.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(realpath "$1")
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
target=${CARGO_TARGET_DIR:-target}
cargo package --quiet --package libdlock-fork --package libdlock --no-verify --allow-dirty
cp "$target/package/libdlock-$version.crate" "$target/package/libdlock-fork-$version.crate" "$out/"
# It talks, and cannot be asked not to.
if ! log=$(build/venv/bin/maturin sdist --manifest-path py/Cargo.toml --out "$out" 2>&1); then
    echo "$log" >&2
    exit 1
fi
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
node/package.sh "$packages"
mv "$packages/libdlock-$version.tgz" "$out/"
