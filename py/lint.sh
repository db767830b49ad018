#!/usr/bin/env bash
# ruff and mypy --strict; builds nothing: py/lint.sh [VENV]. VENV has what requirements-dev.txt lists; without it one is made
# under build/ and kept until that file changes.
set -euo pipefail
cd "$(dirname "$0")"

venv=${1:-$PWD/../build/py-lint-venv}
if [ $# -eq 0 ] && ! cmp -s requirements-dev.txt "$venv/requirements-dev.txt"; then
    rm -rf "$venv"
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r requirements-dev.txt
    cp requirements-dev.txt "$venv/"
fi

"$venv/bin/ruff" check --quiet python tests
"$venv/bin/ruff" format --quiet --check python tests
MYPYPATH=python "$venv/bin/mypy" --no-error-summary python/libdlock tests
