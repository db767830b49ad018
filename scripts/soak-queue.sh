#!/usr/bin/env bash
# Producers and consumers of a delayed queue while a random fault comes every second; ends with one line of totals. Uses spare processor
# time only.
#   scripts/soak-queue.sh        SOAK_SECONDS=60 is how long, SEED=n repeats a run's faults
set -euo pipefail
cd "$(dirname "$0")/.."
built=$(scripts/build.sh libdlock-faults)
# As for scripts/soak.sh: files in memory where there is room.
if [ -z "${TMPDIR:-}" ] && [ "$(df --output=avail --block-size=1M /dev/shm 2>/dev/null | tail -n 1)" -gt 1024 ] 2>/dev/null; then
    export TMPDIR=/dev/shm
fi
exec nice "$built/dlock-queue-soak" "${SOAK_SECONDS:-60}" ${SEED:+"$SEED"}
