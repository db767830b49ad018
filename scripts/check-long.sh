#!/usr/bin/env bash
# What is too slow for every run: repeats, exits, soak; the tests between languages and the demo's verdict REPEATS=20 times in a row,
# of which `make test` is the first for the tests. Fewer REPEATS also shorten property tests, hand-overs and the soak in proportion.
# Ends with one line of totals.
#   scripts/check-long.sh           everything
#   scripts/check-long.sh GROUP...  only these groups: rust c python node java interop redisson demo soak
set -euo pipefail
cd "$(dirname "$0")/.."

# `{only}`: the names of single tests, see scripts/totals.py.
declare -A command=(
    [rust]="cargo test --quiet --no-fail-fast -- --ignored {only}"
    [c]="ffi-c/tests/run.sh long"
    [python]="py/run-tests.sh long"
    [node]="node/run-tests.sh long"
    [java]="java/run-tests.sh long"
    [interop]="scripts/interop.sh long"
    [redisson]="tests/redisson/run.sh long"
    [demo]="demo/repeat.sh"
    [soak]="scripts/soak.sh $(((${REPEATS:-20} + 6) / 7))" # minutes
)
# Two lanes, whose groups build in folders of their own.
[ $# -gt 0 ] || set -- rust c java / python node interop redisson demo soak
groups=()
for group in "$@"; do
    if [ "$group" = / ]; then
        groups+=(/)
    else
        groups+=("$group=${command[$group]:?there is no group $group}")
    fi
done
exec python3 scripts/totals.py "${groups[@]}"
