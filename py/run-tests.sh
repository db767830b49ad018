#!/usr/bin/env bash
# Builds the wheel, installs it into a virtual environment and tests what was installed.
#   py/run-tests.sh            the normal run
#   py/run-tests.sh TEST...    only these: test_lock.py, test_lock.py::test_it
#   py/run-tests.sh long       only what that leaves out: 200 exits, a panic in every export, other Pythons
# Most tests wait for a lease or a server: four processes run them beside one another. Tests that are named run in one.
# PYTHON chooses the interpreter (python3), DLOCK_PROFILE the cargo profile of the wheel (quick).
set -euo pipefail
cd "$(dirname "$0")"
export DLOCK_PROFILE=${DLOCK_PROFILE:-quick}
build=$PWD/../build
python=$build/py-venv/bin/python

# From the tests' folder, so that `import libdlock` finds what was installed and not python/libdlock.
run_pytest() {
    (cd tests && "$python" -m pytest "$@")
}

# In several processes.
run_beside() {
    run_pytest --numprocesses=4 --dist=worksteal "$@"
}

./install.sh
if [ "${1:-}" = long ]; then
    echo "--- built"
    # Two hundred exits of one test take longer than a hang may elsewhere.
    run_beside --long -m long -o faulthandler_timeout=900
    ./other-pythons.sh "$build"/wheels/libdlock-*.whl
    DLOCK_FAULT_INJECTION=1 WITHOUT_COMMAND=1 ../scripts/wheel.sh "$build/wheels-fault-injection"
    rm -rf "$build/py-fault-injection"
    "$python" -m pip install --quiet --disable-pip-version-check --no-index --target "$build/py-fault-injection" \
        "$build"/wheels-fault-injection/libdlock-*.whl
    DLOCK_FAULT_INJECTION=1 PYTHONPATH=$build/py-fault-injection run_beside test_panic.py
else
    echo "--- built"
    (cd tests && "$python" -m mypy.stubtest --concise libdlock._native)
    if [ $# -gt 0 ]; then run_pytest "$@"; else run_beside; fi
fi
