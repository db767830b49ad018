#!/usr/bin/env bash
# Tests between languages, with what is built and installed for them; arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -n "${DLOCK_BUILT:-}" ] || scripts/python-venv.sh
exec build/venv/bin/python -m pytest -p no:cacheprovider tests/interop "$@"
