#!/usr/bin/env bash
# Every test of every language; ends with one line of totals. Each group starts servers of its own on free ports.
#   scripts/test.sh                           everything, in two lanes
#   scripts/test.sh GROUP... [/ GROUP...]...  only these groups: scripts lint rust brief c python node java interop http redisson docs;
#                                             groups behind a `/` run beside the others; rust@redis-6.2 is what needs a server of
#                                             the group rust, on another server, see scripts/servers.sh
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/groups.sh

declare -A command=(
    [scripts]="scripts/test-scripts.sh"
    [lint]="scripts/lint.sh"
    [rust]="scripts/rust-tests.sh {only}"
    [rust@]="scripts/server-tests.sh {only}"
    [brief]="scripts/server-tests.sh brief {only}"
    [c]="ffi-c/tests/run.sh"
    [python]="py/run-tests.sh {only}"
    [node]="node/run-tests.sh"
    [java]="java/run-tests.sh"
    [interop]="scripts/interop.sh {only}"
    [http]="tests/http/run.sh {only}"
    [redisson]="tests/redisson/run.sh {only}"
    [docs]="scripts/test-docs.sh"
)
# The model tests of each primitive: a fifth of the sequences that they have elsewhere.
export MODEL_SEQUENCES=${MODEL_SEQUENCES:-200}
# Two lanes, whose groups build in folders of their own. The oldest and the newest server briefly.
[ $# -gt 0 ] || set -- scripts lint rust c / java python node interop redisson docs http brief@redis-6.2 brief@valkey-9
run_groups "$@"
