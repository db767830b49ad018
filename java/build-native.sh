#!/usr/bin/env bash
# Builds the native library for this machine and stages it where the jar takes it from: build-native.sh FOLDER
# DLOCK_PROFILE and DLOCK_FAULT_INJECTION as for scripts/build.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$1
built=$(scripts/build.sh libdlock-jni)
platform=$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m) # as Library.platform has it
mkdir -p "$out/org/libdlock/native/$platform"
library=$out/org/libdlock/native/$platform/libdlock_jni.so
install -m 755 "$built/libdlock_jni.so" "$library"
# Line tables are five sixths of it.
[ -n "${KEEP_DEBUG:-}" ] || strip --strip-debug "$library"
