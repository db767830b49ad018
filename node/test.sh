#!/usr/bin/env bash
# Runs the tests in the current folder, or the files that are named, with the node of the PATH: node/test.sh [FILE...]
# Four files beside one another, whatever the number of processors: most tests wait for a server, a lease or a program. The reporter is
# the one for people; scripts/totals.py reads its closing lines too.
exec node --test --test-concurrency=4 --test-timeout=900000 --test-reporter=spec "$@"
