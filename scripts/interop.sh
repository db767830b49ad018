#!/usr/bin/env bash
# Tests between languages, with what is built and installed for them, and the scenarios that every language runs.
#   scripts/interop.sh         once
#   scripts/interop.sh long    what that leaves out, with REPEATS=20: 10,000 hand-overs, 100 losses in each language; then the
#                              normal run 19 times in a row
#   scripts/interop.sh TEST... only these: tests/scenarios, tests/interop/test_lost.py::test_it
# pytest takes options from PYTEST_ADDOPTS.
set -euo pipefail
cd "$(dirname "$0")/.."
export DLOCK_PROFILE=${DLOCK_PROFILE:-quick}
scripts/packages.sh
export DLOCK_PACKAGED=1
python=$PWD/build/venv/bin/python
for programs in tests/interop/workers.py tests/scenarios/runners.py; do
    PYTHONPATH=scripts:tests/interop "$python" $programs
done
echo "--- built"
# Several at a time, as most of them wait; those that measure how soon somebody is woken fewer. What shares a server and a process of
# each language stays together.
declare -A beside=([tests/interop]="-n 2 --dist loadfile" [tests/scenarios]="-n 4 --dist loadgroup")
# shellcheck disable=SC2086 # words
tests() { "$python" -m pytest -p no:cacheprovider ${beside[${1%%[/:]test_*}]} "$@"; }

if [ "${1:-}" = long ]; then
    repeats=${REPEATS:-20}
    # Those whose length these options set: the others would only do once more what the normal run does.
    tests tests/interop -m repeated -rP \
        --handovers $((500 * repeats)) --losses $((5 + 5 * repeats)) --rounds $((5 + 5 * repeats))
    scripts/repeat.sh $((repeats - 1)) scripts/interop.sh
    exit
fi
status=0
for folder in tests/interop tests/scenarios; do
    chosen=("$folder")
    if [ $# -gt 0 ]; then
        mapfile -t chosen < <(printf '%s\n' "$@" | grep "^$folder" || true)
    fi
    [ ${#chosen[@]} = 0 ] || tests "${chosen[@]}" || status=$?
done
exit $status
