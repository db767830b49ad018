#!/usr/bin/env bash
# The tests of what belongs to no language: the facts, the totals, the vectors' readers, the primitives' list, the published crates, the layers of core and bridge, the names of tests, the table of faults, the pictures of the docs, the verdicts of the demo. Standard library only.
set -uo pipefail
cd "$(dirname "$0")/.."
status=0
for tests in api/test_written.py scripts/test_totals.py scripts/test_vectors.py scripts/test_primitives.py scripts/test_package.py scripts/test_layers.py scripts/test_names.py scripts/test_faults.py scripts/test_pictures.py demo/test_verdict.py demo/jobs/test_verdict.py; do
    python3 "$tests" || status=1
done
exit $status
