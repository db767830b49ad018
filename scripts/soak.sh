#!/usr/bin/env bash
# Processes that contend for a handful of locks and everything else while a random fault comes every second; ends with one line of totals.
# Uses spare processor time only.
#   scripts/soak.sh MINUTES         SEED=n repeats a run's faults
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --quiet -p libdlock-faults --bin dlock-soak
exec nice "${CARGO_TARGET_DIR:-target}/debug/dlock-soak" "${1:?minutes}" ${SEED:+"$SEED"}
