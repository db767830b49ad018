#!/usr/bin/env bash
# Builds libdlock.so and stages it with its headers in build/c, for the demo and the benchmarks. (`make install` is for users.)
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --quiet -p libdlock-ffi
mkdir -p build/c/lib
install -m 755 "${CARGO_TARGET_DIR:-target}/release/libdlock.so" build/c/lib/libdlock.so.0
ln -sf libdlock.so.0 build/c/lib/libdlock.so
ln -sfn ../../include build/c/include
