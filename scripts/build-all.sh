#!/usr/bin/env bash
# Builds what several groups of tests need: the package of each language, Python's with the frameworks beside it, and libraries that
# panic when a test asks for it. The groups then run with DLOCK_PACKAGED=1.
set -euo pipefail
cd "$(dirname "$0")/.."
# Downloads beside the compiler.
py/tools.sh &
python=$!
node/install-tools.sh &
node=$!
scripts/packages.sh
wait "$python"
wait "$node"
py/install.sh
DLOCK_FAULT_INJECTION=1 scripts/build.sh libdlock-ffi libdlock-node libdlock-jni >/dev/null
