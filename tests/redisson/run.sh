#!/usr/bin/env bash
# Tests beside the real Redisson, in a JVM of its own.
#   tests/redisson/run.sh         once
#   tests/redisson/run.sh long    with REPEATS=20: 10,000 alternating hand-overs; then the normal run 19 times in a row
#   tests/redisson/run.sh TEST... only these: tests/redisson/test_latch.py::test_it
# pytest takes options from PYTEST_ADDOPTS. JDK 17 and Maven have to be there; Maven needs the network the first time only.
set -euo pipefail
cd "$(dirname "$0")/../.."

build=build/redisson-peer
if [ -z "$(find "$build/built" -newer tests/redisson/peer/pom.xml 2>/dev/null)" ] ||
    [ -n "$(find tests/redisson/peer/src -newer "$build/built")" ]; then
    rm -rf "$build"
    compile() { mvn --quiet --batch-mode --file tests/redisson/peer/pom.xml "$@" process-classes; }
    # Offline it is quicker, and does not depend on anybody; what it lacks it says in the run that fetches it.
    compile --offline >/dev/null 2>&1 || compile
    touch "$build/built"
fi

export DLOCK_PROFILE=${DLOCK_PROFILE:-quick}
scripts/packages.sh
export DLOCK_PACKAGED=1
PYTHONPATH=scripts build/venv/bin/python tests/interop/workers.py
scripts/build.sh libdlock-redisson-worker >/dev/null
echo "--- built"
# Two files at a time, as most tests wait: each with a server, a JVM of Redisson and a process of each language.
tests() { build/venv/bin/python -m pytest -p no:cacheprovider -n 2 --dist loadfile "$@"; }

if [ "${1:-}" = long ]; then
    repeats=${REPEATS:-20}
    tests tests/redisson --handovers $((500 * repeats)) -k alternating
    scripts/repeat.sh $((repeats - 1)) tests/redisson/run.sh
elif [ $# -gt 0 ]; then
    tests "$@"
else
    tests tests/redisson
fi
