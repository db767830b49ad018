#!/usr/bin/env bash
# Every test of every language; ends with one line of totals. Each group starts servers of its own on free ports.
#   scripts/test.sh                           everything, in two lanes
#   scripts/test.sh GROUP... [/ GROUP...]...  only these groups: scripts lint rust c python node java interop redisson docs;
#                                             groups behind a `/` run beside the others
set -euo pipefail
cd "$(dirname "$0")/.."

# `{only}`: the names of single tests, see scripts/totals.py.
declare -A command=(
    [scripts]="scripts/test-scripts.sh"
    [lint]="scripts/lint.sh"
    [rust]="cargo test --quiet --no-fail-fast -- {only}"
    [c]="ffi-c/tests/run.sh"
    [python]="py/run-tests.sh {only}"
    [node]="node/run-tests.sh"
    [java]="java/run-tests.sh"
    [interop]="scripts/interop.sh {only}"
    [redisson]="tests/redisson/run.sh {only}"
    [docs]="scripts/test-docs.sh"
)
# Two lanes, whose groups build in folders of their own.
[ $# -gt 0 ] || set -- scripts lint java rust c / python node interop redisson docs
groups=()
for group in "$@"; do
    if [ "$group" = / ]; then
        groups+=(/)
    else
        groups+=("$group=${command[$group]:?there is no group $group}")
    fi
done
exec python3 scripts/totals.py "${groups[@]}"
