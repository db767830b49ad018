#!/usr/bin/env bash
# Builds the wheel and installs it into build/py-venv, beside the frameworks with which it is tested. With DLOCK_PACKAGED=1 it was just
# done.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -z "${DLOCK_PACKAGED:-}" ] || exit 0
py/tools.sh
scripts/wheel.sh build/wheels
build/py-venv/bin/pip install --quiet --disable-pip-version-check --no-index --force-reinstall build/wheels/libdlock-*.whl
