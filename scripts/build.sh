#!/usr/bin/env bash
# Builds crates of the workspace with one call of cargo, in which their shared dependencies have the same features and are compiled
# once; prints the folder that has the results: build.sh PACKAGE...
# DLOCK_PROFILE is cargo's profile: `release` (what users get, and the default), `quick` for tests and the demo, `dev`.
# DLOCK_FAULT_INJECTION=1 builds libraries with the feature of that name. They have a folder of their own, and with DLOCK_PACKAGED=1
# what is there is taken.
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${DLOCK_PROFILE:-release}
folder=$(realpath -m "${CARGO_TARGET_DIR:-target}")/${profile/#dev/debug}
build() { cargo build --quiet --locked --profile "$profile" --package=libdlock-features "${@/#/--package=}" "${features[@]}"; }
features=()
if [ -n "${DLOCK_FAULT_INJECTION:-}" ]; then
    with_faults=$folder/fault-injection
    if [ -z "${DLOCK_PACKAGED:-}" ] || [ ! -d "$with_faults" ]; then
        for package in "$@"; do features+=("--features=$package/fault-injection"); done
        build "$@"
        mkdir -p "$with_faults"
        for library in dlock dlock_node dlock_jni; do
            ! cp -f "$folder/lib$library".* "$with_faults/" 2>/dev/null || rm -f "$with_faults"/*.d
        done
        # The folder of all others has what it had.
        features=()
        build "$@"
    fi
    folder=$with_faults
else
    build "$@"
fi
echo "$folder"
