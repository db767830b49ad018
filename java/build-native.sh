#!/usr/bin/env bash
# Builds the native library for this machine and stages it where the jar takes it from: build-native.sh FOLDER [cargo's arguments]
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1
shift
target=${CARGO_TARGET_DIR:-target}
profile=release
for argument in "$@"; do
    [ "$argument" = --profile=dev ] && profile=debug
done
[ "$profile" = debug ] || set -- --release "$@"
cargo build --quiet -p libdlock-jni "$@"
platform=$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m) # as Library.platform has it
mkdir -p "$out/org/libdlock/native/$platform"
library=$out/org/libdlock/native/$platform/libdlock_jni.so
install -m 755 "$target/$profile/libdlock_jni.so" "$library"
# Line tables are five sixths of it.
[ -n "${KEEP_DEBUG:-}" ] || strip --strip-debug "$library"
