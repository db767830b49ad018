#!/usr/bin/env bash
# The tests of the C and C++ interface, against the installed files and a redis-server of their own.
#   ffi-c/tests/run.sh         all but what is slow
#   ffi-c/tests/run.sh long    only what is slow: exits 200 times over, everything under valgrind
set -euo pipefail
exec python3 "$(dirname "$0")/run.py" "$@"
