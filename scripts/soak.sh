#!/usr/bin/env bash
# Processes that contend for a handful of locks and everything else while a random fault comes every second; ends with one line of totals.
# Uses spare processor time only.
#   scripts/soak.sh MINUTES         SEED=n repeats a run's faults
set -euo pipefail
cd "$(dirname "$0")/.."
built=$(scripts/build.sh libdlock-faults)
# Its files in memory where there is room: a disk that is busy with something else, such as a build, stops servers and workers for
# seconds, and that counts as a defect while nothing is disturbed.
if [ -z "${TMPDIR:-}" ] && [ "$(df --output=avail --block-size=1M /dev/shm 2>/dev/null | tail -n 1)" -gt 1024 ] 2>/dev/null; then
    export TMPDIR=/dev/shm
fi
exec nice "$built/dlock-soak" "${1:?minutes}" ${SEED:+"$SEED"}
