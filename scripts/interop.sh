#!/usr/bin/env bash
# Tests between languages, with what is built and installed for them.
#   scripts/interop.sh         once
#   scripts/interop.sh long    10,000 hand-overs, 100 losses in each language; then REPEATS=20 times in a row
# Further arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -n "${DLOCK_BUILT:-}" ] || scripts/python-venv.sh
tests() { build/venv/bin/python -m pytest -p no:cacheprovider tests/interop "$@"; }

if [ "${1:-}" = long ]; then
    shift
    tests --handovers 10000 --losses 100 --rounds 100 -rP "$@"
    scripts/repeat.sh "${REPEATS:-20}" scripts/interop.sh "$@"
else
    tests "$@"
fi
