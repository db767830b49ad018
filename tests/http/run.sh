#!/usr/bin/env bash
# Limits over HTTP: the example application of every framework as a process, with a real client.
#   tests/http/run.sh         once, a load of 2 s
#   tests/http/run.sh long    the load alone, for 10 s
#   tests/http/run.sh TEST... only these: tests/http/test_load.py, tests/http/test_answers.py::test_it; -k flask for one framework
# An application that cannot be prepared or started is a failure of its tests. DLOCK_PY_PROFILE is the cargo profile of the
# wheel (release).
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=$PWD/build/http-venv
if ! cmp -s py/requirements-dev.txt "$venv/requirements-dev.txt"; then
    rm -rf "$venv"
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r py/requirements-dev.txt
    cp py/requirements-dev.txt "$venv/"
fi
rm -rf build/http-wheel
scripts/command.sh py/libdlock._native.data/scripts/dlock "${DLOCK_PY_PROFILE:-release}"
# It talks however quiet it is asked to be.
if ! log=$("$venv/bin/maturin" build --quiet --locked --profile "${DLOCK_PY_PROFILE:-release}" --manifest-path py/Cargo.toml \
    --out build/http-wheel --interpreter "$venv/bin/python" 2>&1); then
    echo "$log" >&2
    exit 1
fi
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-index --force-reinstall build/http-wheel/libdlock-*.whl

tests() { "$venv/bin/python" -m pytest -p no:cacheprovider -p no:asyncio "$@"; }
if [ "${1:-}" = long ]; then
    tests tests/http --long -m load -rP
elif [ $# -gt 0 ]; then
    tests "$@"
else
    tests tests/http
fi
