#!/usr/bin/env bash
# The tests of what belongs to no language: the totals, the vectors' readers, the demo's verdict. Standard library only.
set -uo pipefail
cd "$(dirname "$0")/.."
status=0
for tests in scripts/test_totals.py scripts/test_vectors.py demo/test_verdict.py; do
    python3 "$tests" || status=1
done
exit $status
