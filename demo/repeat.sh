#!/usr/bin/env bash
# The demo's verdict many times in a row, and once without the lock to see that the verdict can fail.
#   demo/repeat.sh      REPEATS=20 times
set -uo pipefail
cd "$(dirname "$0")"
status=0
N=500 ../scripts/repeat.sh "${REPEATS:-20}" ./run.sh || status=1
if output=$(N=2000 WITHOUT_LOCK=1 ./run.sh 2>&1); then
    echo "without the lock the verdict should have failed:"
    echo "$output"
elif grep -q '^verdict: FAILED' <<<"$output"; then
    echo "without the lock: $(grep -m 1 WRONG <<<"$output")"
    echo "1 passed, 0 failed"
    exit $status
else
    echo "without the lock there was no verdict:"
    echo "$output"
fi
echo "0 passed, 1 failed"
exit 1
