#!/usr/bin/env bash
# Builds the Python wheel and installs it into build/venv: what the demo, the benchmarks, the tests between languages
# and the README's programs use.
# DLOCK_PY_PROFILE chooses cargo's profile (release).
# Prints nothing but errors; a second run with nothing changed takes a second or two.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$PWD/build/venv
if [ ! -x "$venv/bin/maturin" ] || [ ! -x "$venv/bin/pytest" ]; then
    rm -rf "$venv"
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check $(grep -E '^(maturin|pytest)=' py/requirements-dev.txt)
fi
rm -rf build/venv-wheel
profile=${DLOCK_PY_PROFILE:-release}
scripts/command.sh py/libdlock._native.data/scripts/dlock "$profile"
# It talks however quiet it is asked to be.
if ! log=$("$venv/bin/maturin" build --quiet --locked --profile "$profile" --manifest-path py/Cargo.toml --out build/venv-wheel \
    --interpreter "$venv/bin/python" 2>&1); then
    echo "$log" >&2
    exit 1
fi
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-index --force-reinstall build/venv-wheel/libdlock-*.whl
