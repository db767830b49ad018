#!/usr/bin/env bash
# The tests of what belongs to no language: facts and what is written from them, scripts, the verdicts of the demo. They need the
# standard library, cargo for its lists, and luacheck.
set -uo pipefail
cd "$(dirname "$0")/.."
status=0
for tests in api/test_written.py demo/test_verdict.py demo/jobs/test_verdict.py \
    scripts/test_{faults,features,layers,lua,names,package,pictures,primitives,prose,rust_files,totals,vectors}.py; do
    python3 "$tests" || status=1
done
exit $status
