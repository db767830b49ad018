#!/usr/bin/env bash
# The tests of the C and C++ interface, against the installed files and a redis-server of their own.
#   ffi-c/tests/run.sh         all but what is slow
#   ffi-c/tests/run.sh long    only what that leaves out: exits 200 times over, the other programs under valgrind
# DLOCK_PROFILE is cargo's profile (quick).
set -euo pipefail
export DLOCK_PROFILE=${DLOCK_PROFILE:-quick}
exec python3 "$(dirname "$0")/run.py" "$@"
