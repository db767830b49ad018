#!/usr/bin/env bash
# Runs a command many times in a row; the runs are what is counted. Shows the output of the runs that fail. After a good run
# DLOCK_BUILT=1 tells the next ones that nothing has to be built.
#   scripts/repeat.sh TIMES COMMAND...
set -uo pipefail
times=$1
shift
passed=0 failed=0
for run in $(seq "$times"); do
    if output=$("$@" 2>&1); then
        passed=$((passed + 1))
        export DLOCK_BUILT=1
        echo "run $run: $(tail -n 1 <<<"$output" | tr -d '=')"
    else
        failed=$((failed + 1))
        echo "run $run FAILED:"
        sed 's/^/| /' <<<"$output" # marked: what it says of itself is not counted
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
