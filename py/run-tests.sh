#!/usr/bin/env bash
# Builds the wheel, installs it into a fresh virtual environment and tests what was installed.
#   py/run-tests.sh            the normal run
#   py/run-tests.sh TEST...    only these: test_lock.py, test_lock.py::test_it
#   py/run-tests.sh long       only what that leaves out: 200 exits, a panic in every export, other Pythons
# PYTHON chooses the interpreter (python3), DLOCK_PY_PROFILE the cargo profile of the wheel (release).
set -euo pipefail
cd "$(dirname "$0")"

python=${PYTHON:-python3}
build=$PWD/../build
venv=$build/py-venv

# Profile, folder for the wheel, further arguments to maturin.
build_wheel() {
    local profile=$1 wheels=$2
    shift 2
    rm -rf "$wheels"
    "$venv/bin/maturin" build --quiet --locked --profile "$profile" --out "$wheels" \
        --interpreter "$venv/bin/python" "$@"
}

install_wheel() {
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-index --force-reinstall "$1"/libdlock-*.whl
}

# From the tests' folder, so that `import libdlock` finds what was installed and not python/libdlock.
run_pytest() {
    (cd tests && "$venv/bin/python" -m pytest "$@")
}

rm -rf "$venv"
"$python" -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r requirements-dev.txt
./lint.sh "$venv"

../scripts/command.sh py/libdlock._native.data/scripts/dlock "${DLOCK_PY_PROFILE:-release}"
build_wheel "${DLOCK_PY_PROFILE:-release}" "$build/wheels"
install_wheel "$build/wheels"
(cd tests && "$venv/bin/python" -m mypy.stubtest --concise libdlock._native)
if [ "${1:-}" = long ]; then
    run_pytest --long -m long --durations=5
    ./other-pythons.sh "$build"/wheels/libdlock-*.whl
    build_wheel dev "$build/wheels-fault-injection" --features fault-injection
    install_wheel "$build/wheels-fault-injection"
    trap 'install_wheel "$build/wheels"' EXIT # the environment is used by others too: tests/interop
    DLOCK_FAULT_INJECTION=1 run_pytest test_panic.py
else
    run_pytest --durations=5 "$@"
fi
