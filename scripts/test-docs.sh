#!/usr/bin/env bash
# Compiles and runs the programs of the README, the quickstart and examples/, as a reader would; then follows the README from an empty
# folder, with the packages that would be published; builds the site and looks at it.
#   scripts/test-docs.sh         all but what is slow
#   scripts/test-docs.sh long    only what that leaves out: the README's steps for Rust
set -euo pipefail
cd "$(dirname "$0")/.."
export DLOCK_PROFILE=${DLOCK_PROFILE:-quick}
if [ "${1:-}" = long ]; then
    mkdir -p build/dist
    DLOCK_LONG=1 exec python3 scripts/test_newcomer.py Newcomer.test_rust
fi
scripts/packages.sh
DLOCK_PACKAGED=1 scripts/dist.sh >/dev/null
echo "--- built"
# What uses the packages of build/dist, beside all else.
lane() {
    local tests status=0
    for tests in "$@"; do python3 "scripts/$tests.py" || status=1; done
    return $status
}
status=0
said=$(mktemp)
trap 'rm -f "$said"' EXIT
lane test_command test_newcomer >"$said" 2>&1 &
lane test_examples test_docs test_book || status=1
wait $! || status=1
cat "$said"
exit $status
