#!/usr/bin/env bash
# The Rust tests, and how long each took: rust-tests.sh ARGUMENTS... for the test programs. DLOCK_PROFILE is cargo's profile (quick).
set -uo pipefail
cd "$(dirname "$0")/.."
source scripts/test-threads.sh
profile=--profile=${DLOCK_PROFILE:-quick}
cargo test --quiet "$profile" --no-run || exit
echo "--- built"
# A test program says how long its tests took only when it takes itself for one of a nightly compiler.
runner="target.'cfg(all())'.runner=['env', 'RUSTC_BOOTSTRAP=1']"
status=0
cargo test "$profile" --no-fail-fast --lib --bins --tests --config "$runner" -- -Z unstable-options --report-time "$@" || status=$?
cargo test --quiet "$profile" --no-fail-fast --doc -- "$@" || status=$?
exit $status
