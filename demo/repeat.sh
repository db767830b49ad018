#!/usr/bin/env bash
# The demo's verdict many times in a row, and once without the lock to see that the verdict can fail.
#   demo/repeat.sh [TIMES]      20
set -uo pipefail
cd "$(dirname "$0")"
passed=0 failed=0
for run in $(seq "${1:-20}"); do
    if output=$(N=500 ./run.sh 2>&1); then
        passed=$((passed + 1))
        export BUILT=1
        echo "run $run: $(tail -n 1 <<<"$output")"
    else
        failed=$((failed + 1))
        echo "run $run:"
        echo "$output"
    fi
done
if output=$(N=2000 WITHOUT_LOCK=1 ./run.sh 2>&1); then
    failed=$((failed + 1))
    echo "without the lock the verdict should have failed:"
    echo "$output"
elif grep -q '^verdict: FAILED' <<<"$output"; then
    passed=$((passed + 1))
    echo "without the lock: $(grep -m 1 WRONG <<<"$output")"
else
    failed=$((failed + 1))
    echo "without the lock there was no verdict:"
    echo "$output"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
