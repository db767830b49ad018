#!/usr/bin/env bash
# Tests between languages, with the wheel that py/run-tests.sh installed.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x build/py-venv/bin/python ] || py/run-tests.sh
exec build/py-venv/bin/python -m pytest -p no:cacheprovider tests/interop "$@"
