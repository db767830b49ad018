#!/usr/bin/env bash
# Builds the jar and puts it at build/java/libdlock.jar: what the demo, the benchmarks, the tests between languages and the README's
# programs use.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=$PWD/build/java-packages
rm -rf "$packages"
mkdir -p "$packages" build/java
java/package.sh "$packages"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
install -m 644 "$packages/libdlock-$version.jar" build/java/libdlock.jar
