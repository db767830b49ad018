#!/usr/bin/env bash
# Builds the Python wheel: wheel.sh FOLDER, which then has this wheel and nothing else.
# The tools are those of build/venv: with another interpreter the extension would be compiled once more.
# DLOCK_PROFILE and DLOCK_FAULT_INJECTION as for build.sh. WITHOUT_COMMAND=1 leaves the command `dlock` out.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
venv=$PWD/build/venv
if [ ! -x "$venv/bin/maturin" ] || ! "$venv/bin/python" -c 'import pytest, xdist' 2>/dev/null; then
    rm -rf "$venv"
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check $(grep -E '^(maturin|pytest|pytest-xdist)=' py/requirements-dev.txt)
fi
command=py/libdlock._native.data/scripts/dlock
if [ -n "${WITHOUT_COMMAND:-}" ]; then rm -f "$command"; else scripts/command.sh "$command"; fi
rm -rf "$folder"
# It talks however quiet it is asked to be.
if ! log=$("$venv/bin/maturin" build --quiet --locked --profile "${DLOCK_PROFILE:-release}" --manifest-path py/Cargo.toml \
    --out "$folder" --interpreter "$venv/bin/python" ${DLOCK_FAULT_INJECTION:+--features=fault-injection} 2>&1); then
    echo "$log" >&2
    exit 1
fi
