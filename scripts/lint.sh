#!/usr/bin/env bash
# Formatters in check mode and linters with warnings as errors, for every language. Every check runs; the last line counts.
#   scripts/lint.sh         all but what is slow
#   scripts/lint.sh long    only what that leaves out
set -uo pipefail
cd "$(dirname "$0")/.."

passed=0 failed=0
# The tests have compiled macros and build scripts in it already.
profile=--profile=${DLOCK_PROFILE:-quick}
check() {
    local what=$1 begun=${EPOCHREALTIME/./}
    shift
    if "$@"; then
        echo "ok      $what"
        passed=$((passed + 1))
    else
        echo "FAILED  $what: $*"
        failed=$((failed + 1))
    fi
    local tenths=$(((${EPOCHREALTIME/./} - begun) / 100000))
    echo "# $what: $((tenths / 10)).$((tenths % 10)) s"
}

c_files() { git ls-files -co --exclude-standard -- '*.c' '*.h' '*.cpp' '*.hpp' ':!include/dlock.h' ':!ffi-c/header'; } # cbindgen's, and what goes into it
clang_format() { c_files | xargs --no-run-if-empty clang-format --dry-run -Werror; }
# The scripts and drivers outside the package, with the tools that py/tools.sh installs.
python_rest() {
    local tools=build/py-venv/bin
    "$tools/ruff" check --quiet --config ruff.toml "$1" && "$tools/ruff" format --quiet --check --config ruff.toml "$1" &&
        MYPYPATH=py/python:scripts:tests/interop:tests/scenarios:tests/http:api:book:bench "$tools/mypy" --strict --no-error-summary --python-version 3.10 "$1"
}

counted() {
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
}

if [ "${1:-}" = long ]; then
    check "clippy, core without TLS" cargo clippy --quiet "$profile" -p libdlock --no-default-features -- -D warnings
    counted
    exit
fi
check "rustfmt" cargo fmt --all --check
check "clippy" cargo clippy --quiet "$profile" --workspace --all-targets -- -D warnings
check "rustdoc" env RUSTDOCFLAGS="-D warnings" cargo doc --quiet "$profile" --no-deps -p libdlock -p libdlock-tower -p libdlock-metrics
check "clang-format" clang_format
check "ruff, mypy --strict and pyright --strict: py" py/lint.sh
for folder in api scripts bench book demo examples tests/interop tests/scenarios tests/http tests/redisson ffi-c/tests; do
    check "ruff and mypy --strict: $folder" python_rest "$folder"
done
check "tsc, eslint and prettier: node" node/lint.sh
check "eslint and prettier: demo, bench, examples, tests" node/lint.sh demo bench examples tests/interop tests/scenarios
check "Error Prone, NullAway, formatter and javadoc: java" java/lint.sh
check "luacheck: the scripts of core" python3 scripts/lua.py
check "bash -n" bash -c 'git ls-files -co --exclude-standard -- "*.sh" .ci/run | xargs -n 1 bash -n'
counted
