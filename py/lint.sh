#!/usr/bin/env bash
# ruff and mypy --strict, and pyright --strict on what users' programs are like; builds nothing.
set -euo pipefail
cd "$(dirname "$0")"
./tools.sh
venv=$PWD/../build/py-venv
"$venv/bin/ruff" check --quiet python tests
"$venv/bin/ruff" format --quiet --check python tests
MYPYPATH=python "$venv/bin/mypy" --no-error-summary python/libdlock tests
../node/install-tools.sh
../node/node_modules/.bin/pyright --project pyrightconfig.json --pythonpath "$venv/bin/python"
