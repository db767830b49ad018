#!/usr/bin/env bash
# Limits over HTTP: the example application of every framework as a process, with a real client.
#   tests/http/run.sh         once, a load of 2 s
#   tests/http/run.sh long    the load alone, for 10 s
#   tests/http/run.sh TEST... only these: tests/http/test_load.py, tests/http/test_answers.py::test_it; -k flask for one framework
# An application that cannot be prepared or started is a failure of its tests. DLOCK_PROFILE is the cargo profile of what
# is built (quick).
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=$PWD/build/py-venv
export DLOCK_PROFILE=${DLOCK_PROFILE:-quick}
py/install.sh
echo "--- built"

tests() { "$venv/bin/python" -m pytest -p no:cacheprovider -p no:asyncio "$@"; }
if [ "${1:-}" = long ]; then
    tests tests/http --long -m load -rP
elif [ $# -gt 0 ]; then
    tests "$@"
else
    tests tests/http
fi
