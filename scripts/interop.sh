#!/usr/bin/env bash
# Tests between languages, with what is built and installed for them, and the scenarios that every language runs.
#   scripts/interop.sh         once
#   scripts/interop.sh long    with REPEATS=20: 10,000 hand-overs, 100 losses in each language; then 20 times in a row
# Further arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -n "${DLOCK_BUILT:-}" ] || scripts/python-venv.sh
tests() { build/venv/bin/python -m pytest -p no:cacheprovider tests/interop "$@"; }

if [ "${1:-}" = long ]; then
    shift
    repeats=${REPEATS:-20}
    tests --handovers $((500 * repeats)) --losses $((5 * repeats)) --rounds $((5 * repeats)) -rP "$@"
    scripts/repeat.sh "$repeats" scripts/interop.sh "$@"
else
    status=0
    tests "$@" || status=$?
    [ $# -gt 0 ] || build/venv/bin/python -m pytest -p no:cacheprovider tests/scenarios || status=$?
    exit $status
fi
