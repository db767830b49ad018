#!/usr/bin/env bash
# Makes build/py-venv, with what requirements-dev.txt lists; kept until that file changes.
set -euo pipefail
cd "$(dirname "$0")"
venv=$PWD/../build/py-venv
# One at a time: linters and tests may want it at once.
mkdir -p ../build
exec 9>../build/py-venv.lock
flock 9
if ! cmp -s requirements-dev.txt "$venv/requirements-dev.txt"; then
    rm -rf "$venv"
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r requirements-dev.txt
    cp requirements-dev.txt "$venv/"
fi
