#!/usr/bin/env bash
# What is the same for all platforms: the crates, Python's source distribution, and npm's package without a native library:
# packages.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(realpath "$1")
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
scripts/dist/crates.sh "$out"
# It talks, and cannot be asked not to.
if ! log=$(build/venv/bin/maturin sdist --manifest-path py/Cargo.toml --out "$out" 2>&1); then
    echo "$log" >&2
    exit 1
fi
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
node/package.sh "$packages"
mv "$packages/libdlock-$version.tgz" "$out/"
