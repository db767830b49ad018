#!/usr/bin/env bash
# Builds the wheel, installs it into a fresh virtual environment and tests what was installed.
#   py/run-tests.sh            the normal run
#   py/run-tests.sh long       also what `make check-long` holds
# PYTHON chooses the interpreter (python3), DLOCK_PY_PROFILE the cargo profile of the wheel (release).
set -euo pipefail
cd "$(dirname "$0")"

python=${PYTHON:-python3}
profile=${DLOCK_PY_PROFILE:-release}
venv=$PWD/../build/py-venv
wheels=$PWD/../build/wheels
long=()
[ "${1:-}" = long ] && long=(--long)

rm -rf "$venv"
"$python" -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r requirements-dev.txt

rm -f "$wheels"/libdlock-*.whl
"$venv/bin/maturin" build --locked --profile "$profile" --interpreter "$venv/bin/python" --out "$wheels" --quiet
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$wheels"/libdlock-*.whl

./lint.sh "$venv"
# From the tests' folder, so that `import libdlock` finds what was installed and not python/libdlock.
cd tests
"$venv/bin/python" -m mypy.stubtest --concise libdlock._native
"$venv/bin/python" -m pytest "${long[@]}" --durations=5
