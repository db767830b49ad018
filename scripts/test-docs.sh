#!/usr/bin/env bash
# Compiles and runs the programs of the README, the quickstart and examples/, as a reader would; then follows the README from an empty
# folder, with the packages that would be published; builds the site and looks at it.
set -euo pipefail
cd "$(dirname "$0")/.."
export DLOCK_PROFILE=${DLOCK_PROFILE:-quick}
scripts/packages.sh
DLOCK_PACKAGED=1 scripts/dist.sh >/dev/null
echo "--- built"
status=0
for tests in test_examples test_docs test_command test_newcomer test_book; do
    python3 "scripts/$tests.py" || status=1
done
exit $status
