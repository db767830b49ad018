#!/usr/bin/env bash
# What is too slow for every run: repeats, exits, soak; the tests between languages and the demo's verdict REPEATS=20 times in a row,
# of which `make test` is the first for the tests. Fewer REPEATS also shorten property tests, hand-overs and the soak in proportion.
# And what `make test` runs on one server, on the oldest and the newest, and the longest tests, unless REPEATS is 1.
# Ends with one line of totals.
#   scripts/check-long.sh           everything
#   scripts/check-long.sh GROUP...  only these groups: lint rust paused c python node java interop http docs redisson demo soak soak-queue; rust@redis-6.2 is that group
#                                   on another server, see scripts/servers.sh: there all tests that need a server, the long ones too,
#                                   and the normal run of interop and redisson
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/groups.sh

# A minute and more each, of what the normal run does in small: failovers and moves one by one, tens of thousands of locks, the
# largest spaces of the models, and sequences of the model tests that differ from the normal ones by their seed.
skipped="fifty_ long::quorum_ larger:: ten_thousand a_minute_of_moves processes_that_wait_for_more_than_a_minute
    the_scripts_do_what_the_specification_does_for_long"
rare=$([ "${REPEATS:-20}" != 1 ] || printf -- '--skip %s ' $skipped)
declare -A command=(
    [rust]="scripts/rust-tests.sh --ignored $rare {only}"
    [rust@]="scripts/server-tests.sh long"
    [lint]="scripts/lint.sh long"
    [paused]="cargo test --quiet --profile=${DLOCK_PROFILE:-quick} --package=libdlock-paused"
    [c]="ffi-c/tests/run.sh long"
    [python]="py/run-tests.sh long"
    [node]="node/run-tests.sh long"
    [java]="java/run-tests.sh long"
    [interop]="scripts/interop.sh long"
    [interop@]="scripts/interop.sh"
    [http]="tests/http/run.sh long"
    [docs]="scripts/test-docs.sh long"
    [redisson]="tests/redisson/run.sh long"
    [redisson@]="tests/redisson/run.sh"
    [demo]="demo/repeat.sh"
    [soak]="scripts/soak.sh $(((${REPEATS:-20} + 6) / 7))" # minutes
    [soak-queue]="env SOAK_SECONDS=$(((${REPEATS:-20} + 6) / 7 * 60)) scripts/soak-queue.sh"
)
# Two lanes, as long as one another, whose groups build in folders of their own: Python's package is built by one of them at a time.
# CI, which is to end within an hour, leaves the other servers, and limits over HTTP, to what `make test` runs there, and a paused clock
# and the README's steps for Rust to a release.
[ $# -gt 0 ] || [ "${REPEATS:-20}" != 1 ] || set -- lint python java c rust / node interop redisson demo soak soak-queue
[ $# -gt 0 ] || set -- lint rust rust@redis-6.2 rust@valkey-9 paused c java docs \
    / python node interop http redisson {interop,redisson}@redis-6.2 {interop,redisson}@valkey-9 demo soak soak-queue
run_groups "$@"
